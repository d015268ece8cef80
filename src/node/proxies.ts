/** Proxies as the environment names them: HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Proxies {
  readonly https?: string;
  readonly http?: string;
  readonly none?: string;
}

/** Lower case wins, as in curl; an empty value is unset. */
export function proxiesOf(env: Environment): Proxies {
  const read = (...names: string[]): string | undefined => {
    const value = names.map((name) => env[name]).find((each) => each !== undefined && each !== '');
    return value === undefined || value.includes('://') ? value : `http://${value}`;
  };
  const http = read('http_proxy', 'HTTP_PROXY');
  return {
    https: read('https_proxy', 'HTTPS_PROXY') ?? http,
    http,
    none: env.no_proxy ?? env.NO_PROXY ?? '',
  };
}

/** The proxy that the scheme has. For requests NO_PROXY is undici's to judge. */
export function proxyFor(url: URL, proxies: Proxies): string | undefined {
  return url.protocol === 'https:' ? proxies.https : proxies.http;
}

export function proxyUrl(text: string | undefined): URL | undefined {
  return text !== undefined && URL.canParse(text) ? new URL(text) : undefined;
}

export function portOf(url: URL): string {
  return url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
}

/** Whether NO_PROXY names the host, as undici's EnvHttpProxyAgent reads it, which tells nobody. */
export function isExempt(url: URL, { none = '' }: Proxies): boolean {
  const host = url.hostname.replace(/^\[(.+)\]$/, '$1').replace(/\.$/, '');
  return none
    .toLowerCase()
    .split(/[,\s]+/)
    .some((entry) => {
      const [, bracketed, plain = '', port] = /^(?:\[(.+)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry) ?? [];
      const name = (bracketed ?? plain).replace(/^\*?\./, '').replace(/\.$/, '');
      if (name === '' || (port !== undefined && port !== portOf(url))) return false;
      return name === '*' || host.endsWith(`.${name}`) || (host === name && !entry.startsWith('*'));
    });
}
