/** The history of a journal, read in pages: every row once, newest first, for any texts and filters. */
import { expect, it } from 'vitest';
import { openStateFile } from '../../src/state/database.ts';
import { Journal } from '../../src/state/journal.ts';
import { onCleanup } from '../support/cleanup.ts';
import { createTestContext } from '../support/test-context.ts';
import { mulberry32 } from '../support/test-ports.ts';

const COLUMNS = 'run, line, environment, origin, command, person, petId, before, after, state, reason, sentAt';
const PEOPLE = ['ann', 'Jürgen', '店員', 'a "b"', 'back\\slash', '=cmd()', 'new\nline', '\u202ehidden', '😀', ''];
const STATES = ['planned', 'sent', 'applied', 'failed', 'unknown', 'discarded'];
const QUANTITIES = ['0', '-3', '12', '007', '-0', '9'.repeat(60)];

async function journalOf(rows: number) {
  const context = createTestContext();
  const state = await openStateFile(context, `${context.home.path}/state.db`);
  onCleanup(() => state[Symbol.dispose]());
  const random = mulberry32(7);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const { database } = state;
  database.run("INSERT INTO run (id, kind, startedAt, environment, origin) VALUES (1, 'import', 1, 'staging', 'x')");
  for (let i = 1; i <= rows; i++) {
    database.run(
      `INSERT INTO change (${COLUMNS}) VALUES (${COLUMNS.replace(/\w+/g, '?')})`,
      pick([null, 1n]),
      pick([null, 2n]),
      pick(['staging', 'production']),
      'https://a.example',
      pick(['inventory set', 'inventory import /home/a b/stock,1.csv']),
      // The first pages have usual texts only.
      i > rows / 2 ? 'ann' : pick(PEOPLE),
      pick([7n, -7n, 2n ** 63n - 1n]),
      pick([null, ...QUANTITIES]),
      pick(QUANTITIES),
      pick(STATES),
      pick([null, 'there are 3 "now"']),
      // Several in the same millisecond, some never sent, one before 1970.
      i === 1 ? -5n : pick([null, 1_790_000_000_000n + BigInt(Math.floor(random() * rows)) * 400n]),
    );
  }
  return { state, journal: new Journal(state) };
}

it('has each row that was sent, exactly', async () => {
  const { journal, state } = await journalOf(3_000);
  const all = state.database.all('SELECT * FROM change WHERE sentAt IS NOT NULL ORDER BY sentAt DESC, id DESC');
  const found = [...journal.history({ limit: 1_000_000 })].flat();
  const fields = ['id', 'run', 'environment', 'origin', 'command', 'person', 'petId', 'state', 'reason'] as const;
  for (const field of fields) {
    expect(found.map((change) => change[field])).toEqual(all.map((row) => row[field] ?? undefined));
  }
  expect(found.map(({ sentAt }) => sentAt)).toEqual(all.map(({ sentAt }) => Number(sentAt)));
  expect(found.map(({ after }) => after)).toEqual(all.map(({ after }) => BigInt(String(after))));
  expect([...journal.history({ limit: 1_234 })].flat()).toEqual(found.slice(0, 1_234));
});

it('filters alike on every page', async () => {
  const { journal, state } = await journalOf(3_000);
  const count = (where: string): number =>
    Number(state.database.get(`SELECT count(*) AS n FROM change WHERE sentAt IS NOT NULL AND ${where}`)?.n);
  const middle = 1_790_000_000_000 + 1_500 * 400;
  const filters = [
    [{ run: 1n }, 'run = 1'],
    [{ pet: [7n, -7n] }, 'petId IN (7, -7)'],
    [{ environment: 'production' }, "environment = 'production'"],
    [{ since: middle }, `sentAt >= ${middle}`],
    [{ until: middle, pet: [7n], run: 1n }, `sentAt < ${middle} AND petId = 7 AND run = 1`],
  ] as const;
  for (const [filter, where] of filters) {
    const changes = [...journal.history({ ...filter, limit: 1_000_000 })].flat();
    const ids = new Set(changes.map(({ id }) => id));
    expect([where, changes.length, ids.size]).toEqual([where, count(where), count(where)]);
  }
});

it('shows a row once, and no row twice, while others are written', async () => {
  const { journal, state } = await journalOf(3_000);
  const before = [...journal.history({ limit: 1_000_000 })].flat();
  const seen: unknown[] = [];
  for (const page of journal.history({ limit: 1_000_000 })) {
    seen.push(...page);
    // Newer than all of them.
    state.database.run(
      `INSERT INTO change (${COLUMNS}) SELECT ${COLUMNS.replace('sentAt', '1900000000000')} FROM change LIMIT 600`,
    );
  }
  expect(seen).toEqual(before);
  // No statement is left open: the log can be copied back and emptied.
  expect(state.database.get('PRAGMA wal_checkpoint(TRUNCATE)')).toMatchObject({ busy: 0n });
});

it('reads pages by index: never sorted, and the newest change at once', async () => {
  const { state } = await journalOf(10);
  const plan = state.database
    .all(
      `EXPLAIN QUERY PLAN SELECT * FROM change WHERE sentAt IS NOT NULL AND environment = ?
      AND (sentAt, id) < (?, ?) ORDER BY sentAt DESC, id DESC LIMIT ?`,
      'staging',
      1n,
      1n,
      1n,
    )
    .map(({ detail }) => String(detail));
  expect(plan).toEqual(['SEARCH change USING INDEX changesSent (sentAt>? AND sentAt<?)']);
});

it('knows which columns differ', async () => {
  const { journal, state } = await journalOf(0);
  const add = (run: bigint | null, person: string, petId: bigint, outcome: string, sentAt: bigint | null): void => {
    state.database.run(
      `INSERT INTO change (run, environment, origin, command, person, petId, after, state, sentAt)
       VALUES (?, 'staging', 'https://a.example', 'inventory set', ?, ?, '1', ?, ?)`,
      run,
      person,
      petId,
      outcome,
      sentAt,
    );
  };
  const all = ['who', 'environment', 'run', 'outcome'];
  const uniform = (limit: number) => journal.uniform({ limit }).filter((name) => all.includes(name));
  add(null, 'ann', -(2n ** 63n), 'failed', 1n);
  expect(uniform(9)).toEqual(['who', 'environment', 'run']);
  add(1n, 'ann', 2n ** 63n - 1n, 'applied', 2n);
  expect([uniform(9), uniform(1)]).toEqual([['who', 'environment'], all]);
  add(1n, 'ben', 7n, 'applied', 3n);
  expect([uniform(9), uniform(2), uniform(1)]).toEqual([['environment'], ['environment', 'run', 'outcome'], all]);
  add(1n, 'ben', 8n, 'sent', 4n);
  expect(uniform(1)).toEqual(['who', 'environment', 'run']);
});

it('when pets were counted is found without reading all changes', async () => {
  const { state } = await journalOf(1);
  const { database } = state;
  const plans: string[] = [];
  const all: typeof database.all = (sql, ...values) => {
    plans.push(...database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail)));
    return database.all(sql, ...values);
  };
  new Journal({ ...state, database: { ...database, all } }).lastCounted('x');
  expect(plans).toContainEqual(expect.stringMatching(/^SEARCH change .*\(run=\?\)$/));
});
