/** How many requests a second one ledger takes: 32 clients on one key, each a thread with a connection of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { nodeContext } from '../../src/node/context.ts';
import { type Ledger, memoryLedger } from '../../src/rate-limit/ledger.ts';
import { ownerOf } from '../../src/rate-limit/ledger.ts';
import { redisLedger } from '../../src/rate-limit/redis-ledger.ts';
import { sqliteLedger } from '../../src/rate-limit/sqlite-ledger.ts';
import { openState } from '../../src/state/database.ts';
import { freePort } from '../support/free-port.ts';
import { isThere } from './report.ts';

const CLIENTS = 32;

type Place = { readonly kind: 'memory' } | { readonly kind: 'sqlite' | 'redis'; readonly at: string };

interface Load {
  readonly place: Place;
  readonly client: number;
  readonly ms: number;
}

const context = nodeContext();

async function open(place: Place): Promise<Ledger> {
  if (place.kind === 'memory') return memoryLedger(context.clock);
  if (place.kind === 'redis') return redisLedger(await context.openRedis(place.at), context, 'bench');
  const state = await openState({ ...context, notices: { warning: console.error } }, place.at);
  return sqliteLedger(context, state, () => 'bench');
}

/** Asks and reports answers for so long; returns how many requests that were. */
async function load(ledger: Ledger, { client, ms }: Omit<Load, 'place'>): Promise<number> {
  const intent = { operation: 'GET /inventory', maxWaitMs: 0, reserve: 0, timeoutMs: 30_000 };
  const answer = { status: 200, headers: { window: { limit: 1e9, remaining: 1e9, resetInMs: 600_000 } }, random: 0 };
  const owner = ownerOf(context.machine);
  const end = context.clock.monotonic() + ms;
  let requests = 0;
  while (context.clock.monotonic() < end) {
    const id = `${owner}/${client}/${requests}`;
    // The first of all asks alone: the others come back until it has its answer.
    if ((await ledger.admit({ ...intent, id })).do !== 'send') await context.clock.turn();
    else {
      await ledger.answered({ ...intent, ...answer, id });
      requests++;
    }
  }
  return requests;
}

/** Requests a second. */
async function measure(place: Place, ms: number): Promise<number> {
  const clients = Array.from({ length: CLIENTS }, (_, client) => client);
  if (place.kind === 'memory') {
    const ledger = await open(place);
    const counts = await Promise.all(clients.map((client) => load(ledger, { client, ms })));
    return perSecond(counts, ms);
  }
  // Made once, beforehand: what is measured is not how a database is created.
  await load(await open(place), { client: CLIENTS, ms: 1 });
  const workers = clients.map((client) => {
    const workerData: Load = { place, client, ms };
    return new Worker(new URL(import.meta.url), { workerData });
  });
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  for (const worker of workers) worker.postMessage('begin');
  const counts = await Promise.all(workers.map(async (worker) => Number((await once(worker, 'message'))[0])));
  await Promise.all(workers.map((worker) => worker.terminate()));
  return perSecond(counts, ms);
}

function perSecond(counts: readonly number[], ms: number): number {
  return counts.reduce((sum, count) => sum + count, 0) / (ms / 1_000);
}

/** Rows of a table: where the ledger is, and requests a second through it. Two steps of the ledger each. */
export async function measureLedgers(home: string, ms: number): Promise<string[][]> {
  const rows: [string, number][] = [
    ['in memory', await measure({ kind: 'memory' }, ms)],
    ['in the state database', await measure({ kind: 'sqlite', at: join(home, 'load') }, ms)],
  ];
  if (isThere('redis-server')) {
    const port = await freePort();
    const settings = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--port', `${port}`];
    const server = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      for await (const piece of server.stdout) if (String(piece).includes('Ready to accept')) break;
      rows.push(['on a Redis server', await measure({ kind: 'redis', at: `redis://127.0.0.1:${port}/0` }, ms)]);
    } finally {
      server.kill();
    }
  }
  return rows.map(([name, requests]) => [name, requests.toFixed(0), (2 * requests).toFixed(0)]);
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  const { place, ...rest } = workerData as Load;
  const ledger = await open(place);
  port.postMessage('ready');
  await once(port, 'message');
  port.postMessage(await load(ledger, rest));
}
