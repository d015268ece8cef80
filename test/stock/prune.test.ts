/** Old history and reports are removed after a write, once a day, and never delay it. */
import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { stateKeptOpen, written } from '../../src/stock/open-journal.ts';
import { pruneIfDue } from '../../src/stock/prune.ts';
import { DatabaseFailure, type SqlValue } from '../../src/ports.ts';
import { openStateFile } from '../../src/state/database.ts';
import { commandContext } from '../support/command-context.ts';
import { onCleanup } from '../support/cleanup.ts';
import { createHome, type Home } from '../support/home.ts';
import { runIn } from '../support/in-process.ts';
import { createTestContext, type TestContext } from '../support/test-context.ts';
import { START, VirtualClock } from '../support/virtual-clock.ts';

const DAY = 86_400_000;
const CSV = (...rows: readonly string[]): string => ['petId,quantity', ...rows].join('\n');

interface Row {
  /** When it was sent; null: never. */
  readonly at: number | null;
  /** Place in the order of writes; default: by time. */
  readonly turn?: number;
  readonly state?: string;
  readonly run?: number;
  readonly environment?: string;
  readonly origin?: string;
}

interface RunRow extends Pick<Row, 'environment' | 'origin'> {
  readonly id: number;
  readonly endedAt: number | null;
  readonly scans?: number;
}

/** Returns a journal, and what prunes it of all that was before 100 ms, a day after the last time. */
async function journalOf(changes: readonly Row[], runs: readonly RunRow[] = []) {
  const ports = createTestContext();
  const context = commandContext(ports);
  const state = await openStateFile(context, `${ports.home.path}/state.db`);
  onCleanup(() => state[Symbol.dispose]());
  const insert = (table: string, row: Readonly<Record<string, SqlValue>>): void => {
    const names = Object.keys(row);
    const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
    state.database.run(sql, ...Object.values(row));
  };
  const service = { environment: 'staging', origin: 'x' };
  for (const { scans = 0, ...run } of runs) {
    insert('run', { kind: 'import', startedAt: 0, ...service, ...run });
    for (let seq = 1; seq <= scans; seq++) insert('scan', { run: run.id, seq, petId: 7, quantity: '1', stock: '2' });
  }
  for (const { at: sentAt, ...row } of changes) {
    const texts = { command: 'inventory set', person: 'ann', after: '1', state: 'applied' };
    insert('change', { ...texts, ...service, petId: 7, sentAt, turn: sentAt, ...row });
  }
  const idsOf = (table: string): number[] =>
    state.database.all(`SELECT id FROM ${table} ORDER BY id`).map(({ id }) => Number(id));
  const prune = async () => {
    state.database.run("INSERT OR REPLACE INTO meta VALUES ('prune-at', ?)", `${context.clock.now()}`);
    const globals = { ...context.globals, keepHistory: context.clock.now() - 100 };
    await pruneIfDue({ ...context, globals }, state);
    return [idsOf('change'), idsOf('run')];
  };
  return { database: state.database, prune };
}

/** A run that ended then; null: never. */
const ended = (id: number, endedAt: number | null, more: Partial<RunRow> = {}): RunRow => ({ id, endedAt, ...more });

