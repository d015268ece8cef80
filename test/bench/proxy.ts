/**
 * Measures how many requests per second `petstore proxy` passes on, compared with proxies that do nothing else, in
 * front of a service whose rate limit is never reached: GET of 25 pets, and PATCH. Then measures the time that it adds
 * to a request at a moderate load, and whether its memory stays the same. Prints Markdown on stdout.
 * Install http-proxy-3 with `npm ci --prefix test/conformance --ignore-scripts`.
 *
 *   npm run bench -- proxy [--requests 20000] [--rounds 5] [--assert]
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Load, Measured } from './proxy-load.ts';
import { markdownTable, median, readOptions, residentOf, spread } from './report.ts';
import { type Bench, PETSTORE, portOf, withService } from './service.ts';

/** Of the GETs of http-proxy-3, or of the plain proxy where that is not installed; and how much more memory it may hold later on. */
const LEAST_RATIO = 0.5;
const MOST_GROWTH = 1.2;
const CONNECTIONS = 32;
const MODERATE = { connections: 4, restMs: 5, requests: 3_000 };
const WARM = 10_000;
const MORE = 100_000;

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const TOOLS = path('../conformance/package.json');

const values = readOptions({ requests: '20000', rounds: '5' });

interface Server {
  readonly name: string;
  readonly port: number;
  readonly base: string;
  /** Absent for the service itself. */
  readonly process?: ChildProcess;
  readonly get: Measured[];
  readonly patch: Measured[];
  readonly moderate: Measured[];
}

function load({ port, base }: Server, given: Partial<Load> = {}): Measured {
  const requests = Number(values.requests);
  const common: Load = {
    port,
    path: `${base}/inventory`,
    method: 'GET',
    connections: CONNECTIONS,
    requests,
    restMs: 0,
  };
  const text = execFileSync(process.execPath, [path('./proxy-load.ts'), JSON.stringify({ ...common, ...given })], {
    encoding: 'utf8',
  });
  return JSON.parse(text) as Measured;
}

async function start(bench: Bench): Promise<Server[]> {
  const measured = (): Pick<Server, 'get' | 'patch' | 'moderate'> => ({ get: [], patch: [], moderate: [] });
  const { origin, port, pathname } = new URL(bench.baseUrlOf(25));
  const plain = async (name: string, ...args: string[]): Promise<Server> => {
    const child = spawn(process.execPath, [path('./plain-proxy.ts'), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return { name, port: await portOf(child), base: pathname, process: child, ...measured() };
  };
  const command = 'proxy --env staging --port 0 --no-token --output json --quiet --timeout 5s'.split(' ');
  const child = spawn(process.execPath, [PETSTORE, ...command], {
    env: { ...bench.env, PETSTORE_BASE_URL: bench.baseUrlOf(25) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { baseUrl } = JSON.parse(line.toString()) as { baseUrl: string };
  const module = fromTools('http-proxy-3');
  return [
    { name: 'the service itself', port: Number(port), base: pathname, ...measured() },
    await plain('Node: node:http and undici', 'undici', origin),
    ...(module === undefined
      ? []
      : [await plain(`http-proxy-3 ${module.version}`, 'http-proxy-3', origin, module.url)]),
    { name: '`petstore proxy`', port: Number(new URL(baseUrl).port), base: '/v1', process: child, ...measured() },
  ];
}

function fromTools(name: string): { readonly version: string; readonly url: string } | undefined {
  const description = path(`../conformance/node_modules/${name}/package.json`);
  if (!existsSync(description)) return undefined;
  const { version } = JSON.parse(readFileSync(description, 'utf8')) as { version: string };
  return { version, url: createRequire(TOOLS).resolve(name) };
}

process.exitCode = await withService(async (bench) => {
  const servers = await start(bench);
  try {
    const own = servers.at(-1)!;
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const server of servers) {
        // While the others are measured, V8 drops what it has compiled of this one.
        load(server, { requests: WARM });
        server.get.push(load(server));
        server.patch.push(load(server, { method: 'PATCH', requests: Math.ceil(Number(values.requests) / 4) }));
        server.moderate.push(load(server, MODERATE));
      }
    }
    const early = residentOf(own.process?.pid ?? 0) ?? Number.NaN;
    load(own, { requests: MORE });
    const late = residentOf(own.process?.pid ?? 0) ?? Number.NaN;
    return report(servers, late / early, [early, late]) && values.assert ? 1 : 0;
  } finally {
    for (const { process: child } of servers) child?.kill();
  }
});

/** Prints the table; true where a bar is missed. */
function report(servers: readonly Server[], growth: number, memory: readonly number[]): boolean {
  const [direct] = servers;
  const own = servers.at(-1)!;
  const peer = servers.at(-2)!;
  const rate = (each: readonly Measured[]): number => median(each.map(({ perSecond }) => perSecond));
  const time = (server: Server, which: 'p50' | 'p99'): number => median(server.moderate.map((each) => each[which]));
  const times = (server: Server, what: 'get' | 'patch'): string => {
    const bar = server === own && what === 'get' ? ` (at least ${LEAST_RATIO})` : '';
    return `${(rate(server[what]) / rate(peer[what])).toFixed(2)}${bar}`;
  };
  const rows = servers.map((server) => [
    server.name,
    rate(server.get).toFixed(0),
    spread(
      server.get.map(({ perSecond }) => perSecond),
      0,
    ),
    times(server, 'get'),
    rate(server.patch).toFixed(0),
    times(server, 'patch'),
    time(server, 'p50').toFixed(2),
    time(server, 'p99').toFixed(2),
    server === direct ? '' : (time(server, 'p99') - time(direct!, 'p99')).toFixed(2),
  ]);
  const ratio = `times ${peer.name.replace(/:.*/, "'s")}`;
  const head = ['GET, requests/s', 'slowest – fastest', ratio, 'PATCH, requests/s', ratio];
  console.log(markdownTable(['', ...head, 'p50, ms', 'p99, ms', 'added to p99, ms'], rows));
  const [early = 0, late = 0] = memory.map((each) => Math.round(each));
  console.log(
    `\nGET is of 25 pets; ${CONNECTIONS} connections, ${values.rounds} rounds. p50 and p99 are of GETs on ` +
      `${MODERATE.connections} connections that rest for ${MODERATE.restMs} ms. \`petstore proxy\` holds ${early} MB after ` +
      `these rounds, and ${late} MB after ${MORE.toLocaleString('en')} more GETs: ${growth.toFixed(2)} times as much (at most ${MOST_GROWTH}).`,
  );
  return rate(own.get) / rate(peer.get) < LEAST_RATIO || growth > MOST_GROWTH;
}
