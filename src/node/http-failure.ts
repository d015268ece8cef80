/** Converts errors of undici, node:net, node:tls and node:zlib to the Http port's failures. */
import { errorCode, HttpFailure, type HttpFailurePhase, INVALID_PROXY } from '../ports.ts';
import { portOf } from './proxies.ts';

/** Error codes of failed handshakes and certificates; UNSPECIFIED is for OpenSSL's reasons that have no code in Node. */
export const CERTIFICATE =
  /^(CERT_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|CRL_|ERROR_IN_C|(EPROTO|UNSPECIFIED)$)/;

const RESPONSE: Readonly<Record<string, HttpFailurePhase>> = {
  UND_ERR_BODY_TIMEOUT: 'body-timeout',
  UND_ERR_HEADERS_OVERFLOW: 'header-overflow',
};

/** undici's codes for a length with chunks or another length, and for a status below 100 or a 101 without an upgrade. */
const NOT_HTTP = ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'ERR_ASSERTION'];

export const hostAndPort = (url: URL): string => `${url.hostname}:${portOf(url)}`;

function causeOf(thrown: unknown): { readonly code: string; readonly error: Error } {
  // undici wraps the errors of several addresses. The first counts whose attempt Node has not cut short.
  const all = thrown instanceof Error && thrown.cause instanceof AggregateError ? thrown.cause : thrown;
  const errors: unknown[] = all instanceof AggregateError ? all.errors : [all];
  const first = errors.find((each) => errorCode(each) !== 'ETIMEDOUT') ?? errors[0];
  const error = first instanceof Error ? first : new Error(String(first));
  return { code: errorCode(error) ?? error.name, error };
}

/** The step at which connecting failed: TCP or TLS to the proxy, the proxy's CONNECT answer, or the service. */
export interface Leg {
  readonly url: URL;
  readonly to: 'service' | 'proxy' | 'tunnel';
}

/** At this point, nothing was sent. */
export function toConnectFailure(thrown: unknown, leg: Leg, signal: AbortSignal | undefined): HttpFailure {
  if (thrown instanceof HttpFailure) return thrown;
  const { code, error } = causeOf(thrown);
  const base = connectPhase(code);
  const phase = signal?.aborted === true ? 'aborted' : leg.to === 'service' ? base : 'proxy';
  const detail = phase === 'proxy' ? proxyProblem(base, leg, error, code) : error.message;
  const peer = phase === 'dns' ? leg.url.hostname : hostAndPort(leg.url);
  return new HttpFailure({ phase, mayHaveBeenSent: false, peer, code, detail }, thrown);
}

function connectPhase(code: string): 'dns' | 'tls' | 'connect' | 'connect-timeout' {
  if (/^(ENOTFOUND|EAI_)/.test(code)) return 'dns';
  if (CERTIFICATE.test(code)) return 'tls';
  return code === 'ETIMEDOUT' ? 'connect-timeout' : 'connect';
}

function proxyProblem(base: ReturnType<typeof connectPhase>, { to }: Leg, error: Error, code: string): string {
  if (error.name === 'HTTPParserError') return 'its answer is not HTTP';
  const isLate = base === 'connect-timeout';
  if (to === 'tunnel') return isLate ? 'it did not answer in time' : 'it closed the connection without an answer';
  if (code.startsWith('ERR_SSL_')) return 'it does not accept TLS; its address may begin with http://';
  return base === 'tls' ? 'its certificate was not accepted' : 'it cannot be reached';
}

/** Creates the failure for a proxy that answers with an error status of its own. */
export function proxyRefusal(proxy: URL, status: number): HttpFailure {
  const detail = status === 407 ? 'it asks for a user name and a password' : 'it answers with an error';
  const peer = hostAndPort(proxy);
  return new HttpFailure({ phase: 'proxy', mayHaveBeenSent: false, peer, code: `${status}`, detail });
}

export function unusableProxy(variable: string, problem: string): HttpFailure {
  const detail = `${variable} ${problem}`;
  return new HttpFailure({ phase: 'proxy', mayHaveBeenSent: false, peer: variable, code: INVALID_PROXY, detail });
}

export interface Exchange {
  /** `host:port` of the service. */
  readonly target: string;
  /** The proxy that forwards the request, if any; not that of a tunnel. */
  readonly forwarder: URL | undefined;
  readonly signal: AbortSignal | undefined;
}

/** No byte of the request has been written yet, or the part of the response that is awaited. */
export type Stage = 'unsent' | 'headers' | 'body';

export function toHttpFailure(thrown: unknown, stage: Stage, exchange: Exchange): HttpFailure {
  if (thrown instanceof HttpFailure) return thrown;
  const { code, error } = causeOf(thrown);
  const { target, forwarder, signal } = exchange;
  const facts = (phase: HttpFailurePhase, peer = target, detail = error.message): HttpFailure =>
    new HttpFailure({ phase, mayHaveBeenSent: stage !== 'unsent', peer, code, detail }, thrown);

  if (signal?.aborted === true) return facts('aborted');
  if (stage === 'unsent') return facts('reset');
  if (stage === 'body') return facts(RESPONSE[code] ?? 'body-cut');
  if (error.name === 'HTTPParserError' || NOT_HTTP.includes(code)) {
    return forwarder === undefined
      ? facts('protocol')
      : facts('proxy', hostAndPort(forwarder), 'its answer is not HTTP');
  }
  return facts(RESPONSE[code] ?? 'reset');
}
