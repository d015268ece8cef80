/** A response onto its socket, and what a fault does to it on the way. */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Context } from '../ports.ts';
import type { Effect } from './faults.ts';
import { headersOf } from './handler.ts';
import type { SandboxResponse } from './operations.ts';

type EffectOf<Does extends Effect['does']> = Extract<Effect, { does: Does }>;

export function effectOf<Does extends Effect['does']>(
  effects: readonly Effect[],
  does: Does,
): EffectOf<Does> | undefined {
  return effects.find((effect): effect is EffectOf<Does> => effect.does === does);
}

const LIMIT_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
/** Bytes of a dripping body at a time. */
const DROP = 8;

/** @param now epoch ms on the sandbox's clock. Never rejects: a client that is gone needs no answer. */
export async function send(
  { clock }: Pick<Context, 'clock'>,
  outgoing: ServerResponse,
  response: SandboxResponse,
  effects: readonly Effect[],
  now: number,
): Promise<void> {
  if (effectOf(effects, 'reset') !== undefined) {
    outgoing.socket?.resetAndDestroy();
    return;
  }
  if (response.status === 0) {
    outgoing.destroy();
    return;
  }
  const truncate = effectOf(effects, 'truncate');
  const drip = effectOf(effects, 'drip');
  const body = spoilt(truncate === undefined ? response.body : wholeOf(response.body), effects);
  const headers = headersOf({ ...response, body }, now + (effectOf(effects, 'date')?.ms ?? 0));
  outgoing.sendDate = false;
  outgoing.writeHead(response.status, effects.length === 0 ? headers : withFaults(headers, effects));
  try {
    if (truncate !== undefined) await cutOff(outgoing, wholeOf(body), truncate.bytes);
    else if (drip !== undefined) await pipeline(Readable.from(drops(clock, body, drip.ms)), outgoing);
    else if (typeof body === 'string') outgoing.end(body);
    else await pipeline(Readable.from(body), outgoing);
  } catch {
    outgoing.destroy();
  }
}

function withFaults(headers: Readonly<Record<string, string>>, effects: readonly Effect[]): Record<string, string> {
  const missing = effects.flatMap((effect) =>
    effect.does === 'no-header' ? (effect.name === 'limits' ? LIMIT_HEADERS : [effect.name]) : [],
  );
  const type = effectOf(effects, 'type')?.type;
  const all = { ...headers, ...(type !== undefined && { 'Content-Type': type }) };
  return Object.fromEntries(Object.entries(all).filter(([name]) => !missing.includes(name.toLowerCase())));
}

function spoilt(body: SandboxResponse['body'], effects: readonly Effect[]): SandboxResponse['body'] {
  if (effectOf(effects, 'bad-int64') === undefined) return body;
  return wholeOf(body).replace(/"petId":-?[0-9]+/g, '"petId":9223372036854775808');
}

function wholeOf(body: SandboxResponse['body']): string {
  return typeof body === 'string' ? body : [...body].join('');
}

/** The head promises the whole body; the connection ends before it. */
async function cutOff(outgoing: ServerResponse, body: string, bytes?: number): Promise<void> {
  const whole = Buffer.from(body);
  outgoing.flushHeaders();
  const part = whole.subarray(0, Math.min(bytes ?? Math.floor(whole.length / 2), whole.length - 1));
  await new Promise<void>((resolve) => {
    outgoing.write(part, () => {
      resolve();
    });
  });
  outgoing.socket?.end();
}

async function* drops(clock: Context['clock'], body: SandboxResponse['body'], ms: number): AsyncGenerator<Buffer> {
  const whole = Buffer.from(wholeOf(body));
  for (let at = 0; at < whole.length; at += DROP) {
    await clock.sleep(ms);
    yield whole.subarray(at, at + DROP);
  }
}