describe('of changes before 100, in order', () => {
  it.each<[name: string, changes: readonly Row[], runs: readonly RunRow[], left: number[], runsLeft: number[]]>([
    ['none', [], [], [], []],
    ['old ones go', [{ at: 10 }, { at: 99 }, { at: 100 }, { at: 101 }], [], [3, 4], []],
    ['none stays but the newest of all', [{ at: 10 }, { at: 20 }, { at: 200 }], [], [3], []],
    ['the newest stays', [{ at: 10 }, { at: 20 }], [], [2], []],
    ['the newest by time stays, and the highest number', [{ at: 30 }, { at: 10 }, { at: 20 }], [], [1, 3], []],
    [
      'the newest stays, also if one before it ran with a clock that was ahead',
      [{ at: 200, turn: 1 }, { at: 10 }, { at: 20, environment: 'sandbox' }, { at: 201, environment: 'sandbox' }],
      [],
      [1, 2, 4],
      [],
    ],
    [
      'the newest of each service stays',
      [{ at: 10 }, { at: 11, environment: 'sandbox' }, { at: 12, origin: 'y' }, { at: 13 }, { at: 200 }],
      [],
      [2, 3, 5],
      [],
    ],
    [
      'the newest that may be written stays, whatever has failed since',
      [{ at: 10 }, { at: 20 }, { at: 30, state: 'failed' }, { at: 200, state: 'failed' }],
      [],
      [2, 4],
      [],
    ],
    ['one that may be under way stays', [{ at: 10, state: 'sent' }, { at: 20 }, { at: 200 }], [], [1, 3], []],
    [
      'a run goes with all that belongs to it',
      [{ at: 10, run: 1 }, { at: null, run: 1, state: 'conflict' }, { at: 50 }, { at: 200, run: 2 }],
      [ended(1, 20, { scans: 3 }), ended(2, 201)],
      [4],
      [2],
    ],
    [
      'an unfinished run stays',
      [{ at: 10, run: 1 }, { at: null, run: 1, state: 'planned' }, { at: 50 }, { at: 200, run: 2 }],
      [ended(1, null, { scans: 3 }), ended(2, 201)],
      [1, 2, 4],
      [1, 2],
    ],
    [
      'a run that was killed after its last row goes, but not one that sent it later',
      [{ at: 10, run: 1 }, { at: 150, run: 2 }, { at: 200 }],
      [ended(1, null), ended(2, null), ended(3, null)],
      [2, 3],
      [2, 3],
    ],
    [
      'a run that ended later stays, with what it sent before',
      [{ at: 10, run: 1 }, { at: 20 }, { at: 200 }],
      [ended(1, 150), ended(2, 10)],
      [1, 3],
      [1, 2],
    ],
    [
      'the newest run stays, all of it, though another ended later',
      [
        { at: 10, run: 1 },
        { at: 20, run: 2 },
        { at: 21, run: 2, state: 'unknown' },
        { at: null, run: 3 },
      ],
      [ended(1, 30), ended(2, 25), ended(3, 5)],
      [2, 3, 4],
      [2, 3],
    ],
    [
      'the highest run of each service stays',
      [{ at: 50 }, { at: 51, environment: 'sandbox' }],
      [ended(1, 10), ended(2, 11, { environment: 'sandbox' }), ended(3, 12, { environment: 'sandbox' })],
      [1, 2],
      [1, 3],
    ],
  ])('%s', async (_name, changes, runs, left, runsLeft) => {
    const { database, prune } = await journalOf(changes, runs);
    for (const _twice of [1, 2]) expect(await prune()).toEqual([left, runsLeft]);
    expect(database.all('PRAGMA foreign_key_check')).toEqual([]);
    const scans = database.all('SELECT DISTINCT run FROM scan').map(({ run }) => Number(run));
    expect(scans.every((run) => runsLeft.includes(run))).toBe(true);
  });

  it('as many as fit go in a day: a run with the last of its rows, sent or not', async () => {
    const { database, prune } = await journalOf(
      [{ at: 200 }],
      [1, 2, 3].map((id) => ended(id, id)),
    );
    for (const run of [1, 2]) {
      database.run(
        `WITH RECURSIVE row (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM row WHERE n < 30000)
         INSERT INTO change (run, environment, origin, command, person, petId, after, state)
         SELECT ?, 'staging', 'x', 'inventory import', 'ann', 7, '1', 'conflict' FROM row`,
        run,
      );
    }
    const [changes, runs] = await prune();
    expect([changes?.length, runs]).toEqual([10_001, [1, 2, 3]]);
    expect(await prune()).toEqual([[1], [3]]);
  });
});

