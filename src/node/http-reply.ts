/** Turns undici's response into the port's: headers as a map, the body decoded. */
import type { Transform } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { HttpFailure, type HttpReply } from '../ports.ts';
import { type Exchange, toHttpFailure } from './http-failure.ts';

type Body = Dispatcher.ResponseData['body'];
type OpenDecoder = (firstByte: number) => Transform;

/** As many as curl accepts: each takes memory. */
const MOST_CODINGS = 5;
/** In bytes. */
const LONG_BODY = 1 << 20;

/** `onEnd` is called once the body has been read or given up. */
export function toReply(response: Dispatcher.ResponseData, exchange: Exchange, onEnd: () => void): HttpReply {
  // 'raw' gives names and values in turn, which the types do not say.
  const raw: unknown = response.headers;
  const texts = Array.isArray(raw) ? raw.map(String) : [];
  const headers = new Map<string, string[]>();
  for (let i = 0; i + 1 < texts.length; i += 2) {
    const name = texts[i]!.toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), texts[i + 1]!]);
  }
  const codings = (headers.get('content-encoding') ?? [])
    .join(',')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  return { status: response.statusCode, headers, body: readBody(response.body, codings, exchange, onEnd) };
}

async function* readBody(
  body: Body,
  codings: readonly string[],
  exchange: Exchange,
  onEnd: () => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    const chunks = codings.length === 0 ? chunksOf(body) : await decoded(body, codings, exchange);
    for await (const chunk of chunks) {
      if (bytes < LONG_BODY && bytes + chunk.length >= LONG_BODY) stopYoungGenerationGrowth();
      bytes += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throw toHttpFailure(error, 'body', exchange);
  } finally {
    // A reader that stops early must not leave the rest of the body on the connection.
    body.on('error', () => undefined).destroy();
    // undici reuses a connection one turn after the response has ended, in case the server closes it.
    await setImmediate();
    onEnd();
  }
}

interface End {
  readonly error?: unknown;
}

function endOf(body: Body): End | undefined {
  if (body.errored !== null) return { error: body.errored };
  if (body.readableEnded) return {};
  return body.destroyed ? { error: new Error('the body was closed') } : undefined;
}

/** Yields the body's chunks. Node's own iterator costs as much as all the rest of a small response. */
async function* chunksOf(body: Body): AsyncGenerator<Uint8Array> {
  // It may have ended before anybody listened.
  let ended = endOf(body);
  let wake: () => void = () => undefined;
  const end = (how: End): void => {
    ended ??= how;
    wake();
  };
  body
    .on('readable', () => {
      wake();
    })
    .once('end', () => {
      end({});
    })
    .once('error', (error) => {
      end({ error });
    })
    .once('close', () => {
      end({ error: new Error('the body was closed') });
    });
  for (;;) {
    const chunk: unknown = body.read();
    if (chunk instanceof Uint8Array) yield chunk;
    else if (ended === undefined) await new Promise<void>((resolve) => (wake = resolve));
    else if ('error' in ended) throw ended.error;
    else return;
  }
}

/**
 * Stops the growth of V8's space for new objects, from a few MB to 32. What a stream leaves behind is garbage at once,
 * so that the room would be taken for nothing.
 */
function stopYoungGenerationGrowth(): void {
  try {
    process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1');
  } catch {
    // Bun has another engine.
  }
}

async function decoded(body: Body, codings: readonly string[], exchange: Exchange): Promise<AsyncIterable<Uint8Array>> {
  const zlib = await import('node:zlib');
  const decoders: Readonly<Record<string, OpenDecoder>> = {
    gzip: () => zlib.createGunzip(),
    'x-gzip': () => zlib.createGunzip(),
    // The zlib format (RFC 9110, 8.4.1.2) begins with method 8; some servers send the bare deflate data.
    deflate: (firstByte) => ((firstByte & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw()),
    br: () => zlib.createBrotliDecompress(),
    // Node has it from 22.15 on.
    ...('createZstdDecompress' in zlib && { zstd: () => zlib.createZstdDecompress() }),
  };
  let decoded: AsyncIterable<Uint8Array> = body;
  // The last coding was applied last.
  for (const coding of codings.toReversed()) {
    const open = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
    if (open === undefined || codings.length > MOST_CODINGS) throw unsupported(codings, exchange);
    decoded = decodedBy(open, decoded);
  }
  return decoded;
}

function unsupported(codings: readonly string[], { target }: Exchange): HttpFailure {
  const detail = codings.join(', ').slice(0, 80);
  return new HttpFailure({ phase: 'coding', mayHaveBeenSent: true, peer: target, code: 'UNSUPPORTED_CODING', detail });
}

async function* decodedBy(open: OpenDecoder, source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { pipeline } = await import('node:stream');
  const chunks = source[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done === true) return;
  const all = async function* (): AsyncGenerator<Uint8Array> {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => chunks };
  };
  // Errors reach the reader through the decoder that it iterates.
  yield* pipeline(all(), open(first.value[0] ?? 0), () => undefined);
}
