/**
 * Measures how many requests per second one key's ledger handles, opened as the program opens it, compared with the
 * simplest shared counter: one INCR and one EXPIRE for each request. Each process has one connection to Redis.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '@redis/client';
import { nodeContext } from '../../src/node/context.ts';
import type { Context } from '../../src/ports.ts';
import { createLedger, type Ledger, memoryStep, ownerOf } from '../../src/rate-limit/ledger.ts';
import { openLedger } from '../../src/session/open-ledger.ts';
import { Tap } from '../fleet/tap.ts';
import { withCleanup } from '../support/cleanup.ts';
import { redisCli, startRedis } from '../support/redis.ts';
import { isThere } from './report.ts';

/** What one process does. */
interface Load {
  /** `counter`: the peer. */
  readonly kind: 'memory' | 'ledger' | 'counter';
  /** Its machine's folder. */
  readonly state: string;
  /** The address of a Redis server, if the ledger is there. */
  readonly redis?: string;
  /** Of this process, all at the same time. */
  readonly clients: number;
  readonly ms: number;
  /** From leave to answer, ms. */
  readonly heldMs: number;
}

type Asked = Pick<Ledger, 'admit' | 'answered'>;

const TARGET = { environment: 'staging', baseUrl: new URL('https://pets.example/v1'), apiKey: 'bench-key' } as const;

async function open(context: Context, { kind, state, redis }: Load): Promise<Asked> {
  const { clock } = context;
  if (kind === 'memory') return createLedger(memoryStep(clock));
  if (kind === 'ledger') {
    const env = { HOME: state, ...(redis !== undefined && { PETSTORE_LEDGER: redis }) };
    // Without Redis it would be another ledger that is measured.
    const warning = (text: string): never => {
      throw new Error(text);
    };
    return (await openLedger({ ...context, env, notices: { warning } } as never, TARGET)).ledger;
  }
  const client = await createClient({ url: redis! }).connect();
  return {
    async admit() {
      await client.multi().incr('counter').expire('counter', 60).exec();
      return { hold: undefined, at: clock.monotonic() };
    },
    answered: async () => undefined as never,
  };
}

