/** Faults between a fleet of machines and the Redis server with their ledger. */
import { setTimeout as pause } from 'node:timers/promises';
import { createHome } from '../support/home.ts';
import { redisCli, type RedisServer, startRedis, startSentinel } from '../support/redis.ts';
import { Tap } from './tap.ts';

export interface Fault {
  readonly name: string;
  /** Starts the servers. */
  open(): Promise<{
    /** PETSTORE_LEDGER. */
    readonly address: string;
    /** Called in the middle of a burst. Resolves once Redis can be used again, if it ever can. */
    inject?(): Promise<unknown>;
  }>;
  /** Redis never comes back. */
  readonly isForGood?: boolean;
  /** How far the clock of each machine is ahead, ms. */
  readonly skewMs?: (machine: number) => number;
  /** kill -9 for a process of the first machine while the first request of all is under way. */
  readonly killsFirst?: boolean;
}

interface Servers {
  readonly redis: RedisServer;
  readonly replica: RedisServer;
  readonly tap: Tap;
  /** Starts the first one again, with the same port and files. */
  restart(): Promise<unknown>;
}
type Inject = (at: Servers) => unknown;

export async function startReplica({ port }: RedisServer): Promise<RedisServer> {
  const replica = await startRedis({ settings: [`replicaof 127.0.0.1 ${port}`] });
  while (!(await redisCli(replica.port, 'INFO', 'replication')).includes('master_link_status:up')) continue;
  return replica;
}

/** A fault of one server, which has a replica, behind one address. */
function single(name: string, inject?: Inject, settings: readonly string[] = []): Fault {
  return {
    name,
    async open() {
      const all = { settings: [`dir ${createHome().path}`, ...settings] };
      const redis = await startRedis(all);
      const replica = await startReplica(redis);
      const tap = await Tap.open(redis.port);
      const restart = (): Promise<RedisServer> => startRedis({ ...all, port: redis.port });
      return {
        address: `redis://127.0.0.1:${tap.port}/0`,
        ...(inject && { inject: async () => inject({ redis, replica, tap, restart }) }),
      };
    },
  };
}

const killAndRestart: Inject = async ({ redis, restart }) => {
  await redis.kill('SIGKILL');
  await pause(1_000);
  await restart();
};

const stop =
  (seconds: number): Inject =>
  async ({ redis }) => {
    await redis.kill('SIGSTOP');
    await pause(seconds * 1_000);
    await redis.kill('SIGCONT');
  };

const late =
  (ms: number): Inject =>
  ({ tap }) => {
    tap.delayMs = ms;
  };

export const GONE: Fault = { ...single('killed for good', ({ redis }) => redis.kill('SIGKILL')), isForGood: true };

export const FAULTS: readonly Fault[] = [
  single('none'),
  GONE,
  single('restarted empty', killAndRestart),
  single('restarted with AOF', killAndRestart, ['appendonly yes', 'appendfsync always']),
  single('restarted with RDB', killAndRestart, ['save 1 1']),
  single('connections cut', ({ tap }) => tap.cut()),
  single('stopped for 5 s', stop(5)),
  single('stopped for 60 s', stop(60)),
  single('answers lost for 1.5 s', async ({ tap }) => {
    tap.losesAnswers = true;
    await pause(1_500);
    tap.losesAnswers = false;
  }),
  single('replica promoted', async ({ redis, replica, tap }) => {
    await redis.kill('SIGKILL');
    await redisCli(replica.port, 'REPLICAOF', 'NO', 'ONE');
    tap.target = replica.port;
  }),
  {
    name: 'Sentinel failover',
    async open() {
      const redis = await startRedis();
      const replica = await startReplica(redis);
      const sentinel = await startSentinel(redis, {
        settings: ['sentinel down-after-milliseconds petshop 500'],
      });
      while (!(await redisCli(sentinel.port, 'SENTINEL', 'replicas', 'petshop')).includes('slave-repl-offset'))
        continue;
      return {
        address: sentinel.url,
        async inject() {
          await redis.kill('SIGKILL');
          while (!(await redisCli(replica.port, 'ROLE')).includes('master')) await pause(50);
        },
      };
    },
  },
  single('read-only for 3 s', async ({ redis, replica }) => {
    await redisCli(replica.port, 'REPLICAOF', 'NO', 'ONE');
    await redisCli(redis.port, 'REPLICAOF', '127.0.0.1', `${replica.port}`);
    await pause(3_000);
    await redisCli(redis.port, 'REPLICAOF', 'NO', 'ONE');
  }),
  single('out of memory for 3 s', async ({ redis }) => {
    await redisCli(redis.port, 'CONFIG', 'SET', 'maxmemory', '1');
    await pause(3_000);
    await redisCli(redis.port, 'CONFIG', 'SET', 'maxmemory', '0');
  }),
  single('answers 100 ms late', late(100)),
  single('answers 1 s late', late(1_000)),
  single('emptied', ({ redis }) => redisCli(redis.port, 'FLUSHALL')),
  { ...single('clocks an hour apart'), skewMs: (machine) => ((machine % 3) - 1) * 3_600_000 },
  { ...single('first process killed'), killsFirst: true },
];
