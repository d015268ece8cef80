/** Which program owns a database file, and what happens to a damaged one while it is open. */
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { openState, openStateFile, type State } from '../../src/state/database.ts';
import { Journal } from '../../src/state/journal.ts';
import { petLocksOf } from '../../src/stock/pet-lock.ts';
import { commandContext } from '../support/command-context.ts';
import { onCleanup } from '../support/cleanup.ts';
import { runIn } from '../support/in-process.ts';
import { createTestContext, type TestContext } from '../support/test-context.ts';

async function open(context: TestContext): Promise<State> {
  const state = await openState(context, context.home.state);
  onCleanup(() => {
    state[Symbol.dispose]();
  });
  return state;
}

const asideIn = (context: TestContext): string[] =>
  readdirSync(context.home.state).filter((name) => /\.damaged-\d+$/.test(name));

const put = (state: State, value: string): Promise<unknown> =>
  state.exclusively(() => state.database.run("INSERT OR REPLACE INTO meta VALUES ('test', ?)", value));

const got = (state: State): unknown => state.database.get("SELECT value FROM meta WHERE name = 'test'")?.value;

/** Writes garbage over a page in the file itself, the log copied back before. */
function damage(path: string, table: string): void {
  const database = new DatabaseSync(path);
  const root = Number(database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table)?.rootpage);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const bytes = readFileSync(path);
  bytes.fill(0xa5, (root - 1) * 4_096, root * 4_096);
  writeFileSync(path, bytes);
  database.close();
}

describe('openStateFile', () => {
  it('marks a new file in the file itself, not in the log alone', async () => {
    const context = createTestContext();
    const { path } = await open(context);
    const header = readFileSync(path);
    expect([header.readInt32BE(68), header.readInt32BE(60)]).toEqual([0x70657473, 1]);
  });

  it('takes an empty file', async () => {
    const context = createTestContext();
    const path = join(context.home.path, 'empty.db');
    writeFileSync(path, '');
    using state = await openStateFile(context, path);
    await put(state, 'filled');
    expect(got(state)).toBe('filled');
  });

  it('leaves the log of another program that was killed as it is', async () => {
    const context = createTestContext();
    const folder = join(context.home.path, 'theirs');
    mkdirSync(folder);
    const theirs = new DatabaseSync(join(folder, 'live.db'));
    theirs.exec('PRAGMA journal_mode = WAL; CREATE TABLE recipe (name TEXT); INSERT INTO recipe VALUES (1)');
    for (const end of ['', '-wal'])
      writeFileSync(join(folder, `a.db${end}`), readFileSync(join(folder, `live.db${end}`)));
    theirs.close();
    const bytes = (): string[] => ['', '-wal'].map((end) => readFileSync(join(folder, `a.db${end}`), 'hex'));
    const before = bytes();
    await expect(openStateFile(context, join(folder, 'a.db'))).rejects.toMatchObject({
      details: { problem: 'foreign' },
    });
    expect(bytes()).toEqual(before);
  });
});

describe('a state database that is open', () => {
  it('fault 128: damaged inside, is put aside once, and the work done in a new one', async () => {
    const context = createTestContext();
    const state = await open(context);
    await put(state, 'before');
    damage(state.path, 'meta');
    const other = await openState(context, context.home.state);
    await Promise.all([put(state, 'one'), put(state, 'two'), put(other, 'three')]);
    expect(['one', 'two', 'three']).toContain(got(state));
    expect(got(other)).toBe(got(state));
    other[Symbol.dispose]();
    expect({ aside: asideIn(context).length, warnings: context.stderr.text().match(/was damaged/g)?.length }).toEqual({
      aside: 1,
      warnings: 1,
    });
  });

  it('that another process has put aside is not written to any more', async () => {
    const context = createTestContext();
    const state = await open(context);
    await put(state, 'before');
    for (const end of ['-shm', '-wal', '']) renameSync(`${state.path}${end}`, `${state.path}.moved${end}`);
    await put(state, 'after');
    const fresh = await open(context);
    expect([got(fresh), context.stderr.text()]).toEqual(['after', '']);
  });

  it('a run that went with a damaged file is not carried on as if its rows were there', async () => {
    const context = createTestContext();
    const state = await open(context);
    const journal = new Journal(state);
    const where = { environment: 'sandbox', origin: 'sandbox', command: 'x', person: 'me' };
    const id = await journal.send({ where, petId: 7n, after: 12n }, 0);
    damage(state.path, 'change');
    await expect(journal.settle(id, { state: 'applied' })).rejects.toMatchObject({
      details: { problem: 'replaced' },
    });
  });
});

it.each([
  ['quantity is no number', 'x', 0, 'Cannot convert x to a BigInt'],
  ['time is no date', '2', 9e15, 'sentAt is out of range'],
])('fault 128: a row whose %s is exit 3, with the file named', async (_name, after, sentAt, detail) => {
  const context = createTestContext();
  const state = await openState(context, join(context.home.state, 'petstore'));
  state.database.run(
    "INSERT INTO run (kind, startedAt, environment, origin) VALUES ('import', 0, 'sandbox', 'sandbox')",
  );
  state.database
    .run(`INSERT INTO change (run, environment, origin, command, person, petId, before, after, state, sentAt)
      VALUES (1, 'sandbox', 'sandbox', 'import', 'me', 7, '1', '${after}', 'sent', ${sentAt})`);
  state[Symbol.dispose]();
  for (const call of [['history'], ['history', '--json'], ['runs', 'resume', '1']]) {
    const { code, stderr } = await runIn(context, '--env', 'sandbox', 'inventory', ...call);
    const says = `The state database ${state.path} cannot be used: a row cannot be read (${detail}).`;
    expect([code, stderr]).toEqual([3, expect.stringContaining(says)]);
  }
});

describe('a lock', () => {
  it('that rows of a run take one after another is free for others in between', async () => {
    const context = commandContext(createTestContext());
    const order: string[] = [];
    const session = {
      origin: 'sandbox',
      redis: undefined,
      service: { apiKey: 'k', maxWaitMs: 75_000, timeoutMs: 30_000 },
    };
    const withLock = petLocksOf(context, session);
    let other: Promise<unknown> | undefined;
    const work = async (name: string): Promise<void> => {
      // Of another pet that has the same lock.
      other ??= petLocksOf(context, session)(71n, () => work('other'));
      await context.clock.sleep(500);
      order.push(name);
    };
    await Promise.all(['first', 'second', 'third'].map((name) => withLock(7n, () => work(name))));
    await other;
    expect(order).toEqual(['first', 'other', 'second', 'third']);
  });
});
