/**
 * Simulates a chain of shops on one key: each terminal is a machine that shares the limit through Redis, with the real
 * script. `npm run simulate:chain -- [shops] [terminals] [minutes] [pause]` prints the figures in docs/scale.md.
 */
import { pathToFileURL } from 'node:url';
import type { Clock, Connection, Redis } from '../../src/ports.ts';
import { memoryStep } from '../../src/rate-limit/ledger.ts';
import { LEASE_SCRIPT } from '../../src/rate-limit/lease-script.ts';
import { RedisLedger } from '../../src/rate-limit/redis-ledger.ts';
import { answerHelp } from '../bench/report.ts';
import { gateWith } from '../support/gate.ts';
import { mulberry32 } from '../support/test-ports.ts';
import { START } from '../support/virtual-clock.ts';
import { RedisScript, type Store } from './lua.ts';
import { SimulatedService } from './service.ts';
import { SimulatedTime } from './time.ts';

export interface Chain {
  readonly shops: number;
  /** Of each shop. One of them imports without a pause; at the others somebody changes stock now and then. */
  readonly terminals: number;
  readonly minutes: number;
  /** Requests a minute. */
  readonly limit: number;
  /** How long a person rests between two changes, s in the mean. */
  readonly pause: number;
  /** Chance that a terminal dies at a change, in the middle of it. */
  readonly crash: number;
}

export interface Told {
  readonly requests: number;
  readonly refused: number;
  readonly strikes: number;
  /** Of the limit, in each full window. */
  readonly shares: readonly number[];
  readonly steps: number;
  /** To the server and back, without the script. */
  readonly bytes: number;
  /** The longest that a change waited for leave, ms. */
  readonly longestMs: number;
  /** The most steps in one second. */
  readonly busiest: number;
}

const WINDOW_MS = 60_000;
const UPDATE = { method: 'PATCH', path: '/inventory/0', body: '{"quantity":1}', machine: 0 };

export async function simulateChain(chain: Chain, seed: number): Promise<Told> {
  const random = mulberry32(seed);
  const time = new SimulatedTime();
  const service = new SimulatedService({ limit: chain.limit, windowMs: WINDOW_MS }, 1, random);
  const script = new RedisScript(LEASE_SCRIPT);
  const store: Store = new Map();
  const perSecond = new Map<number, number>();
  let steps = 0;
  let bytes = 0;
  let longestMs = 0;
  const end = chain.minutes * 60_000;

  const terminal = async (shopMs: number, isBulk: boolean): Promise<void> => {
    const skewMs = (random() - 0.5) * 7_200_000;
    const clock: Clock = {
      now: () => START + time.now + skewMs,
      monotonic: () => time.now,
      sleep: (ms) => time.sleep(ms),
      turn: () => Promise.resolve(),
      alarm: () => () => undefined,
    };
    const redis: Redis = {
      async run(_script, key, args) {
        await time.sleep(shopMs / 2);
        const reply = script.run(store, START + time.now, key, args);
        steps++;
        bytes += key.length + args.join('').length + reply.length;
        const second = Math.floor(time.now / 1_000);
        perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
        await time.sleep(shopMs / 2);
        return reply;
      },
      close: () => undefined,
    };
    const randomBytes = (count: number): Uint8Array => Uint8Array.from({ length: count }, () => random() * 256);
    const { signal } = new AbortController();
    let step = memoryStep(clock);
    await time.sleep(random() * 10_000);
    while (time.now < end) {
      const options = { name: 'chain', server: '', whenLost: 'hold', onChange: () => undefined } as const;
      const ledger = new RedisLedger(step, { ...options, redis, clock, random, randomBytes, signal });
      const reserve = isBulk ? chain.limit / 10 : 0;
      const gate = gateWith({
        ledger,
        clock,
        random,
        signal,
        probes: 99,
        maxWaitMs: Number.POSITIVE_INFINITY,
        reserve,
      });
      for (let row = 0; row < (isBulk ? 50 : 1) && time.now < end; row++) {
        const since = time.now;
        const connection = { isOpen: true, release: () => undefined } as Partial<Connection> as Connection;
        const { ticket } = await gate.enter('PATCH /inventory/{id}', () => Promise.resolve(connection));
        if (!isBulk) longestMs = Math.max(longestMs, time.now - since);
        await time.sleep(20 + 100 * random());
        const { status, headers } = service.answer({ ...UPDATE, sentAt: time.now }, time.now);
        await time.sleep(20 + 100 * random());
        if (random() < chain.crash) {
          // All that it knew is gone, and what it was lent is not given back.
          step = memoryStep(clock);
          break;
        }
        await ticket.answered(status, headers, clock.now());
      }
      await ledger.close();
      if (!isBulk) await time.sleep(-Math.log(1 - random()) * chain.pause * 1_000);
    }
  };
  for (let shop = 0; shop < chain.shops; shop++) {
    const shopMs = 1 + 29 * random();
    for (let at = 0; at < chain.terminals; at++) void terminal(shopMs, at === 0);
  }
  await time.run(() => false, end);
  const refused = service.log.filter(({ status }) => status === 429).length;
  const strikes = service.log.filter(({ inBlock }) => inBlock !== undefined).length;
  return {
    ...{ requests: service.log.length - refused, refused, strikes },
    ...{ shares: service.shares(end), steps, bytes, longestMs, busiest: Math.max(...perSecond.values()) },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  answerHelp(import.meta.url);
  const [shops = 50, terminals = 20, minutes = 10, pause = 30] = process.argv.slice(2).map(Number);
  const chain: Chain = { shops, terminals, minutes, limit: 1_000, pause, crash: 0.01 };
  const told = await simulateChain(chain, 1);
  const { requests, refused, strikes, shares, steps, bytes, longestMs, busiest } = told;
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  process.stdout.write(
    [
      `${shops * terminals} machines, ${minutes} minutes, ${chain.limit} requests a minute`,
      `requests        ${requests}, ${refused} refused, ${strikes} inside a block`,
      `limit used      ${shares.map(percent).join(', ')}`,
      `steps of Redis  ${(steps / minutes / 60).toFixed(1)} a second, at most ${busiest}; ${(steps / requests).toFixed(2)} for each request`,
      `bytes           ${Math.round(bytes / requests)} for each request`,
      `longest wait    ${(longestMs / 1_000).toFixed(1)} s`,
    ].join('\n') + '\n',
  );
}
