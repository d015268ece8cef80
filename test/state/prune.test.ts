/** What is removed from the journal, and what stays, by age. */
import { describe, expect, it } from 'vitest';
import type { SqlValue } from '../../src/ports.ts';
import { openStateFile, type State } from '../../src/state/database.ts';
import { Journal } from '../../src/state/journal.ts';
import { removeOldest } from '../../src/state/remove-oldest.ts';
import { onCleanup } from '../support/cleanup.ts';
import { createTestContext } from '../support/test-context.ts';

interface Row {
  /** When it was sent; null: never. */
  readonly at: number | null;
  readonly state?: string;
  readonly run?: number;
  readonly environment?: string;
  readonly origin?: string;
  readonly reason?: string;
}

interface RunRow extends Pick<Row, 'environment' | 'origin'> {
  readonly id: number;
  readonly endedAt: number | null;
  readonly scans?: number;
}

async function journalOf(changes: readonly Row[], runs: readonly RunRow[] = []): Promise<State> {
  const context = createTestContext();
  const state = await openStateFile(context, `${context.home.path}/state.db`);
  onCleanup(() => state.close());
  const insert = (table: string, row: Readonly<Record<string, SqlValue>>): void => {
    const names = Object.keys(row);
    const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
    state.database.run(sql, ...Object.values(row));
  };
  const service = { environment: 'staging', origin: 'x' };
  await state.exclusively(() => {
    for (const { scans = 0, ...run } of runs) {
      insert('run', { kind: 'import', startedAt: 0, ...service, ...run });
      for (let seq = 1; seq <= scans; seq++) insert('scan', { run: run.id, seq, petId: 7, quantity: '1' });
    }
    for (const { at: sentAt, ...row } of changes) {
      const texts = { command: 'inventory set', person: 'ann', after: '1', state: 'applied' };
      insert('change', { ...texts, ...service, petId: 7, sentAt, ...row });
    }
  });
  return state;
}

/** Adds as many changes, one for each millisecond from `at` on. */
function addMany(state: State, count: number, { at, run, ...row }: Row): void {
  const { environment = 'staging', origin = 'x' } = row;
  state.database.run(
    `WITH RECURSIVE row (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM row WHERE n < ? - 1)
     INSERT INTO change (run, environment, origin, command, person, petId, after, state, sentAt)
     SELECT ?, ?, ?, 'inventory import', 'ann', 7, '1', ?, ? + n FROM row`,
    ...[count, run ?? null, environment, origin, at === null ? 'conflict' : 'applied', at],
  );
}

async function prune(state: State, { before }: { readonly before: number }) {
  const removed: string[] = [];
  let changes = 0;
  for await (const each of removeOldest(state, before)) {
    changes += each.changes;
    removed.push(...each.runs);
  }
  const ids = (table: string): number[] =>
    state.database.all(`SELECT id FROM ${table} ORDER BY id`).map(({ id }) => Number(id));
  return { changes: ids('change'), runs: ids('run'), removed, count: changes };
}

describe('of changes before 100, in order', () => {
  it.each<[name: string, changes: readonly Row[], runs: readonly RunRow[], left: readonly [number[], number[]]]>([
    ['none', [], [], [[], []]],
    ['old ones go', [{ at: 10 }, { at: 99 }, { at: 100 }, { at: 101 }], [], [[3, 4], []]],
    ['none stays but the newest of all', [{ at: 10 }, { at: 20 }, { at: 200 }], [], [[3], []]],
    ['the newest stays', [{ at: 10 }, { at: 20 }], [], [[2], []]],
    ['the newest by time stays, and the highest number', [{ at: 30 }, { at: 10 }, { at: 20 }], [], [[1, 3], []]],
    [
      'the newest of each service stays',
      [{ at: 10 }, { at: 11, environment: 'sandbox' }, { at: 12, origin: 'y' }, { at: 13 }, { at: 200 }],
      [],
      [[2, 3, 5], []],
    ],
    [
      'the newest that may be written stays, whatever has failed since',
      [{ at: 10 }, { at: 20 }, { at: 30, state: 'failed' }, { at: 200, state: 'failed' }],
      [],
      [[2, 4], []],
    ],
    ['one that may be under way stays', [{ at: 10, state: 'sent' }, { at: 20 }, { at: 200 }], [], [[1, 3], []]],
    [
      'a run goes with all that belongs to it',
      [{ at: 10, run: 1 }, { at: null, run: 1, state: 'conflict' }, { at: 50 }, { at: 200, run: 2 }],
      [
        { id: 1, endedAt: 20, scans: 3 },
        { id: 2, endedAt: 201 },
      ],
      [[4], [2]],
    ],
    [
      'an unfinished run stays',
      [{ at: 10, run: 1 }, { at: null, run: 1, state: 'planned' }, { at: 50 }, { at: 200, run: 2 }],
      [
        { id: 1, endedAt: null, scans: 3 },
        { id: 2, endedAt: 201 },
      ],
      [
        [1, 2, 4],
        [1, 2],
      ],
    ],
    [
      'a run that ended later stays, with what it sent before',
      [{ at: 10, run: 1 }, { at: 20 }, { at: 200 }],
      [
        { id: 1, endedAt: 150 },
        { id: 2, endedAt: 10 },
      ],
      [
        [1, 3],
        [1, 2],
      ],
    ],
    [
      'the newest run stays, all of it, though another ended later',
      [
        { at: 10, run: 1 },
        { at: 20, run: 2 },
        { at: 21, run: 2, state: 'unknown' },
        { at: null, run: 3 },
      ],
      [
        { id: 1, endedAt: 30 },
        { id: 2, endedAt: 25 },
        { id: 3, endedAt: 5 },
      ],
      [
        [2, 3, 4],
        [2, 3],
      ],
    ],
    [
      'the highest run of each service stays',
      [{ at: 50 }, { at: 51, environment: 'sandbox' }],
      [
        { id: 1, endedAt: 10 },
        { id: 2, endedAt: 11, environment: 'sandbox' },
        { id: 3, endedAt: 12, environment: 'sandbox' },
      ],
      [
        [1, 2],
        [1, 3],
      ],
    ],
  ])('%s', async (_name, changes, runs, [changesLeft, runsLeft]) => {
    const state = await journalOf(changes, runs);
    const count = changes.length - changesLeft.length;
    const left = { changes: changesLeft, runs: runsLeft, count };
    expect(await prune(state, { before: 100 })).toMatchObject(left);
    expect(await prune(state, { before: 100 })).toMatchObject({ ...left, count: 0, removed: [] });
    expect(state.database.all('PRAGMA foreign_key_check')).toEqual([]);
    const scans = state.database.all('SELECT DISTINCT run FROM scan').map(({ run }) => Number(run));
    expect(scans.every((run) => runsLeft.includes(run))).toBe(true);
  });
});

