/** A Redis server of the test's own, where `redis-server` is installed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { freePort } from './free-port.ts';
import { onCleanup } from './cleanup.ts';
import type { Identity } from './tls.ts';

/** Tests that need it are skipped, and named as skipped, without it. */
export const hasRedis = spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status === 0;
if (!hasRedis) process.stderr.write('redis-server is not installed: the tests of the Redis ledger are skipped.\n');

export interface RedisServer {
  readonly url: string;
  /** For good, or stopped as a process that hangs. */
  kill(signal: 'SIGKILL' | 'SIGSTOP'): Promise<void>;
}

export interface RedisOptions {
  readonly password?: string;
  /** Speaks TLS, and nothing else, as this one. */
  readonly identity?: Identity;
}

export async function startRedis({ password, identity }: RedisOptions = {}): Promise<RedisServer> {
  const port = await freePort();
  const settings = [
    ...['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    ...(identity === undefined ? ['--port', `${port}`] : tlsSettings(identity, port)),
    ...(password === undefined ? [] : ['--requirepass', password]),
  ];
  const child = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'inherit'], cwd: '/tmp' });
  onCleanup(() => void child.kill('SIGKILL'));
  await ready(child);
  return {
    url: `redis${identity === undefined ? '' : 's'}://127.0.0.1:${port}/0`,
    async kill(signal) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill(signal);
      if (signal === 'SIGKILL') await ended;
    },
  };
}

function tlsSettings({ key, cert }: Identity, port: number): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-redis-'));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'cert.pem'), cert);
  const files = ['--tls-key-file', join(folder, 'key.pem'), '--tls-cert-file', join(folder, 'cert.pem')];
  return ['--port', '0', '--tls-port', `${port}`, '--tls-auth-clients', 'no', ...files];
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout?.on('data', (piece: Buffer) => {
      output += piece.toString();
      if (output.includes('Ready to accept connections')) resolve();
    });
    child.once('exit', () => reject(new Error(`redis-server ended: ${output}`)));
  });
}
