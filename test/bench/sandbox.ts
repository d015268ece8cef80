/**
 * Measures how many requests per second the sandbox answers, compared with Prism's mock of the same document and
 * json-server with the same stock: GET /inventory with 25 pets, and PATCH of one. The peers check no limits and store
 * a file at most. Needs `npm ci --prefix test/conformance --ignore-scripts`. Prints Markdown on stdout.
 *
 *   npm run bench -- sandbox [--seconds 4] [--rounds 3] [--assert]
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openapiDocument } from '../../src/api/openapi.ts';
import { seedItems } from '../../src/sandbox/seed.ts';
import { freePort } from '../support/free-port.ts';
import { markdownTable, median, spread } from './report.ts';
import { PETSTORE } from './service.ts';

/** How many times as many as Prism's mock. */
const LEAST_RATIO = 5;
const CONNECTIONS = 32;
const TOOLS = fileURLToPath(new URL('../conformance/node_modules/', import.meta.url));

interface Server {
  readonly name: string;
  /** With its port, then what follows. */
  command(port: number): readonly string[];
  readonly ready: RegExp;
  readonly base: string;
}

const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
// json-server keys its rows by `id`, in numbers that a double holds.
const rows = seedItems().map(({ petId, quantity, status }) => ({
  id: Number(petId),
  quantity: Number(quantity),
  status,
}));
const DOCUMENT = join(folder, 'openapi.json');
writeFileSync(DOCUMENT, JSON.stringify(openapiDocument()));
writeFileSync(join(folder, 'db.json'), JSON.stringify({ inventory: rows }));

const SERVERS: readonly Server[] = [
  {
    name: `petstore sandbox serve`,
    command: (port) =>
      [PETSTORE, 'sandbox', 'serve', '--port', `${port}`, '--data', join(folder, 'shop.db')].concat(
        '--per-minute 1000000 --per-day 1000000 --quiet'.split(' '),
      ),
    ready: /Base URL/,
    base: '/v1/inventory',
  },
  {
    name: `Prism's mock ${version('@stoplight/prism-cli')}`,
    command: (port) => [join(TOOLS, '.bin/prism'), 'mock', DOCUMENT, '--port', `${port}`, '--verboseLevel', 'fatal'],
    ready: /Prism is listening/,
    base: '/inventory',
  },
  {
    name: `json-server ${version('json-server')}`,
    command: (port) => [join(TOOLS, '.bin/json-server'), '--port', `${port}`, '--quiet', join(folder, 'db.json')],
    ready: /./,
    base: '/inventory',
  },
];

function version(name: string): string {
  return (JSON.parse(readFileSync(join(TOOLS, name, 'package.json'), 'utf8')) as { version: string }).version;
}

const LOADS = ['GET', 'PATCH'] as const;

/** Requests a second, all of them answered 2xx. */
async function measure(server: Server, seconds: number): Promise<Record<(typeof LOADS)[number], number>> {
  const port = await freePort();
  const child = spawn(process.execPath, server.command(port), { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await answers(`http://127.0.0.1:${port}${server.base}`, child);
    const [get, patch] = LOADS.map((method) => load(`http://127.0.0.1:${port}${server.base}`, method, seconds));
    return { GET: get!, PATCH: patch! };
  } finally {
    const ended = child.exitCode === null ? once(child, 'close') : undefined;
    child.kill('SIGTERM');
    await ended;
  }
}

async function answers(url: string, server: ChildProcess): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`${url}: the server ended with ${server.exitCode}`);
    const response = await fetch(url, { headers: { authorization: 'Bearer sandbox' } }).catch(() => undefined);
    if (response?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function load(url: string, method: (typeof LOADS)[number], seconds: number): number {
  const isGet = method === 'GET';
  const args = ['--json', '--connections', `${CONNECTIONS}`, '--duration', `${seconds}`, '--method', method];
  args.push('--headers', 'Authorization=Bearer sandbox', '--headers', 'Content-Type=application/json');
  if (!isGet) args.push('--body', '{"quantity":12}');
  const text = execFileSync(
    process.execPath,
    [join(TOOLS, 'autocannon/autocannon.js'), ...args, isGet ? url : `${url}/7`],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const { '2xx': done, non2xx, errors, duration } = JSON.parse(text.toString()) as Record<string, number>;
  if (non2xx !== 0 || errors !== 0) throw new Error(`${url}: ${non2xx} not 2xx, ${errors} errors`);
  return done! / duration!;
}

if (!existsSync(TOOLS)) {
  console.log('Left out: the other servers come with `npm ci --prefix test/conformance --ignore-scripts`.');
  process.exit();
}

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    assert: { type: 'boolean', default: false },
  },
});
const results = new Map(SERVERS.map((server) => [server, [] as Record<(typeof LOADS)[number], number>[]]));
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const server of SERVERS) results.get(server)!.push(await measure(server, Number(values.seconds)));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const rates = (server: Server, method: (typeof LOADS)[number]): number[] =>
  results.get(server)!.map((each) => each[method]);
const ratio = (server: Server, method: (typeof LOADS)[number]): number =>
  median(rates(server, method)) / median(rates(SERVERS[1]!, method));
const head = LOADS.flatMap((method) => [`${method}, requests/s`, 'slowest – fastest', "times Prism's mock"]);
console.log(
  markdownTable(
    ['server', ...head],
    SERVERS.map((server) => [
      server.name,
      ...LOADS.flatMap((method) => [
        median(rates(server, method)).toFixed(0),
        spread(rates(server, method), 0),
        ratio(server, method).toFixed(1),
      ]),
    ]),
  ),
);
console.log(`\nGET is of 25 pets; ${CONNECTIONS} connections, ${values.rounds} rounds of ${values.seconds} s.`);
const worst = Math.min(...LOADS.map((method) => ratio(SERVERS[0]!, method)));
if (values.assert && worst < LEAST_RATIO) {
  console.error(`The sandbox must answer at least ${LEAST_RATIO} times as many as Prism's mock.`);
  process.exitCode = 1;
}