it('forever removes nothing, however old', async () => {
  const state = await journalOf([{ at: -5 }, { at: 0 }, { at: 10 }]);
  expect(await prune(state, { before: Number.NEGATIVE_INFINITY })).toMatchObject({ changes: [1, 2, 3], count: 0 });
});

describe('more changes in one run than are removed at a time', () => {
  it('go a few at a time, and the run with the last of them', async () => {
    const runs = [
      { id: 1, endedAt: 60_500, scans: 3 },
      { id: 2, endedAt: 300_000 },
    ];
    const state = await journalOf([], runs);
    addMany(state, 60_000, { at: 2, run: 1 });
    addMany(state, 2, { at: 70_000 });
    addMany(state, 1, { at: 200_000 });
    const steps: number[] = [];
    for await (const { changes } of removeOldest(state, 100_000)) steps.push(changes);
    expect([Math.max(...steps), new Journal(state).runs().length]).toEqual([1_000, 2]);
    expect(await prune(state, { before: 100_000 })).toMatchObject({ removed: ['import-1'], changes: [60_003] });
    expect(await prune(state, { before: 100_000 })).toMatchObject({ count: 0 });
  });

  it('count whether they were sent or not', async () => {
    const runs = Array.from({ length: 8 }, (_, i) => ({ id: i + 1, endedAt: 100 + i }));
    const state = await journalOf([{ at: 200_000 }], runs);
    for (const { id } of runs) addMany(state, 10_000, { at: null, run: id });
    expect(await prune(state, { before: 1_000 })).toMatchObject({ count: 50_000, runs: [5, 6, 7, 8] });
    expect(await prune(state, { before: 1_000 })).toMatchObject({ count: 20_000, runs: [8] });
  });
});

it('a run whose number is given to another meanwhile is left alone', async () => {
  const runs = [1, 2, 3].map((id) => ({ id, endedAt: 6_000 + id, environment: 'sandbox' }));
  const state = await journalOf([], runs);
  addMany(state, 500, { at: 2, run: 1, environment: 'sandbox' });
  addMany(state, 6_000, { at: 6_000, run: 2, environment: 'sandbox' });
  addMany(state, 1, { at: 10_000 });
  const removed: string[][] = [];
  for await (const step of removeOldest(state, 9_000)) {
    removed.push([...step.runs]);
    if (removed.length > 1) continue;
    // As `sandbox reset` does, and then an import.
    const journal = new Journal(state);
    await journal.forget('sandbox');
    const service = { environment: 'sandbox', origin: 'x' };
    const where = { ...service, command: 'inventory import', person: 'ann' };
    for (const petId of [7n, 8n]) {
      await journal.begin({ kind: 'import', startedAt: 10_000, ...service }, where, [{ petId, after: 1n }]);
    }
  }
  expect(removed).toEqual([['import-1']]);
  expect(new Journal(state).runs().map(({ id }) => id)).toEqual([2n, 1n]);
});

it('gives no number of a run or a change again', async () => {
  const state = await journalOf(
    [{ at: 10, run: 1 }, { at: 20, run: 2 }, { at: 30 }, { at: null, run: 3, state: 'conflict' }],
    [1, 2, 3].map((id) => ({ id, endedAt: id })),
  );
  expect(await prune(state, { before: 1_000 })).toMatchObject({ runs: [3], changes: [3, 4] });
  const where = { environment: 'staging', origin: 'x', command: 'inventory import', person: 'ann' };
  const journal = new Journal(state);
  const run = { kind: 'import', startedAt: 2_000, environment: 'staging', origin: 'x' } as const;
  expect(await journal.begin(run, where, [{ petId: 7n, after: 1n }])).toMatchObject({ id: 4n });
  expect(journal.changesOf(4n)).toMatchObject([{ id: 5n }]);
});

it('ends at once where another process holds the lock', async () => {
  const state = await journalOf([{ at: 10 }, { at: 20 }]);
  const context = createTestContext();
  const other = await context.openDatabase(state.path);
  onCleanup(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  await expect(prune(state, { before: 100 })).rejects.toMatchObject({ details: { problem: 'held' } });
  other.exec('COMMIT');
  expect(await prune(state, { before: 100 })).toMatchObject({ changes: [2] });
});