/** Asks and reports answers for so long; returns how many requests that were. */
async function load({ clock, machine }: Context, ledger: Asked, { clients, ms, heldMs }: Load): Promise<number> {
  const intent = { operation: 'GET /inventory', reserve: 0, timeoutMs: 30_000 };
  const answer = { status: 200, headers: { window: { limit: 1e9, remaining: 1e9, resetInMs: 600_000 } }, random: 0 };
  const owner = ownerOf(machine);
  const end = clock.monotonic() + ms;
  let requests = 0;
  const client = async (_: unknown, number: number): Promise<void> => {
    for (let i = 0; clock.monotonic() < end; i++) {
      const id = `${owner}/${number}/${i}`;
      const { hold } = await ledger.admit({ ...intent, id });
      if (hold === undefined) {
        if (heldMs > 0) await clock.sleep(heldMs);
        await ledger.answered({ ...intent, ...answer, id });
        requests++;
      } else {
        const again = hold.again ?? hold.until;
        await clock.sleep(Math.min(again, end) - clock.monotonic());
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return requests;
}

/** Requests a second of all processes. */
async function measure(loads: readonly Load[]): Promise<number> {
  const [first] = loads;
  // Made once, beforehand, with the window's first answer: what is measured is not how a ledger begins.
  const start = (each: Load): ChildProcess => fork(fileURLToPath(import.meta.url), [JSON.stringify(each)]);
  await done([start({ ...first!, clients: 1, ms: 1 })]);
  const counts = await done(loads.map(start));
  return counts.reduce((sum, count) => sum + count, 0) / (first!.ms / 1_000);
}

/** Lets all of them begin together. Returns what each has counted. */
async function done(children: readonly ChildProcess[]): Promise<number[]> {
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  for (const child of children) child.once('exit', (code) => code === 0 || failed.reject(new Error('a client failed')));
  const heard = async (child: ChildProcess): Promise<unknown> =>
    ((await Promise.race([once(child, 'message'), failed.promise])) as unknown[])[0];
  try {
    await Promise.all(children.map(heard));
    const counts = Promise.all(children.map(heard));
    for (const child of children) child.send('begin');
    return (await counts).map(Number);
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

interface Case {
  readonly kind: Load['kind'];
  readonly clients: number;
  /** Each with a folder of its own; on one machine every client is a process. */
  readonly machines: number;
  /** How far Redis is away, there and back, ms; undefined: it is not used. */
  readonly awayMs?: number;
  readonly heldMs: number;
}

const CASES: readonly Case[] = [
  { kind: 'memory', clients: 1, machines: 1, heldMs: 0 },
  { kind: 'ledger', clients: 1, machines: 1, heldMs: 0 },
  { kind: 'memory', clients: 32, machines: 1, heldMs: 0 },
  { kind: 'ledger', clients: 32, machines: 1, heldMs: 0 },
  { kind: 'ledger', clients: 1, machines: 1, awayMs: 0, heldMs: 0 },
  { kind: 'ledger', clients: 32, machines: 1, awayMs: 0, heldMs: 0 },
  { kind: 'ledger', clients: 32, machines: 8, awayMs: 10, heldMs: 50 },
  { kind: 'ledger', clients: 128, machines: 8, awayMs: 10, heldMs: 50 },
];

/** Cells of HEAD, a row for each case. */
export async function measureLedgers(home: string, ms: number): Promise<string[][]> {
  const rows: string[][] = [];
  for (const { kind, clients, machines, awayMs, heldMs } of CASES) {
    if (awayMs !== undefined && !isThere('redis-server')) continue;
    const processes = kind === 'memory' ? 1 : machines === 1 ? clients : machines;
    const loads = Array.from({ length: processes }, (_, i): Load => {
      const state = join(home, machines === 1 ? 'load' : `machine-${clients}-${i}`);
      return { kind, state, clients: clients / processes, ms, heldMs };
    });
    const place = { memory: 'in memory', ledger: 'in the state database', counter: '' }[kind];
    const where = awayMs === undefined ? place : `on Redis, ${awayMs} ms there and back`;
    const held = heldMs === 0 ? '' : `, each request held ${heldMs} ms`;
    const figures =
      awayMs === undefined
        ? [(await measure(loads)).toFixed(0)]
        : await onRedis(loads, awayMs).catch(() => ['Redis lost']);
    rows.push([where + held, String(clients), String(machines), ...figures]);
  }
  return rows.map((row) => HEAD.map((_, i) => row[i] ?? ''));
}

export const HEAD = [
  'one key, its ledger',
  'clients',
  'machines',
  'requests a second',
  "times INCR and EXPIRE's",
  'scripts run by Redis, for each',
  'commands, those in scripts too, for each',
  'bytes to and from Redis, for each',
];

/** The ledger on a server of its own, beside the counter on the same one. */
function onRedis(loads: readonly Load[], awayMs: number): Promise<string[]> {
  return withCleanup(async () => {
    const server = await startRedis();
    const tap = await Tap.open(server.port);
    tap.delayMs = awayMs;
    const redis = `redis://127.0.0.1:${tap.port}/0`;
    const seconds = loads[0]!.ms / 1_000;
    const ours = await measure(loads.map((each) => ({ ...each, redis })));
    const info = await redisCli(server.port, 'INFO', 'all');
    const requests = ours * seconds;
    const sum = (pattern: RegExp): string =>
      ([...info.matchAll(pattern)].reduce((all, [, count]) => all + Number(count), 0) / requests).toFixed(2);
    const scripts = sum(/^cmdstat_(?:eval|evalsha|fcall):calls=(\d+)/gm);
    const commands = sum(/^cmdstat_(?!info|hello|client)[^:]+:calls=(\d+)/gm);
    const bytes = sum(/^total_net_(?:input|output)_bytes:(\d+)/gm);
    const peer = await measure(loads.map((each) => ({ ...each, redis, kind: 'counter' })));
    return [ours.toFixed(0), (ours / peer).toFixed(2), scripts, commands, Number(bytes).toFixed(0)];
  });
}

if (process.send !== undefined) {
  const own = JSON.parse(process.argv[2]!) as Load;
  const context = nodeContext();
  try {
    const ledger = await open(context, own);
    process.send('ready');
    await once(process, 'message');
    process.send(await load(context, ledger, own));
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}