/** As if something had been written on every day before. */
function useDaily(home: Home, now: number): void {
  const path = join(home.state, 'petstore', 'state.db');
  if (!existsSync(path)) return;
  using database = new DatabaseSync(path);
  database.exec(`UPDATE meta SET value = '${now - DAY}' WHERE name = 'prune-at' AND value < ${now - DAY}`);
}

/** One shop: each command in a context of its own, on the given day. */
function shop() {
  const home = createHome();
  const reports = join(home.state, 'petstore', 'reports');
  const contextAt = (day: number, text?: string, env = {}): TestContext => {
    useDaily(home, START + day * DAY);
    const clock = new VirtualClock({ now: START + day * DAY, autoAdvance: true });
    return createTestContext({ home, clock, env, ...(text !== undefined && { stdin: { text } }) });
  };
  return {
    home,
    reports,
    contextAt,
    run: (day: number, ...args: string[]) => runIn(contextAt(day), '--env', 'sandbox', 'inventory', ...args),
    import: (day: number, ...rows: readonly string[]) =>
      runIn(contextAt(day, CSV(...rows)), '--env', 'sandbox', 'inventory', 'import', '-', '--yes'),
    /** With the ages that files get from the clock of the machine. */
    dateReports(day: number) {
      const at = (START + day * DAY) / 1_000;
      for (const name of readdirSync(reports)) utimesSync(join(reports, name), at, at);
    },
    history: async (day: number) => {
      const { stdout } = await runIn(contextAt(day), 'inventory', 'history', '--all-environments', '-o', 'csv');
      return stdout
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => Number(line.split(',')[0]));
    },
  };
}

it('what is older than keep-history goes with the first write of a day', async () => {
  const { run, history, reports, dateReports, ...at } = shop();
  await at.import(0, '7,11', '8,12');
  dateReports(0);
  await at.import(1, '7,13', '8,14');
  await run(1, 'set', '7', '20');
  await run(1.55, 'set', '7', '21');
  expect(await history(700)).toEqual([6, 5, 4, 3, 2, 1]);
  await run(731.5, 'set', '7', '40');
  // The newest run stays with its number.
  expect(await history(731.5)).toEqual([7, 6, 4, 3]);
  expect(readdirSync(reports)).toEqual(['import-2.csv']);
  // The next one is not due before the next day.
  await run(731.6, 'set', '7', '50');
  expect(await history(731.6)).toEqual([8, 7, 6, 4, 3]);
});

it('the settings decide, and nothing is printed', async () => {
  const { contextAt, history } = shop();
  const set = (day: number, env = {}) =>
    runIn(contextAt(day, undefined, env), '--env', 'sandbox', 'inventory', 'set', '7', '20');
  for (const day of [0, 10]) await set(day);
  await set(1_000, { PETSTORE_KEEP_HISTORY: 'forever' });
  expect(await history(1_000)).toEqual([3, 2, 1]);
  const { code, stderr } = await set(1_002, { PETSTORE_KEEP_HISTORY: '993d' });
  expect([code, stderr]).toEqual([0, '']);
  expect(await history(1_002)).toEqual([4, 3, 2]);
});

it('fault 153: a clock that is set years ahead for one write removes nothing', async () => {
  const { home, run, history } = shop();
  for (const day of [0, 1, 2]) await run(day, 'set', '7', `2${day}`);
  const clock = new VirtualClock({ now: START + 1_100 * DAY, autoAdvance: true });
  const ahead = createTestContext({ home, clock });
  expect((await runIn(ahead, '--env', 'sandbox', 'inventory', 'adjust', '7', '1')).code).toBe(0);
  await run(4, 'set', '7', '30');
  expect(await history(4)).toHaveLength(5);
});

it('a run that is gone does not exist, and its number is not given again', async () => {
  const { run, ...at } = shop();
  await at.import(0, '7,11', '8,12');
  await run(1, 'set', '7', '20');
  await at.import(800, '7,21', '8,22');
  expect((await run(800, 'undo', '--run', '1', '--yes')).stderr).toContain('Run 1 does not exist');
  expect(await run(800, 'history', '--run', '1')).toMatchObject({ code: 0, stdout: '' });
  expect((await run(800, 'runs', '-o', 'csv')).stdout).toMatch(/^run,.*\n2,import,[^\n]*\n$/);
  expect((await at.import(801, '7,31')).stdout).toContain('Run 3 (import)');
});

