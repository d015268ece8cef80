/**
 * Measures a history of a million changes in every format, alternating with Node's bare loop over the same rows and a
 * list of as many pets; and the time of an import of 100,000 rows before its first request, compared with a list of as
 * many pets. Prints Markdown on stdout. Linux only: reads memory from /proc.
 *
 *   npm run bench -- journal [--rounds 3] [--assert]
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { withCleanup } from '../support/cleanup.ts';
import { JSON_TYPE, listen, plentyLeft } from '../support/served.ts';
import { alternate, markdownTable, median, readOptions, type Run, runMeasured, spread } from './report.ts';
import { type Bench, PETSTORE, withService } from './service.ts';

/** What --assert asks for: times the peer of the same number of rows. */
const MOST = { history: 3.5, table: 6, runs: 0.5, plan: 6, firstWrite: 15 };
const MOST_MB = 300;
const CHANGES = 1_000_000;
const ROWS = 100_000;

interface Contender {
  readonly name: string;
  readonly args: readonly string[];
  readonly rows: number;
  /** The name of its peer, and the most times that it may take. */
  readonly peer?: readonly [name: string, most: number];
  readonly mostMb?: number;
  /** Measures up to the first write, which is not answered. */
  readonly isCutShort?: boolean;
}

const values = readOptions({ rounds: '3' });

const LOOP = 'Node: a bare loop over the changes';
const LIST = '`inventory list -o ndjson`';

process.exitCode = await withService(async (bench) => {
  const database = join(bench.home, '.local/state/petstore/state.db');
  const file = join(bench.home, 'stock.csv');
  fill(bench, database);
  writeFileSync(file, `petId,quantity\n${Array.from({ length: ROWS }, (_, i) => `${i + 1},${i % 89}`).join('\n')}\n`);
  const contenders = contendersFor(database, file);
  const runs = await alternate(contenders, values.rounds, (each) => measure(each, bench));
  return report(runs) && values.assert ? 1 : 0;
});

/** A million changes of ten runs, in a database that petstore has made. */
function fill({ env }: Bench, path: string): void {
  const made = spawnSync(process.execPath, [PETSTORE, '--env', 'staging', 'inventory', 'set', '7', '12', '--quiet'], {
    env,
  });
  if (made.status !== 0) throw new Error(made.stderr.toString());
  using database = new DatabaseSync(path);
  database.exec(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
    INSERT INTO run (id, kind, startedAt, endedAt, environment, origin, source)
      SELECT i, 'import', 1790000000000, 1790000000000, 'staging', 'http://127.0.0.1', '/home/clerk/stock.csv' FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${CHANGES})
    INSERT INTO change (run, line, environment, origin, command, person, petId, before, after, state, sentAt)
      SELECT 1 + i * 10 / ${CHANGES + 1}, i % 100000 + 2, 'staging', 'http://127.0.0.1',
        'inventory import /home/clerk/stock.csv', 'clerk', i % 100000 + 1, i % 97, i % 89, 'applied',
        1790000000000 + i * 10 FROM n;
    PRAGMA wal_checkpoint(TRUNCATE)`);
}

function contendersFor(path: string, file: string): Contender[] {
  const loop = `const { DatabaseSync } = require('node:sqlite'); const all = new DatabaseSync('${path}').prepare(
    'SELECT * FROM change WHERE sentAt IS NOT NULL ORDER BY sentAt DESC, id DESC LIMIT ${CHANGES}');
    all.setReadBigInts(true); let count = 0; for (const row of all.iterate()) count++;`;
  const mine = (words: string, rows: number, more: Partial<Contender> = {}): Contender => ({
    name: `\`inventory ${words.replace(file, 'FILE')}\``,
    args: [PETSTORE, '--env', 'staging', 'inventory', ...words.split(' ')],
    rows,
    ...more,
  });
  const history = (format: string, more: Partial<Contender> = {}): Contender =>
    mine(`history --limit ${CHANGES} -o ${format}`, CHANGES, {
      peer: [LOOP, MOST.history],
      mostMb: MOST_MB,
      ...more,
    });
  return [
    { name: LOOP, args: ['-e', loop], rows: CHANGES },
    mine('list -o ndjson', CHANGES),
    history('ndjson'),
    history('csv'),
    history('json'),
    history('table', { peer: [LOOP, MOST.table] }),
    mine('history', CHANGES),
    mine('runs', CHANGES, { peer: [LOOP, MOST.runs] }),
    mine('list -o ndjson', ROWS),
    mine(`import ${file} --dry-run -o ndjson`, ROWS, { peer: [LIST, MOST.plan] }),
    mine(`import ${file} --wait --yes --quiet`, ROWS, { peer: [LIST, MOST.firstWrite], isCutShort: true }),
  ];
}

function measure({ args, rows, isCutShort = false }: Contender, { baseUrlOf, env, home }: Bench): Promise<Run> {
  const command = [process.execPath, ...args] as const;
  if (!isCutShort) return runMeasured(command, { ...env, PETSTORE_BASE_URL: baseUrlOf(rows) });
  return withCleanup(async () => {
    const { baseUrl, firstWrite } = await cutShort(baseUrlOf(rows));
    const own = { XDG_STATE_HOME: join(home, `state-${Date.now()}`), PETSTORE_BASE_URL: baseUrl };
    return runMeasured(command, { ...env, ...own }, firstWrite);
  });
}

/** A service that passes reads on to another and answers no write. */
async function cutShort(
  upstream: string,
): Promise<{ readonly baseUrl: string; readonly firstWrite: Promise<unknown> }> {
  const firstWrite = Promise.withResolvers<undefined>();
  const body = Buffer.from(await (await fetch(`${upstream}/inventory`)).arrayBuffer());
  const port = await listen(({ method }, response) => {
    if (method === 'GET') response.writeHead(200, { ...JSON_TYPE, ...plentyLeft() }).end(body);
    else firstWrite.resolve(undefined);
  });
  return { baseUrl: `http://127.0.0.1:${port}/v1`, firstWrite: firstWrite.promise };
}

/** Prints the table; true where a figure is not what it should be. */
function report(runs: ReadonlyMap<Contender, readonly Run[]>): boolean {
  const of = (each: Contender, what: keyof Run): number[] => runs.get(each)!.map((run) => run[what]);
  let isBad = false;
  const rows = [...runs.keys()].map((each) => {
    const { isCutShort, mostMb = Number.POSITIVE_INFINITY, name, peer, rows: count } = each;
    const other = [...runs.keys()].find((one) => one.name === peer?.[0] && one.rows === count);
    const ratio = other === undefined ? 0 : median(of(each, 'seconds')) / median(of(other, 'seconds'));
    const peak = median(of(each, 'peakMb'));
    isBad ||= ratio > (peer?.[1] ?? 0) || peak > mostMb;
    return [
      isCutShort === true ? `${name}, up to its first write` : name,
      count.toLocaleString('en'),
      peer === undefined ? '' : `${ratio.toFixed(1)} (at most ${peer[1]})`,
      median(of(each, 'seconds')).toFixed(2),
      spread(of(each, 'seconds'), 2),
      `${peak.toFixed(0)}${Number.isFinite(mostMb) ? ` (at most ${mostMb})` : ''}`,
    ];
  });
  const head = ['command', 'rows', "times its peer's time", 'median, s', 'fastest – slowest, s', 'peak memory, MB'];
  console.log(markdownTable(head, rows));
  console.log('\nThe peer of the history and the runs is the bare loop; that of an import is the list.');
  return isBad;
}
