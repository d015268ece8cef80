/** Environments, profiles, and validation of base URLs. */
import { Failure } from '../errors.ts';
import { isLoopback } from '../ports.ts';

export const ENVIRONMENTS = ['production', 'staging', 'sandbox'] as const;
export type EnvironmentName = (typeof ENVIRONMENTS)[number];

/** The environments that have a base URL and a key; the sandbox needs neither. */
export const REMOTE_ENVIRONMENTS = ['production', 'staging'] as const;
export type RemoteEnvironment = (typeof REMOTE_ENVIRONMENTS)[number];

/**
 * Parses a base URL (service spec, part 1): https, last path segment `v1`, no credentials, no query. http only on
 * loopback, or anywhere with --insecure-http.
 * @throws {Failure} `base-url`, with credentials masked
 */
export function parseBaseUrl(text: string, options: { insecureHttp: boolean }): URL {
  const url = URL.parse(text);
  const refuse = (problem: string, hint: string): Failure =>
    new Failure('base-url', { shown: mask(text), problem, hint });

  // Refuses what WHATWG URL leaves out or replaces: a port of `1\n2` would become 12.
  if (url === null || !/^https?:$/.test(url.protocol) || /[\t\n\r\\]/.test(text.trim())) {
    throw refuse('is not an http(s) URL', 'Give it in full, e.g. https://api.example.com/v1.');
  }
  if (url.username !== '' || url.password !== '') {
    throw refuse('contains credentials', 'Remove them; the key goes to petstore login or PETSTORE_API_KEY.');
  }
  if (/[?#]/.test(url.href)) {
    throw refuse('has a query or fragment', 'A base URL ends with its path.');
  }
  url.pathname = url.pathname.replace(/\/+$/, '');
  if (!url.pathname.endsWith('/v1')) {
    throw refuse('does not end in the path segment v1', `Did you mean ${(suggestBaseUrl(text) ?? url).href}?`);
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !options.insecureHttp) {
    throw refuse(
      'would send the key unencrypted',
      'Use https; --insecure-http allows http where the network itself is trusted.',
    );
  }
  return url;
}

/**
 * Returns the base URL that a refused text probably means: with a scheme (http on loopback, else https), ending in /v1,
 * without a query. Undefined if it contains credentials or does not look like an address.
 */
export function suggestBaseUrl(text: string): URL | undefined {
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(text);
  const full = hasScheme ? text : `https://${text}`;
  const url = /\s/.test(text) ? null : URL.parse(full);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined;
  if (!isLoopback(url.hostname)) url.protocol = 'https:';
  else if (!hasScheme) url.protocol = 'http:';
  url.search = '';
  url.hash = '';
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = `${/^(.*?)\/v1(?=\/|$)/i.exec(path)?.[1] ?? path}/v1`;
  return url;
}

/** An environment, or with a profile `berlin/staging`. */
export type Place = EnvironmentName | `${string}/${RemoteEnvironment}`;

/** Splits a place into profile and environment, without checking them. */
export function partsOf(place: string): { readonly profile?: string | undefined; readonly environment: string } {
  const [, profile, environment = place] = /^([^/]*)\/(.*)$/.exec(place) ?? [];
  return { profile, environment };
}

/** True for production in any profile. */
export function isProduction(place: Place): boolean {
  return partsOf(place).environment === 'production';
}

/** Returns the environment in a profile. All profiles share one sandbox. */
export function placeIn(profile: string | undefined, environment: EnvironmentName): Place {
  return profile === undefined || environment === 'sandbox' ? environment : `${profile}/${environment}`;
}

/** Returns the origin, which identifies a shop in the journal and the catalog: its profile, and its base URL without `/v1`. */
export function originOf({ environment, baseUrl }: { environment: Place; baseUrl: URL }): string {
  if (environment === 'sandbox') return 'sandbox';
  return [partsOf(environment).profile ?? [], baseUrl.href.replace(/\/v1$/, '')].flat().join(' ');
}

/** Returns the service of an origin, which several profiles may share. */
export function serviceOf(origin: string): string {
  const address = origin.replace(/^.* /, '');
  const baseUrl = URL.parse(address);
  return baseUrl === null ? address : addressOf({ environment: 'production', baseUrl });
}

/** Returns what identifies the address for a key: loopback addresses by port alone, whatever their name. */
export function addressOf({ environment, baseUrl }: { environment: Place; baseUrl: URL }): string {
  const { hostname, origin, port, protocol } = baseUrl;
  if (isLoopback(hostname)) return `${protocol}//localhost${port && `:${port}`}`;
  // A name may end with the dot of the root (RFC 3986, 3.2.2).
  return environment === 'sandbox' ? 'sandbox' : origin.replace(/\.(?=:\d+$|$)/, '');
}

/** Masks what may be a secret in a base URL: all that is before an @, and the query. */
function mask(text: string): string {
  return text.replace(/^([a-z][\w+.-]*:\/\/)?.*@/is, '$1***@').replace(/[?#].*$/s, '?***');
}
