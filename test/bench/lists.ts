/**
 * Measures long lists: a million pets from a service on this machine, in every format, filtered, with columns and
 * sorted, alternating with `curl | jq` and JSON.parse of the whole list. Measures total time and peak memory. Prints
 * Markdown on stdout. Linux only: reads memory from /proc.
 *
 *   npm run bench -- lists [--rounds 5] [--assert]
 */
import {
  alternate,
  isThere,
  markdownTable,
  median,
  readOptions,
  type Run,
  runMeasured,
  spread,
  STANDALONE,
} from './report.ts';
import { PETSTORE, withService } from './service.ts';

/** What --assert asks for: how many times jq's throughput, and how much memory at most. */
type Bound = 'streamed' | 'made anew' | 'sorted' | 'table' | 'one pet';
const LEAST_THROUGHPUT: Readonly<Record<Bound, number>> = {
  streamed: 5,
  // CSV, and JSON of some columns.
  'made anew': 3.5,
  sorted: 2,
  table: 1.5,
  'one pet': 5,
};
/** Streamed: more than for an empty list. Sorted: times the body. */
const MOST_MEMORY = { times: 1.3, plusMb: 60, timesBody: 2.6 };
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

interface Contender {
  readonly name: string;
  readonly rows: number;
  readonly command: readonly [string, ...string[]];
  /** Its throughput is held against jq's, and its memory against an empty list's or the body's. */
  readonly bound?: Bound;
}

const values = readOptions({ rounds: '5' });

process.exitCode = await withService(async ({ baseUrlOf, env }) => {
  const contenders = listContenders(baseUrlOf).filter(({ command: [program] }) =>
    (program === 'sh' ? ['curl', 'jq'] : [program]).every(isThere),
  );
  const runs = await alternate(contenders, values.rounds, ({ command, rows }) =>
    runMeasured(command, { ...env, PETSTORE_BASE_URL: baseUrlOf(rows) }),
  );
  const { headers } = await fetch(`${baseUrlOf(MILLION)}/inventory`, { method: 'HEAD' });
  return report(runs, Number(headers.get('content-length')) / 2 ** 20) && values.assert ? 1 : 0;
});

function listContenders(baseUrlOf: (rows: number) => string): Contender[] {
  const node = process.execPath;
  const inventory = ['--env', 'staging', 'inventory'];
  const mine = (words: string, bound?: Bound, rows = MILLION): Contender => ({
    name: `\`petstore inventory ${words}\``,
    rows,
    command: [node, PETSTORE, ...inventory, ...words.split(' ')],
    ...(bound !== undefined && { bound }),
  });
  const url = `${baseUrlOf(MILLION)}/inventory`;
  const whole = `const { get } = require('node:http'); get('${url}', async (answer) => {
    let text = ''; for await (const piece of answer.setEncoding('utf8')) text += piece;
    for (const item of JSON.parse(text)) process.stdout.write(JSON.stringify(item) + '\\n'); });`;
  return [
    { name: "`curl | jq -c '.[]'`", rows: MILLION, command: ['sh', '-c', `curl -s ${url} | jq -c '.[]'`] },
    { name: 'Node: JSON.parse of the whole', rows: MILLION, command: [node, '-e', whole] },
    ...[
      '-o ndjson',
      '-o csv',
      '-o json',
      '-o ndjson --status sold',
      '-o ndjson --min 10 --max 90',
      '-o ndjson --pet 7,500000',
      '-o ndjson --columns petId,quantity',
      '-o csv --columns petId,quantity --no-header',
      '-o json --columns status --status sold,pending',
      '-o csv --columns quantity,petId --status sold --min 10',
    ].map((options) => mine(`list ${options}`, /csv|--columns/.test(options) ? 'made anew' : 'streamed')),
    ...[
      '-o ndjson --sort quantity',
      '-o csv --sort -petId --columns petId,status',
      '-o json --sort status --max 50',
      '-o ndjson --sort -quantity --limit 10',
    ].map((options) => mine(`list ${options}`, 'sorted')),
    mine('summary', 'streamed'),
    mine('list -o table', 'table'),
    mine('get 10', 'one pet'),
    mine('adjust 10 1 --dry-run', 'one pet'),
    {
      name: 'standalone: `petstore inventory list -o ndjson`',
      rows: MILLION,
      command: [STANDALONE, ...inventory, 'list', '-o', 'ndjson'],
      bound: 'streamed',
    },
    mine('list -o ndjson', undefined, 0),
  ];
}

/** Prints the table; true where a figure is not what it should be. */
function report(runs: ReadonlyMap<Contender, readonly Run[]>, bodyMb: number): boolean {
  const of = (contender: Contender | undefined, what: keyof Run): number[] =>
    contender === undefined ? [] : runs.get(contender)!.map((run) => run[what]);
  const all = [...runs.keys()];
  const jq = all.find(({ name }) => name.includes('jq'));
  const streamedMb = MOST_MEMORY.times * median(of(all.at(-1), 'peakMb')) + MOST_MEMORY.plusMb;
  const sortedMb = MOST_MEMORY.timesBody * bodyMb;
  let isBad = false;
  const atMost = (bound: Bound | undefined): number =>
    bound === undefined ? Number.POSITIVE_INFINITY : bound === 'sorted' ? sortedMb : streamedMb;
  const rows = all.map((contender) => {
    const { bound, command, name, rows: count } = contender;
    const seconds = of(contender, 'seconds');
    const peak = median(of(contender, 'peakMb'));
    const times = median(of(jq, 'seconds')) / median(seconds);
    const least = bound === undefined ? 0 : LEAST_THROUGHPUT[bound];
    if (times < least || peak > atMost(bound)) isBad = true;
    return [
      name,
      count.toLocaleString('en'),
      count === MILLION ? `${times.toFixed(1)}${bound === undefined ? '' : ` (at least ${least})`}` : '',
      median(seconds).toFixed(2),
      spread(seconds, 2),
      median(of(contender, 'firstSeconds')).toFixed(2),
      // A pipe has several processes, so it gets no single figure.
      command[0] === 'sh'
        ? ''
        : `${peak.toFixed(0)}${bound === undefined ? '' : ` (at most ${atMost(bound).toFixed(0)})`}`,
    ];
  });
  console.log(markdownTable(HEAD, rows));
  return isBad;
}
