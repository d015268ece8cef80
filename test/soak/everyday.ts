/**
 * `npm run soak`: does everyday work against a sandbox with faults, for as long as you like. Measures the memory and
 * open handles of long-running programs, and the size of the state. Fails if one of them exceeds its bound (growth.ts)
 * after the warm-up, or if a command ends with an exit code that no fault explains.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { residentOf } from '../bench/report.ts';
import { judge, type Sample, warmUpOf, WORK } from './growth.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' } } });
const lengthMs = Number(values.minutes) * 60_000;
if (!(lengthMs >= 30_000)) throw new Error(`--minutes ${values.minutes}: half a minute is the least.`);
const warmUpMs = warmUpOf(lengthMs);
const sampleMs = Math.min(10_000, lengthMs / 60);

const PETSTORE = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));
const FAULTS = ['reset,after,method=PATCH,p=0.02', 'status=503,p=0.02', 'delay=300ms,p=0.02', 'truncate=40,p=0.01'];
/** What a fault may lead to: network, service, unknown outcome, rows that were not done, stopped at the end. */
const EXPECTED: readonly (number | null)[] = [0, 6, 7, 8, 9, 11, 13, 143];
/** The sandbox gives the last few of them large ids. */
const SEEDED = 500;
const PETS = 490;

const home = mkdtempSync(join(tmpdir(), 'petstore-soak-'));
const state = join(home, '.local/state/petstore');
const env: NodeJS.ProcessEnv = { PATH: process.env.PATH, HOME: home, PETSTORE_ENV: 'staging' };
const children = new Set<ChildProcess>();
const stayed = new Map<string, ChildProcess>();
const codes = new Map<string, number>();
const unexpected: string[] = [];
let isOver = false;

function start(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [PETSTORE, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** Starts a program that stays until the end; resolves with its first output as JSON. */
async function stay(name: string, args: readonly string[]): Promise<Record<string, string>> {
  const child = start(args);
  stayed.set(name, child);
  let errors = '';
  child.stderr?.on('data', (piece: Buffer) => (errors = (errors + piece.toString()).slice(-500)));
  child.once('exit', (code) => {
    if (!isOver) unexpected.push(`${name} ended with ${code}: ${errors}`);
  });
  const ended = once(child, 'close').then(() => Promise.reject(new Error(`${name} ended: ${errors}`)));
  const [first] = (await Promise.race([once(child.stdout!, 'data'), ended])) as [Buffer];
  ended.catch(() => undefined);
  child.stdout?.resume();
  return JSON.parse(first.toString().split('\n')[0] ?? '') as Record<string, string>;
}

/** Runs a command to its end. */
async function run(...args: string[]): Promise<void> {
  const child = start(args);
  let errors = '';
  child.stdout?.resume();
  child.stderr?.on('data', (piece: Buffer) => (errors = (errors + piece.toString()).slice(-500)));
  const [code] = (await once(child, 'close')) as [number | null];
  const name = `${args.slice(0, 2).join(' ')}: ${code}`;
  codes.set(name, (codes.get(name) ?? 0) + 1);
  if (!EXPECTED.includes(code)) unexpected.push(`petstore ${args.join(' ')} ended with ${code}: ${errors}`);
}

/** Does the work again and again until the time is over. */
async function again(work: (turn: number) => Promise<void>): Promise<void> {
  for (let turn = 1; !isOver; turn++) await work(turn);
}

async function throughProxy(baseUrl: string, token: string, turn: number): Promise<void> {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'user-agent': `till-${turn % 5}`,
  };
  const change = { method: 'PATCH', body: JSON.stringify({ quantity: turn % 100 }) };
  const response = await fetch(`${baseUrl}/inventory/${(turn % PETS) + 1}`, { headers, ...change });
  await response.text();
  const list = await fetch(`${baseUrl}/inventory`, { headers });
  await list.text();
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function folderSize(path: string): number {
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

function look(at: number): Sample {
  const found: Record<string, number> = {};
  for (const [name, { pid }] of stayed) {
    found[`${name}: memory`] = (residentOf(pid!) ?? Number.NaN) * 2 ** 20;
    found[`${name}: handles`] = readdirSync(`/proc/${pid}/fd`).length;
  }
  const database = new DatabaseSync(join(state, 'state.db'), { readOnly: true });
  found[WORK] = Number(database.prepare('SELECT count(*) AS n FROM change').get()?.n);
  database.close();
  found['state.db'] = sizeOf(join(state, 'state.db'));
  found['log of state.db'] = sizeOf(join(state, 'state.db-wal'));
  found.reports = folderSize(join(state, 'reports'));
  return { at, values: found };
}

function importFile(turn: number): string {
  const rows = Array.from({ length: 50 }, (_, i) => `${((turn * 7 + i) % PETS) + 1},${(turn + i) % 200}`);
  const file = join(home, `delivery-${turn % 3}.csv`);
  writeFileSync(file, `petId,quantity\n${rows.join('\n')}\n`);
  return file;
}

async function soak(): Promise<Sample[]> {
  const data = ['--data', join(home, 'shop.db')];
  await run('sandbox', 'seed', '--pets', String(SEEDED), ...data);
  const limits = ['--per-minute', '2000', '--per-day', '1000000', '--minute', '10s'];
  const faults = FAULTS.flatMap((rule) => ['--fault', rule]);
  const shop = await stay('sandbox', ['sandbox', 'serve', '--port', '0', '--json', ...data, ...limits, ...faults]);
  Object.assign(env, { PETSTORE_BASE_URL: shop.baseUrl, PETSTORE_API_KEY: shop.apiKey });
  const proxy = await stay('proxy', ['proxy', '--port', '0', '--json', '--log', '/dev/null']);
  // The first import makes the folder of the reports.
  await run('inventory', 'import', importFile(0), '--yes');
  await stay('watch', ['inventory', 'list', '--watch', '1s', '-o', 'ndjson']);

  const work = [
    again((turn) => run('inventory', 'import', importFile(turn), '--yes')),
    again(async (turn) => {
      await run('inventory', 'set', String((turn % PETS) + 1), String(turn % 50));
      await run('inventory', 'list', '--max', '2', '--fail-if-any', '-o', 'ndjson');
      await run('inventory', 'history', '--limit', '20', '--json');
    }),
    again((turn) => throughProxy(proxy.baseUrl!, proxy.token!, turn)),
  ];
  const samples: Sample[] = [];
  const begun = performance.now();
  const sampling = setInterval(() => {
    samples.push(look(performance.now() - begun));
  }, sampleMs);
  const time = new Promise((resolve) => setTimeout(resolve, lengthMs));
  await Promise.race([time, Promise.all(work)]);
  clearInterval(sampling);
  isOver = true;
  await Promise.allSettled(work);
  return samples;
}

try {
  const samples = await soak();
  const { lines, problems } = judge(samples, warmUpMs);
  problems.push(...unexpected);
  process.stdout.write(`${samples.length} samples, ${samples.at(-1)!.values[WORK]} changes.\n`);
  for (const [name, count] of [...codes].toSorted()) process.stdout.write(`${name}, ${count} times\n`);
  for (const line of [...lines, ...problems.map((each) => `FAIL ${each.trim()}`)]) process.stdout.write(`${line}\n`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  isOver = true;
  await Promise.all(
    [...children].map(async (child) => {
      child.kill();
      if (child.exitCode === null) await once(child, 'exit');
    }),
  );
  rmSync(home, { recursive: true, force: true });
}
