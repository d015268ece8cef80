/**
 * Long lists: a million pets from a service on this machine, in every format, beside `curl | jq` and JSON.parse of the
 * whole in the same run, which take turns. Time from start to end, the most memory held, and what a table of 100,000
 * rows takes more than NDJSON. Markdown on stdout. Linux: memory and CPU are read from /proc.
 *
 *   npm run bench -- lists [--rounds 5] [--assert]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isThere, markdownTable, median, spread, STANDALONE } from './report.ts';
import { PETSTORE, withService } from './service.ts';

/** What --assert asks for: how many times jq's throughput, and how much more memory than for an empty list. */
const LEAST_THROUGHPUT = 6;
const MOST_MEMORY = { times: 1.3, plusMb: 60 };
const MOST_TABLE_SECONDS = 1;
const MILLION = 1_000_000;

const HEAD = [
  'command',
  'rows',
  "throughput, times jq's",
  'median, s',
  'fastest – slowest, s',
  'first row after, s',
  'peak memory, MB',
];

interface Run {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMb: number;
  /** When the first byte of its output came. */
  readonly firstSeconds: number;
}

interface Contender {
  readonly name: string;
  readonly rows: number;
  readonly command: readonly [string, ...string[]];
  /** Its throughput is held against jq's, and its memory against an empty list's. */
  readonly isBound: boolean;
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    assert: { type: 'boolean', default: false },
  },
});

process.exitCode = await withService(async ({ baseUrlOf, env }) => {
  const contenders = listContenders(baseUrlOf).filter(({ command }) =>
    (command[0] === 'sh' ? ['curl', 'jq'] : [command[0]]).every(isThere),
  );
  const runs = new Map<Contender, Run[]>(contenders.map((contender) => [contender, []]));
  for (let round = -1; round < Number(values.rounds); round++) {
    for (const contender of contenders) {
      const { PETSTORE_BASE_URL: _, ...rest } = env;
      const run = await measure(contender.command, { ...rest, PETSTORE_BASE_URL: baseUrlOf(contender.rows) });
      if (round >= 0) runs.get(contender)!.push(run);
    }
  }
  return report(runs) && values.assert ? 1 : 0;
});

function listContenders(baseUrlOf: (rows: number) => string): Contender[] {
  const list = ['--env', 'staging', 'inventory', 'list'];
  const node = process.execPath;
  const mine = (rows: number, options: string, isBound = false): Contender => ({
    name: `\`petstore inventory list ${options}\``,
    rows,
    command: [node, PETSTORE, ...list, ...options.split(' ')],
    isBound,
  });
  const url = `${baseUrlOf(MILLION)}/inventory`;
  const whole = `const { get } = require('node:http'); get('${url}', async (answer) => {
    let text = ''; for await (const piece of answer.setEncoding('utf8')) text += piece;
    for (const item of JSON.parse(text)) process.stdout.write(JSON.stringify(item) + '\\n'); });`;
  return [
    {
      name: "`curl | jq -c '.[]'`",
      rows: MILLION,
      command: ['sh', '-c', `curl -s ${url} | jq -c '.[]'`],
      isBound: false,
    },
    { name: 'Node: JSON.parse of the whole', rows: MILLION, command: [node, '-e', whole], isBound: false },
    mine(MILLION, '-o ndjson', true),
    mine(MILLION, '-o csv', true),
    mine(MILLION, '-o json', true),
    mine(MILLION, '-o ndjson --status sold', true),
    mine(MILLION, '-o ndjson --max 3', true),
    mine(MILLION, '-o table'),
    {
      name: 'standalone: `petstore inventory list -o ndjson`',
      rows: MILLION,
      command: [STANDALONE, ...list, '-o', 'ndjson'],
      isBound: true,
    },
    mine(100_000, '-o table'),
    mine(100_000, '-o ndjson'),
    mine(0, '-o ndjson'),
  ];
}

async function measure(command: Contender['command'], env: NodeJS.ProcessEnv): Promise<Run> {
  const from = process.hrtime.bigint();
  const since = (): number => Number(process.hrtime.bigint() - from) / 1e9;
  const child = spawn(command[0], command.slice(1), { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const arrivals: number[] = [];
  let stderr = '';
  let used = { peakMb: 0, cpuSeconds: 0 };
  const look = setInterval(() => (used = usedBy(child.pid!) ?? used), 5);
  child.stdout.once('data', () => arrivals.push(since())).resume();
  child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  const seconds = since();
  clearInterval(look);
  if (code !== 0) throw new Error(`${command.join(' ')}: ${stderr}`);
  return { ...used, seconds, firstSeconds: arrivals[0] ?? seconds };
}

/** The most memory so far, and the time used by its threads (proc_pid_status(5), proc_pid_stat(5)). */
function usedBy(pid: number): { peakMb: number; cpuSeconds: number } | undefined {
  try {
    const peak = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const [, times] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    const fields = (times ?? '').split(' ');
    if (peak === undefined) return undefined;
    return { peakMb: Number(peak) / 1_024, cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100 };
  } catch {
    // It has ended.
    return undefined;
  }
}

/** Prints the table; true where a figure is not what it should be. */
function report(runs: ReadonlyMap<Contender, readonly Run[]>): boolean {
  const of = (contender: Contender | undefined, what: keyof Run): number[] =>
    contender === undefined ? [] : runs.get(contender)!.map((run) => run[what]);
  const all = [...runs.keys()];
  const jq = all.find(({ name }) => name.includes('jq'));
  const [table, lines, empty] = all.slice(-3);
  const mostMb = MOST_MEMORY.times * median(of(empty, 'peakMb')) + MOST_MEMORY.plusMb;
  const figures = all.map((contender) => ({
    ...contender,
    times: contender.rows === MILLION ? median(of(jq, 'seconds')) / median(of(contender, 'seconds')) : Number.NaN,
    peak: median(of(contender, 'peakMb')),
    seconds: of(contender, 'seconds'),
    first: median(of(contender, 'firstSeconds')),
  }));
  const rows = figures.map(({ command, first, isBound, name, peak, rows: count, seconds, times }) => [
    name,
    count.toLocaleString('en'),
    Number.isNaN(times) ? '' : `${times.toFixed(1)}${isBound ? ` (at least ${LEAST_THROUGHPUT})` : ''}`,
    median(seconds).toFixed(2),
    spread(seconds, 2),
    first.toFixed(2),
    // A pipe has several processes, so it gets no single figure.
    command[0] === 'sh' ? '' : `${peak.toFixed(0)}${isBound ? ` (at most ${mostMb.toFixed(0)})` : ''}`,
  ]);
  console.log(markdownTable(HEAD, rows));
  const more = median(of(table, 'cpuSeconds')) - median(of(lines, 'cpuSeconds'));
  console.log(
    `\nA table of 100,000 rows takes ${more.toFixed(2)} s of CPU more than NDJSON (at most ${MOST_TABLE_SECONDS}).`,
  );
  const isBad = figures.some(({ isBound, peak, times }) => isBound && (times < LEAST_THROUGHPUT || peak > mostMb));
  return isBad || more > MOST_TABLE_SECONDS;
}