describe('reports', () => {
  it('without a run go by their age; other files and links stay', async () => {
    const { run, reports, dateReports } = shop();
    await run(0, 'set', '7', '20');
    mkdirSync(reports);
    const names = [
      'import-12345678901234567890.csv',
      'undo-9.csv',
      'may-import-1.csv',
      // Left by a run that was killed while it wrote its report.
      'import-7.csv.12.tmp',
      'import-7.csv.tmp',
      'notes.csv',
      'import-07.csv',
    ];
    for (const name of names) writeFileSync(join(reports, name), 'x');
    mkdirSync(join(reports, 'edit-3.csv'));
    symlinkSync(join(reports, 'notes.csv'), join(reports, 'count-4.csv'));
    dateReports(0);
    writeFileSync(join(reports, 'count-5.csv'), 'x');
    utimesSync(join(reports, 'count-5.csv'), (START + 800 * DAY) / 1_000, (START + 800 * DAY) / 1_000);
    await run(801, 'set', '7', '30');
    expect(readdirSync(reports).sort()).toEqual([
      'count-4.csv',
      'count-5.csv',
      'edit-3.csv',
      'import-07.csv',
      'import-7.csv.tmp',
      'may-import-1.csv',
      'notes.csv',
    ]);
  });
});

describe('a write succeeds, and is recorded, where pruning', () => {
  it('fails', async () => {
    const { run, contextAt, history } = shop();
    await run(0, 'set', '7', '20');
    await run(1, 'set', '7', '21');
    const context = contextAt(900);
    let opened = 0;
    const openDatabase: TestContext['openDatabase'] = async (path, how) => {
      const database = await context.openDatabase(path, how);
      // After those of the ledger, the catalog (two) and the journal comes that of pruning.
      if (!path.endsWith('/state.db') || ++opened < 5) return database;
      return {
        ...database,
        run: () => {
          throw new DatabaseFailure('held', 'locked');
        },
        exec: (sql: string) => {
          if (!sql.startsWith('PRAGMA')) throw new DatabaseFailure('held', 'locked');
        },
      };
    };
    const ran = await runIn({ ...context, openDatabase }, '--env', 'sandbox', 'inventory', 'set', '7', '22', '--debug');
    expect([ran.code, opened]).toEqual([0, 5]);
    expect(ran.stderr).toMatch(/^debug: history not pruned: /m);
    expect(context.clock.now() - START - 900 * DAY).toBeLessThan(1_100);
    expect(await history(900)).toEqual([3, 2, 1]);
  });

  it('is done by another process at the same time', async () => {
    const { run, history } = shop();
    for (const day of [0, 1, 2]) await run(day, 'set', '7', `2${day}`);
    const both = await Promise.all([run(900, 'set', '8', '5'), run(900, 'set', '9', '6')]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(await history(900)).toHaveLength(2);
  });
});

it('a proxy, which keeps the journal open, prunes too', async () => {
  const { run, contextAt, history } = shop();
  for (const day of [0, 1, 2]) await run(day, 'set', '7', `2${day}`);
  const context = commandContext(contextAt(900));
  const keeping = { ...context, globals: { ...context.globals, keepHistory: 730 * DAY } };
  const keptState = stateKeptOpen(keeping);
  const where = { environment: 'sandbox', origin: 'x', command: 'proxy', person: 'ann' };
  const send = async () =>
    written(keeping, await keptState(), (journal) =>
      journal.send({ where, petId: 7n, after: 1n }, context.clock.now()),
    );
  expect(await Promise.all([send(), send()])).toEqual([4n, 5n]);
  // The newest of the sandbox, and those under way.
  expect(await history(900)).toEqual([5, 4, 3]);
});
