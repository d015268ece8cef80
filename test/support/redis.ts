/** Starts Redis servers for a test, if `redis-server` is installed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { NEVER_MS, startPetstore } from './binary.ts';
import { createHome, fileIn } from './home.ts';
import type { Identity } from './tls.ts';

/** Without it, tests that need it are skipped and reported as skipped. */
export const hasRedis = spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status === 0;
if (!hasRedis) process.stderr.write('redis-server is not installed: the tests of the Redis ledger are skipped.\n');

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Kills it, or stops it like a hanging process and continues it. */
  kill(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
}

export interface RedisOptions {
  readonly password?: string;
  /** Accepts only TLS, with this certificate. */
  readonly identity?: Identity;
  /** Requires client certificates of this authority, PEM. */
  readonly clientCa?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** More lines for its configuration. */
  readonly settings?: readonly string[];
}

export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const { password, identity, port = await freePort(), settings = [] } = options;
  const lines = [
    'bind 127.0.0.1 -::1',
    ...['save ""', 'appendonly no', 'enable-debug-command yes', `dir "${createHome().path}"`],
    ...(identity === undefined ? [`port ${port}`] : tlsSettings(identity, port, options.clientCa)),
    ...(password === undefined ? [] : [`requirepass ${password}`]),
    ...settings,
  ];
  const kill = await start(lines, [], /Ready to accept connections/);
  return { url: `redis${identity === undefined ? '' : 's'}://127.0.0.1:${port}/0`, port, kill };
}

/** Starts a Sentinel that decides alone on a failover of the master, which it calls `petshop`. */
export async function startSentinel(
  master: RedisServer,
  { password, settings = [] }: Pick<RedisOptions, 'password' | 'settings'> = {},
): Promise<RedisServer> {
  const port = await freePort();
  const lines = [
    ...['bind 127.0.0.1', `port ${port}`, `dir "${createHome().path}"`],
    `sentinel monitor petshop 127.0.0.1 ${master.port} 1`,
    // A master that is only slow is not taken for one that is down.
    'sentinel down-after-milliseconds petshop 60000',
    ...(password === undefined ? [] : [`requirepass ${password}`]),
    ...settings,
  ];
  const kill = await start(lines, ['--sentinel'], /\+monitor master/);
  return { url: `redis+sentinel://127.0.0.1:${port}/petshop`, port, kill };
}

export interface RedisCluster {
  readonly url: string;
  readonly nodes: readonly [RedisServer, RedisServer];
  /** Moves the key's slot to the other node. Calls `onStep` twice during the move, and once after it. */
  move(key: string, onStep: () => Promise<void>): Promise<void>;
}

/** Starts two nodes, each with half of the slots. */
export async function startCluster(settings: readonly string[] = []): Promise<RedisCluster> {
  const busPorts: number[] = [];
  const node = async (): Promise<RedisServer> => {
    const busPort = await freePort();
    busPorts.push(busPort);
    return startRedis({ settings: ['cluster-enabled yes', `cluster-port ${busPort}`, ...settings] });
  };
  const nodes = [await node(), await node()] as const;
  const [a, b] = nodes.map(({ port }) => port) as [number, number];
  await redisCli(a, 'CLUSTER', 'ADDSLOTSRANGE', '0', '8191');
  await redisCli(b, 'CLUSTER', 'ADDSLOTSRANGE', '8192', '16383');
  await redisCli(a, 'CLUSTER', 'MEET', '127.0.0.1', `${b}`, `${busPorts[1]}`);
  for (const port of [a, b]) {
    while (!(await redisCli(port, 'CLUSTER', 'INFO')).includes('cluster_state:ok')) continue;
  }
  return {
    url: `redis+cluster://127.0.0.1:${a},127.0.0.1:${b}`,
    nodes,
    async move(key, onStep) {
      const slot = await redisCli(a, 'CLUSTER', 'KEYSLOT', key);
      const ids = [await redisCli(a, 'CLUSTER', 'MYID'), await redisCli(b, 'CLUSTER', 'MYID')] as const;
      const isAtA = (await redisCli(a, 'CLUSTER', 'COUNTKEYSINSLOT', slot)) !== '0';
      const [from, to, fromId, toId] = isAtA ? [a, b, ...ids] : [b, a, ids[1], ids[0]];
      await redisCli(to, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
      await redisCli(from, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
      await onStep();
      await redisCli(from, 'MIGRATE', '127.0.0.1', `${to}`, key, '0', '5000');
      await onStep();
      for (const port of [to, from]) await redisCli(port, 'CLUSTER', 'SETSLOT', slot, 'NODE', toId);
      await onStep();
    },
  };
}

/** Runs `redis-cli`, and returns what it prints. */
export async function redisCli(port: number, ...words: string[]): Promise<string> {
  return (await promisify(execFile)('redis-cli', ['-p', `${port}`, ...words])).stdout.trim();
}

async function start(lines: readonly string[], flags: readonly string[], sign: RegExp): Promise<RedisServer['kill']> {
  const home = createHome();
  const config = fileIn(home, 'redis.conf', `${lines.join('\n')}\n`);
  const options = { command: ['redis-server'], home, killAfterMs: NEVER_MS } as const;
  const running = startPetstore([config, ...flags], options);
  await running.waitFor(sign, 'stdout');
  return async (signal) => {
    running.kill(signal);
    if (signal === 'SIGKILL') await running.exited;
  };
}

function tlsSettings({ key, cert }: Identity, port: number, clientCa: string | undefined): string[] {
  const folder = createHome().path;
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  return [
    ...['port 0', `tls-port ${port}`, `tls-auth-clients ${clientCa === undefined ? 'no' : 'yes'}`],
    ...[`tls-key-file "${write('key.pem', key)}"`, `tls-cert-file "${write('cert.pem', cert)}"`],
    ...(clientCa === undefined ? [] : [`tls-ca-cert-file "${write('ca.pem', clientCa)}"`]),
  ];
}
