/** What undici, node:net, node:tls and node:zlib throw -> the Http port's failures. */
import { HttpFailure, type HttpFailurePhase } from '../context.ts';
import { portOf } from './proxies.ts';

/** Codes that can only come from a connection that was never made: no byte of the request was sent. */
const UNSENT: Readonly<Record<string, HttpFailurePhase>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  EAI_NODATA: 'dns',
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  ENETUNREACH: 'connect',
  EHOSTDOWN: 'connect',
  ENETDOWN: 'connect',
  EADDRNOTAVAIL: 'connect',
  UND_ERR_CONNECT_TIMEOUT: 'connect-timeout',
  UND_ERR_PRX_CONN: 'proxy',
  UND_ERR_PRX_TLS: 'proxy',
  UND_ERR_SOCKS5: 'proxy',
};

const AFTER_SENDING: Readonly<Record<string, HttpFailurePhase>> = {
  UND_ERR_HEADERS_TIMEOUT: 'response-timeout',
  UND_ERR_BODY_TIMEOUT: 'body-timeout',
  UND_ERR_HEADERS_OVERFLOW: 'header-overflow',
  HPE_HEADER_OVERFLOW: 'header-overflow',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'body-cut',
};

const CERTIFICATE =
  /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|CRL_|EPROTO$)/;

export interface Exchange {
  /** `host:port` of the service. */
  readonly target: string;
  /** The proxy that the environment names for this scheme. */
  readonly proxy: URL | undefined;
  /** Errors that came while connecting. */
  readonly whileConnecting: WeakSet<object>;
  readonly signal: AbortSignal | undefined;
}

type SystemError = Error & { code?: string; hostname?: string; port?: number; errors?: SystemError[] };

/** `stage`: whether the response's headers had been received. */
export function toHttpFailure(thrown: unknown, stage: 'headers' | 'body', exchange: Exchange): HttpFailure {
  const error = (thrown instanceof Error ? thrown : new Error(String(thrown))) as SystemError;
  const inner = error.code === undefined && error.errors?.[0] !== undefined ? error.errors[0] : error;
  const code = inner.code ?? inner.name;
  const facts = (phase: HttpFailurePhase, mayHaveBeenSent: boolean): HttpFailure =>
    new HttpFailure(
      { phase, mayHaveBeenSent, peer: peerOf(phase, inner, exchange), code, detail: inner.message },
      thrown,
    );

  if (exchange.signal?.aborted === true) return facts('aborted', true);
  if (isProxyRefusal(inner) || failedAtProxy(inner, exchange)) return facts('proxy', false);
  const unsent = UNSENT[code];
  if (unsent !== undefined) return facts(unsent, false);
  if (CERTIFICATE.test(code)) return facts('tls', false);
  if (exchange.whileConnecting.has(error)) return facts(code === 'ETIMEDOUT' ? 'connect-timeout' : 'connect', false);
  if (stage === 'body') return facts(AFTER_SENDING[code] ?? 'body-cut', true);
  return facts(AFTER_SENDING[code] ?? (error.name === 'HTTPParserError' ? 'protocol' : 'reset'), true);
}

/** undici has no code of its own for a proxy that answers CONNECT, or a forwarded request, with a refusal. */
function isProxyRefusal(error: SystemError): boolean {
  return /^Proxy (response \(\d+\)|Authentication Required)/.test(error.message);
}

function failedAtProxy(error: SystemError, { proxy, target }: Exchange): boolean {
  if (proxy === undefined || UNSENT[error.code ?? ''] === undefined) return false;
  if (error.hostname !== undefined) return error.hostname === proxy.hostname;
  if (error.port !== undefined) return `${error.port}` === portOf(proxy) && !target.endsWith(`:${error.port}`);
  return error.message.includes(proxy.host);
}

function peerOf(phase: HttpFailurePhase, error: SystemError, { proxy, target }: Exchange): string {
  if (phase === 'proxy' && proxy !== undefined) return `${proxy.hostname}:${portOf(proxy)}`;
  return phase === 'dns' ? (error.hostname ?? target.replace(/:\d+$/, '')) : target;
}
