/** What the benchmarks share: a service in a process of its own, a home of their own, and the median. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PETSTORE = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));

/** 20 pets, any of which may be set. Its own process: so it does not share the clock with what is measured. */
const SERVER = `
const items = Array.from({ length: 20 }, (_, i) => ({ petId: i + 1, quantity: i * 3, status: 'available' }));
const server = require('node:http').createServer((request, response) => {
  let body = '';
  request.on('data', (piece) => (body += piece)).on('end', () => {
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'X-RateLimit-Limit': '1000',
      'X-RateLimit-Remaining': '999',
      'X-RateLimit-Reset': String(Math.floor(Date.now() / 1000) + 60),
    });
    const set = { petId: Number(request.url.split('/').at(-1)), status: 'available', ...JSON.parse(body || '{}') };
    response.end(JSON.stringify(request.method === 'PATCH' ? set : items));
  });
}).listen(0, '127.0.0.1', () => console.log(server.address().port));`;

export interface Bench {
  readonly baseUrl: string;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
}

export async function withService<T>(work: (bench: Bench) => T): Promise<T> {
  const home = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const baseUrl = `http://127.0.0.1:${await portOf(server)}/v1`;
    const env = { PATH: process.env.PATH, HOME: home, PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: 'bench-key' };
    return work({ baseUrl, home, env });
  } finally {
    server.kill();
    rmSync(home, { recursive: true, force: true });
  }
}

async function portOf(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error('the server has no stdout');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return Number(line.toString());
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

interface BenchArguments {
  readonly runs: number;
  readonly assert: boolean;
  /** Write the figures into README.md. */
  readonly readme: boolean;
}

export function readArguments(args: readonly string[], usualRuns: number): BenchArguments {
  const at = args.indexOf('--runs');
  return {
    runs: at < 0 ? usualRuns : Number(args[at + 1]),
    assert: args.includes('--assert'),
    readme: args.includes('--readme'),
  };
}
