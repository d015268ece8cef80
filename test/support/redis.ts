/** A Redis server of the test's own, where `redis-server` is installed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { freePort } from './free-port.ts';
import { onCleanup } from './cleanup.ts';
import type { Identity } from './tls.ts';

/** Tests that need it are skipped, and named as skipped, without it. */
export const hasRedis = spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status === 0;
if (!hasRedis) process.stderr.write('redis-server is not installed: the tests of the Redis ledger are skipped.\n');

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** For good, or stopped as a process that hangs, and going on again. */
  kill(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
}

export interface RedisOptions {
  readonly password?: string;
  /** Speaks TLS, and nothing else, as this one. */
  readonly identity?: Identity;
  /** Wants a certificate of this authority, PEM. */
  readonly clientCa?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** More lines of its configuration. */
  readonly settings?: readonly string[];
}

export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const { password, identity, settings = [], port = await freePort() } = options;
  const lines = [
    'bind 127.0.0.1 -::1',
    ...['save ""', 'appendonly no', 'enable-debug-command yes', `dir ${newFolder()}`],
    ...(identity === undefined ? [`port ${port}`] : tlsSettings(identity, port, options.clientCa)),
    ...(password === undefined ? [] : [`requirepass ${password}`]),
    ...settings,
  ];
  const kill = await start(lines, [], 'Ready to accept connections');
  return { url: `redis${identity === undefined ? '' : 's'}://127.0.0.1:${port}/0`, port, kill };
}

/** A Sentinel that alone decides on a failover of the master, which it calls `petshop`. */
export async function startSentinel(
  master: RedisServer,
  { password, settings = [] }: Pick<RedisOptions, 'password' | 'settings'> = {},
): Promise<RedisServer> {
  const port = await freePort();
  const lines = [
    ...['bind 127.0.0.1', `port ${port}`, `dir ${newFolder()}`],
    `sentinel monitor petshop 127.0.0.1 ${master.port} 1`,
    'sentinel down-after-milliseconds petshop 500',
    ...(password === undefined ? [] : [`requirepass ${password}`]),
    ...settings,
  ];
  const kill = await start(lines, ['--sentinel'], '+monitor master');
  return { url: `redis+sentinel://127.0.0.1:${port}/petshop`, port, kill };
}

export interface RedisCluster {
  readonly url: string;
  readonly nodes: readonly [RedisServer, RedisServer];
  /** Moves the slot of the key to the other node. `onStep` is called while it is on its way, and once it is there. */
  move(key: string, onStep: () => Promise<void>): Promise<void>;
}

/** Two nodes, each with half of the slots. */
export async function startCluster(settings: readonly string[] = []): Promise<RedisCluster> {
  const busPorts: number[] = [];
  const node = async (tries = 3): Promise<RedisServer> => {
    const busPort = await freePort();
    try {
      const server = await startRedis({ settings: ['cluster-enabled yes', `cluster-port ${busPort}`, ...settings] });
      busPorts.push(busPort);
      return server;
    } catch (error) {
      // Another process has taken it meanwhile.
      if (tries === 1 || !String(error).includes('already in use')) throw error;
      return node(tries - 1);
    }
  };
  const nodes = [await node(), await node()] as const;
  const [a, b] = nodes.map(({ port }) => port) as [number, number];
  await redisCli(a, 'CLUSTER', 'ADDSLOTSRANGE', '0', '8191');
  await redisCli(b, 'CLUSTER', 'ADDSLOTSRANGE', '8192', '16383');
  await redisCli(a, 'CLUSTER', 'MEET', '127.0.0.1', `${b}`, `${busPorts[1]}`);
  for (const port of [a, b]) {
    await expect.poll(() => redisCli(port, 'CLUSTER', 'INFO'), { timeout: 20_000 }).toContain('cluster_state:ok');
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

/** Asks a server as `redis-cli` does, and returns what that prints. */
export async function redisCli(port: number, ...words: string[]): Promise<string> {
  return (await promisify(execFile)('redis-cli', ['-p', `${port}`, ...words])).stdout.trim();
}

async function start(lines: readonly string[], flags: readonly string[], sign: string): Promise<RedisServer['kill']> {
  const config = join(newFolder(), 'redis.conf');
  writeFileSync(config, `${lines.join('\n')}\n`);
  const child = spawn('redis-server', [config, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  onCleanup(() => void child.kill('SIGKILL'));
  await ready(child, sign);
  return async (signal) => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    if (signal === 'SIGKILL') await ended;
  };
}

/** Gone when the test ends. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-redis-'));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function tlsSettings({ key, cert }: Identity, port: number, clientCa: string | undefined): string[] {
  const folder = newFolder();
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  return [
    ...['port 0', `tls-port ${port}`, `tls-auth-clients ${clientCa === undefined ? 'no' : 'yes'}`],
    ...[`tls-key-file ${write('key.pem', key)}`, `tls-cert-file ${write('cert.pem', cert)}`],
    ...(clientCa === undefined ? [] : [`tls-ca-cert-file ${write('ca.pem', clientCa)}`]),
  ];
}

function ready(child: ChildProcess, sign: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout?.on('data', (piece: Buffer) => {
      output += piece.toString();
      if (output.includes(sign)) resolve();
    });
    child.once('exit', () => reject(new Error(`redis-server ended: ${output}`)));
  });
}
