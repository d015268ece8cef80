/**
 * How long the program takes to start, as a ratio to a bare `node -e 0` on the same Node in the same run.
 * The commands take turns, so that a machine that slows down slows all of them. Markdown on stdout.
 *
 *   npm run bench:startup [-- --runs 30] [-- --assert]
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PETSTORE = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));
const WARM_UPS = 2;

/** A service of 20 pets in a process of its own, so that it does not share the clock with what is measured. */
const SERVER = `
const items = Array.from({ length: 20 }, (_, i) => ({ petId: i + 1, quantity: i * 3, status: 'available' }));
const server = require('node:http').createServer((request, response) => {
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'X-RateLimit-Limit': '1000',
    'X-RateLimit-Remaining': '999',
    'X-RateLimit-Reset': String(Math.floor(Date.now() / 1000) + 60),
  });
  response.end(JSON.stringify(items));
}).listen(0, '127.0.0.1', () => console.log(server.address().port));`;

interface Contender {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Highest ratio that --assert accepts. */
  readonly most?: number;
}

const { runs, assert } = readArguments(process.argv.slice(2));
const home = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
try {
  const baseUrl = `http://127.0.0.1:${await portOf(server)}/v1`;
  const contenders = listContenders(baseUrl).filter(({ command }) => isThere(command[0]));
  const times = measure(contenders, environment(baseUrl));
  process.exitCode = report(contenders, times) && assert ? 1 : 0;
} finally {
  server.kill();
  rmSync(home, { recursive: true, force: true });
}

function listContenders(baseUrl: string): Contender[] {
  const node = process.execPath;
  return [
    { name: '`node -e 0`', command: [node, '-e', '0'] },
    { name: '`petstore --version`', command: [node, PETSTORE, '--version'], most: 1.5 },
    { name: '`petstore --help`', command: [node, PETSTORE, '--help'] },
    {
      name: '`petstore --env staging inventory list`, 20 rows',
      command: [node, PETSTORE, '--env', 'staging', 'inventory', 'list'],
      most: 4,
    },
    {
      name: '`petstore --env sandbox inventory list`',
      command: [node, PETSTORE, '--env', 'sandbox', 'inventory', 'list'],
    },
    { name: '`gh --version`', command: ['gh', '--version'] },
    { name: '`curl … | jq`, the same 20 rows', command: ['sh', '-c', `curl -s ${baseUrl}/inventory | jq -c '.[]'`] },
  ];
}

function environment(baseUrl: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: home,
    PETSTORE_BASE_URL: baseUrl,
    PETSTORE_API_KEY: 'bench-key',
  };
}

function isThere(program: string): boolean {
  const needed = program === 'sh' ? ['curl', 'jq'] : [program];
  return needed.every((each) => spawnSync(each, ['--version'], { stdio: 'ignore' }).error === undefined);
}

/** Wall time of each run, ms, in the order of the contenders. */
function measure(contenders: readonly Contender[], env: NodeJS.ProcessEnv): number[][] {
  const times: number[][] = contenders.map(() => []);
  for (let run = -WARM_UPS; run < runs; run++) {
    for (const [i, { name, command }] of contenders.entries()) {
      const started = process.hrtime.bigint();
      const { status, stderr } = spawnSync(command[0], command.slice(1), { env, stdio: ['ignore', 'ignore', 'pipe'] });
      const ms = Number(process.hrtime.bigint() - started) / 1e6;
      // The sandbox keeps the limits of its plan, here as everywhere: a run that meets them does not count.
      if (status !== 0) throw new Error(`${name} failed: ${stderr.toString()}`);
      if (run >= 0) times[i]?.push(ms);
    }
  }
  return times;
}

/** Prints the table; true where a ratio is too high. */
function report(contenders: readonly Contender[], times: readonly number[][]): boolean {
  const base = median(times[0] ?? []);
  const cpu = cpus();
  console.log(`Node ${process.versions.node}, ${cpu.length} × ${cpu[0]?.model ?? 'unknown'}, ${runs} runs in turn\n`);
  console.log('| command | ratio to `node -e 0` | median, ms | fastest – slowest, ms |');
  console.log('| --- | --- | --- | --- |');
  let tooSlow = false;
  for (const [i, { name, most }] of contenders.entries()) {
    const mine = times[i] ?? [];
    const ratio = median(mine) / base;
    const bound = most === undefined ? '' : ` (at most ${most})`;
    if (most !== undefined && ratio > most) tooSlow = true;
    const spread = `${Math.min(...mine).toFixed(1)} – ${Math.max(...mine).toFixed(1)}`;
    console.log(`| ${name} | ${ratio.toFixed(2)}${bound} | ${median(mine).toFixed(1)} | ${spread} |`);
  }
  return tooSlow;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

async function portOf(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error('the server has no stdout');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return Number(line.toString());
}

function readArguments(args: readonly string[]): { runs: number; assert: boolean } {
  const at = args.indexOf('--runs');
  return { runs: at < 0 ? 25 : Number(args[at + 1]), assert: args.includes('--assert') };
}
