/** Faults between a fleet of machines and the Redis server with their ledger. */
import { setTimeout as pause } from 'node:timers/promises';
import { RedisServer } from './redis.ts';
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

type Inject = (at: { redis: RedisServer; replica: RedisServer; tap: Tap }) => unknown;

/** A fault of one server, which has a replica, behind one address. */
function single(name: string, inject?: Inject, args?: readonly string[]): Fault {
  return {
    name,
    async open() {
      const redis = await RedisServer.start(args);
      const replica = await redis.replica();
      const tap = await Tap.open(redis.port);
      return {
        address: `redis://127.0.0.1:${tap.port}/0`,
        ...(inject && { inject: async () => inject({ redis, replica, tap }) }),
      };
    },
  };
}

const restart: Inject = async ({ redis }) => {
  await redis.kill('SIGKILL');
  await pause(1_000);
  await redis.start();
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
  single('restarted empty', restart),
  single('restarted with AOF', restart, ['--appendonly', 'yes', '--appendfsync', 'always']),
  single('restarted with RDB', restart, ['--save', '1 1']),
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
    await replica.ask('REPLICAOF NO ONE');
    tap.target = replica.port;
  }),
  {
    name: 'Sentinel failover',
    async open() {
      const redis = await RedisServer.start();
      const replica = await redis.replica();
      const sentinel = await redis.sentinel();
      return {
        address: `redis+sentinel://127.0.0.1:${sentinel.port}/mymaster`,
        async inject() {
          await redis.kill('SIGKILL');
          while (!(await replica.ask('ROLE')).includes('master')) await pause(50);
        },
      };
    },
  },
  single('read-only for 3 s', async ({ redis, replica }) => {
    await replica.ask('REPLICAOF NO ONE');
    await redis.ask(`REPLICAOF 127.0.0.1 ${replica.port}`);
    await pause(3_000);
    await redis.ask('REPLICAOF NO ONE');
  }),
  single('out of memory for 3 s', async ({ redis }) => {
    await redis.ask('CONFIG SET maxmemory 1');
    await pause(3_000);
    await redis.ask('CONFIG SET maxmemory 0');
  }),
  single('answers 100 ms late', late(100)),
  single('answers 1 s late', late(1_000)),
  single('emptied', ({ redis }) => redis.ask('FLUSHALL')),
  { ...single('clocks an hour apart'), skewMs: (machine) => ((machine % 3) - 1) * 3_600_000 },
  { ...single('first process killed'), killsFirst: true },
];
