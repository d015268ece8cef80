/** Shared by the benchmarks: a service in a separate process, and a separate home folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onCleanup, withCleanup } from '../support/cleanup.ts';
import { createHome } from '../support/home.ts';

export const PETSTORE = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));

/**
 * Stock of any size: `http://…/1000000/v1` has a million pets; 20 where none is named. Any of them may be set. The rate
 * limit is never reached. Its own process, so that it does not share the clock with what is measured.
 */
const SERVER = `
const STATUSES = ['available', 'pending', 'sold'];
const made = new Map();
function stock(count) {
  if (!made.has(count)) {
    const items = Array.from({ length: count }, (_, i) =>
      '{"petId":' + (i + 1) + ',"quantity":' + (i % 97) + ',"status":"' + STATUSES[i % 3] + '"}');
    made.set(count, Buffer.from('[' + items.join(',') + ']'));
  }
  return made.get(count);
}
let left = 1e9;
const end = Math.floor(Date.now() / 1000) + 86400;
const server = require('node:http').createServer((request, response) => {
  let body = '';
  request.on('data', (piece) => (body += piece)).on('end', () => {
    const set = { petId: Number(request.url.split('/').at(-1)), status: 'available', ...JSON.parse(body || '{}') };
    const count = Number(/^\\/(\\d+)\\/v1/.exec(request.url)?.[1] ?? 20);
    const answer = request.method === 'PATCH' ? Buffer.from(JSON.stringify(set)) : stock(count);
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': answer.length,
      'X-RateLimit-Limit': '1000000000',
      'X-RateLimit-Remaining': String(--left),
      'X-RateLimit-Reset': String(end),
    });
    response.end(answer);
  });
}).listen(0, '127.0.0.1', () => console.log(server.address().port));`;

export interface Bench {
  readonly baseUrl: string;
  /** Of a service with that many pets. */
  baseUrlOf(rows: number): string;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
}

export function withService<T>(work: (bench: Bench) => T | Promise<T>): Promise<T> {
  return withCleanup(async () => {
    const { path: home } = createHome();
    const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
    onCleanup(() => void server.kill());
    const origin = `http://127.0.0.1:${await portOf(server)}`;
    const baseUrl = `${origin}/v1`;
    const env = { PATH: process.env.PATH, HOME: home, PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: 'bench-key' };
    return work({ baseUrl, baseUrlOf: (rows) => `${origin}/${rows}/v1`, home, env });
  });
}

/** Returns the port that a server prints first. */
export async function portOf(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error('the server has no stdout');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return Number(line.toString());
}
