/**
 * The Http port over undici: one attempt at a time, connections kept, redirects and retries none.
 * Proxies come from HTTPS_PROXY, HTTP_PROXY and NO_PROXY; extra authorities from NODE_EXTRA_CA_CERTS,
 * which Node itself adds to every TLS connection.
 */
import type { Transform } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import Pool from 'undici/lib/dispatcher/pool.js';
import buildConnector from 'undici/lib/core/connect.js';
import request from 'undici/lib/api/api-request.js';
import { type Http, HttpFailure, type HttpReply, type HttpRequest } from '../context.ts';
import { type Exchange, toHttpFailure } from './http-failure.ts';
import { type Environment, portOf, type Proxies, proxiesOf, proxyFor, proxyUrl } from './proxies.ts';

export function openHttp(env: Environment, options: { direct?: boolean } = {}): Http {
  const dispatchers = new Map<string, Promise<Dispatcher>>();
  const whileConnecting = new WeakSet<object>();
  const proxies = options.direct === true ? {} : proxiesOf(env);

  const dispatcherFor = (url: URL, timeoutMs: number): Promise<Dispatcher> => {
    const known = dispatchers.get(url.origin);
    if (known !== undefined) return known;
    const opened =
      proxyFor(url, proxies) === undefined
        ? Promise.resolve(directPool(url, timeoutMs, whileConnecting))
        : proxyAgent(proxies, timeoutMs);
    dispatchers.set(url.origin, opened);
    return opened;
  };

  return {
    async send(call) {
      const exchange: Exchange = {
        target: `${call.url.hostname}:${portOf(call.url)}`,
        proxy: proxyUrl(proxyFor(call.url, proxies)),
        whileConnecting,
        signal: call.signal,
      };
      try {
        return toReply(await dispatch(await dispatcherFor(call.url, call.timeoutMs), call), exchange);
      } catch (error) {
        if (error instanceof HttpFailure) throw error;
        throw toHttpFailure(error, 'headers', exchange);
      }
    },
    async close() {
      const open = await Promise.allSettled(dispatchers.values());
      for (const each of open) if (each.status === 'fulfilled') await each.value.destroy();
    },
  };
}

function dispatch(dispatcher: Dispatcher, call: HttpRequest): Promise<Dispatcher.ResponseData> {
  return request.call(dispatcher, {
    origin: call.url.origin,
    path: `${call.url.pathname}${call.url.search}`,
    method: call.method,
    headers: { ...call.headers },
    body: call.body ?? null,
    signal: call.signal,
    headersTimeout: call.timeoutMs,
    bodyTimeout: call.timeoutMs,
    responseHeaders: 'raw',
  });
}

function directPool(url: URL, timeoutMs: number, whileConnecting: WeakSet<object>): Dispatcher {
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false });
  return new Pool(url.origin, {
    allowH2: false,
    connect: (options, callback) => {
      connect(options, (...result) => {
        if (result[0] !== null) whileConnecting.add(result[0]);
        callback(...result);
      });
    },
  });
}

async function proxyAgent(proxies: Proxies, timeoutMs: number): Promise<Dispatcher> {
  for (const text of [proxies.http, proxies.https]) {
    if (text !== undefined && proxyUrl(text) === undefined) {
      throw new HttpFailure({
        phase: 'proxy',
        mayHaveBeenSent: false,
        peer: 'the proxy of HTTPS_PROXY or HTTP_PROXY',
        code: 'INVALID_PROXY_URL',
        detail: 'the value is not a URL',
      });
    }
  }
  const [{ default: EnvHttpProxyAgent }, { default: Dispatcher }, { default: connect }] = await Promise.all([
    import('undici/lib/dispatcher/env-http-proxy-agent.js'),
    import('undici/lib/dispatcher/dispatcher.js'),
    import('undici/lib/api/api-connect.js'),
  ]);
  // undici's index gives every dispatcher its calls; a tunnel needs this one.
  Object.assign(Dispatcher.prototype, { connect });
  return new EnvHttpProxyAgent({
    ...(proxies.http !== undefined && { httpProxy: proxies.http }),
    ...(proxies.https !== undefined && { httpsProxy: proxies.https }),
    noProxy: proxies.none ?? '',
    allowH2: false,
    connectTimeout: timeoutMs,
    connect: { timeout: timeoutMs },
  });
}

function toReply(response: Dispatcher.ResponseData, exchange: Exchange): HttpReply {
  // 'raw' gives names and values in turn, which the types do not say.
  const raw = response.headers as unknown as string[];
  const headers = new Map<string, string[]>();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), raw[i + 1]!]);
  }
  const coding = (headers.get('content-encoding') ?? []).join(',').trim().toLowerCase();
  return { status: response.statusCode, headers, body: readBody(response.body, coding, exchange) };
}

async function* readBody(
  body: Dispatcher.ResponseData['body'],
  coding: string,
  exchange: Exchange,
): AsyncGenerator<Uint8Array> {
  try {
    yield* coding === '' || coding === 'identity' ? body : await decoded(body, coding);
    // The pool takes a connection back one turn after its response has ended: the next request is to go out on it.
    await setImmediate();
  } catch (error) {
    throw toHttpFailure(error, 'body', exchange);
  } finally {
    // Whoever stops reading early must not leave the rest of the body on the connection.
    body.on('error', () => undefined).destroy();
  }
}

async function decoded(body: Dispatcher.ResponseData['body'], coding: string): Promise<AsyncIterable<Uint8Array>> {
  const zlib = await import('node:zlib');
  const { pipeline } = await import('node:stream');
  const decoders: Readonly<Record<string, () => Transform>> = {
    gzip: () => zlib.createGunzip(),
    'x-gzip': () => zlib.createGunzip(),
    deflate: () => zlib.createInflate(),
    br: () => zlib.createBrotliDecompress(),
  };
  const decoder = decoders[coding]?.();
  if (decoder === undefined) throw new Error(`the content coding ${coding} is unknown`);
  // Errors reach the reader through the decoder that it iterates.
  return pipeline(body, decoder, () => undefined);
}
