/** How the built program handles database files that are newer, foreign or damaged. */
import { hash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { exits, type Finished, runPetstore } from '../support/binary.ts';
import { createHome, fileIn, type Home } from '../support/home.ts';
import { runIn } from '../support/in-process.ts';
import { createTestContext } from '../support/test-context.ts';
import { tooMany } from '../support/replies.ts';
import { scaled } from '../support/scale.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { staging } from '../support/staging.ts';

const LIST = ['inventory', 'list'];
const STATUS = ['inventory', 'runs'];
const RESUME = ['inventory', 'runs', 'resume'];

function folderOf(home: Home): string {
  const folder = join(home.state, 'petstore');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

function statePath(home: Home): string {
  return join(folderOf(home), 'state.db');
}

/** Changes the database with SQL, as another program would, and leaves no log beside it. */
function changed(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
}

/** All files of a folder, byte for byte. */
function bytesIn(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [name, hash('sha256', readFileSync(join(folder, name)))]),
  );
}

/** A home that is blocked for an hour, its state one file. */
async function blocked(): Promise<{ home: Home; env: Record<string, string>; sent: () => number }> {
  const server = await scriptedServer([tooMany(3_600)]);
  const home = createHome();
  const env = staging(server.baseUrl);
  expect((await runPetstore(LIST, { home, env })).code).toBe(6);
  changed(statePath(home), 'SELECT 1');
  return { home, env, sent: () => server.requests.length };
}

/** In this process. */
const run = (home: Home, ...call: string[]) => runIn(createTestContext({ home }), ...call);

/** As the header has it: nothing is opened. */
const versionOf = (path: string): number => readFileSync(path).readInt32BE(60);

describe('fault 116: a state database of another version', () => {
  it('a newer one is exit 3, nothing is sent, and no command changes its version', async () => {
    const { home, env, sent } = await blocked();
    const path = statePath(home);
    changed(path, 'PRAGMA user_version = 99');
    const before = bytesIn(folderOf(home));
    const calls = [
      LIST,
      ['inventory', 'set', '7', '12'],
      ['limits'],
      ['inventory', 'history'],
      ['config', 'set', 'environment', 'staging'],
      ['sandbox', 'seed', '--pets', '3', '--data', path],
    ];
    for (const call of calls) {
      const { code, stderr } = await runPetstore(call, { home, env: call[0] === 'sandbox' ? {} : env });
      expect({ call, code, stderr }).toEqual({
        call,
        code: 3,
        stderr: expect.stringMatching(
          call[0] === 'sandbox'
            ? /is not a petstore sandbox; it was left as it is\./
            : /was written by a newer petstore \(version 99\); it was left as it is\.\nhint: Update petstore/,
        ) as string,
      });
    }
    expect({ sent: sent(), version: versionOf(path), bytes: bytesIn(folderOf(home)) }).toEqual({
      sent: 1,
      version: 99,
      bytes: before,
    });
  });
});

describe('fault 120: a file of another program, named as a sandbox', () => {
  const FILES: readonly (readonly [string, (path: string) => void])[] = [
    ['a CSV', (path) => writeFileSync(path, 'petId,quantity\n7,12\n'.repeat(100))],
    ['a database with a mark', (path) => changed(path, 'PRAGMA application_id = 42; CREATE TABLE recipe (name TEXT)')],
    ['a database in WAL mode', (path) => changed(path, 'PRAGMA journal_mode = WAL; CREATE TABLE recipe (name TEXT)')],
    ['an empty database in WAL mode', (path) => changed(path, 'PRAGMA journal_mode = WAL')],
    ['a database cut short', (path) => writeFileSync(path, 'SQLite format 3\0cut')],
    ['a damaged database', (path) => writeFileSync(path, `SQLite format 3\0${'damaged'.repeat(1_000)}`)],
  ];
  const CALLS = [
    ['sandbox', 'status', '--data'],
    ['sandbox', 'keys', '--data'],
    ['sandbox', 'reset', '--data'],
    ['sandbox', 'seed', '--pets', '3', '--data'],
  ];

  it.each(FILES)('%s stays as it is, and nothing is laid beside it', async (_name, make) => {
    const home = createHome();
    const folder = join(home.path, 'mine');
    mkdirSync(folder);
    const path = join(folder, 'stock.csv');
    make(path);
    const before = bytesIn(folder);
    for (const call of CALLS) {
      const { code, stderr } = await run(home, ...call, path);
      expect({ call, code, stderr, bytes: bytesIn(folder) }).toEqual({
        call,
        code: 3,
        stderr: expect.stringMatching(/(is not a petstore sandbox|is damaged).*it was left as it is\./) as string,
        bytes: before,
      });
    }
  });

  it('a sandbox in the place of the state database is refused; a missing one is not created just to read it', async () => {
    const home = createHome();
    expect((await run(home, 'sandbox', 'reset')).code).toBe(0);
    rmSync(statePath(home), { force: true });
    const before = bytesIn(folderOf(home));
    expect((await run(home, 'inventory', 'history')).code).toBe(0);
    expect(bytesIn(folderOf(home))).toEqual(before);
    copyFileSync(join(folderOf(home), 'sandbox.db'), statePath(home));
    expect(await run(home, 'inventory', 'history')).toMatchObject(
      exits(3, 'is not a petstore state database; it was left as it is'),
    );
  });

  it('a sandbox of a newer petstore is left as it is', async () => {
    const home = createHome();
    expect((await run(home, 'sandbox', 'reset')).code).toBe(0);
    const path = join(folderOf(home), 'sandbox.db');
    changed(path, 'PRAGMA user_version = 9');
    for (const call of [
      ['sandbox', 'status'],
      ['sandbox', 'reset'],
      ['--env', 'sandbox', ...LIST],
    ]) {
      const { code, stderr } = await run(home, ...call);
      expect({ call, code, stderr, version: versionOf(path) }).toEqual({
        call,
        code: 3,
        stderr: expect.stringContaining('was written by a newer petstore (version 9)') as string,
        version: 9,
      });
    }
  });
});

describe('fault 120: a damaged state database', () => {
  const damage = (home: Home): string => {
    const path = statePath(home);
    writeFileSync(path, 'this is no database'.repeat(1_000));
    return path;
  };
  const asideIn = (home: Home): string[] => readdirSync(folderOf(home)).filter((name) => name.includes('.damaged-'));

  it.each([[['inventory', 'history']], [STATUS], [['doctor', '--offline']], [['status']]])(
    '%j leaves it where it is',
    async (call) => {
      const home = createHome();
      const path = damage(home);
      const before = readFileSync(path);
      const { code } = await run(home, ...call);
      expect(code).not.toBe(1);
      expect(call[0] !== 'inventory' || code === 3).toBe(true);
      expect({ bytes: readFileSync(path).equals(before), aside: asideIn(home) }).toEqual({ bytes: true, aside: [] });
    },
  );

  it.each([
    [['config', 'set', 'environment', 'staging'], 0],
    [RESUME, 2],
    [['inventory', 'undo', '--yes'], 2],
    [['--env', 'sandbox', 'inventory', 'set', '7', '12'], 0],
  ])('%j puts it aside, and says so', async (call, expected) => {
    const home = createHome();
    damage(home);
    const { code, stderr } = await run(home, ...call);
    expect({ code, aside: asideIn(home).length }).toEqual({ code: expected, aside: 1 });
    expect(stderr).toMatch(
      /^warning: The state database was damaged\. It is now .*state\.db\.damaged-\d+, and a new one was started\. Catalog, history, unfinished runs and rate limits in it are lost\.\n/,
    );
  });

  it('and a damaged sandbox: one of our own is put aside, one that was named is not', async () => {
    const home = createHome();
    const own = join(folderOf(home), 'sandbox.db');
    const named = join(home.path, 'shop.db');
    for (const path of [own, named]) writeFileSync(path, 'this is no database'.repeat(1_000));
    const look = await run(home, 'sandbox', 'status');
    const list = await run(home, '--env', 'sandbox', ...LIST);
    const other = await run(home, 'sandbox', 'reset', '--data', named);
    expect([look.code, list.code, other.code]).toEqual([3, 0, 3]);
    expect(list.stderr).toMatch(/^warning: The sandbox was damaged\. It is now .*sandbox\.db\.damaged-/);
    expect(readFileSync(named, 'utf8')).toMatch(/^this is no database/);
  });
});

it.each<readonly [string, (path: string) => void]>([
  ['that is not a database', (path) => writeFileSync(path, 'this is no database, however long it may be '.repeat(200))],
  ['that is cut short', (path) => writeFileSync(path, 'SQLite format 3\0cut')],
  [
    'that is damaged where the limits are',
    (path) => {
      const database = new DatabaseSync(path);
      const root = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'ledger'").get()?.rootpage;
      database.close();
      writeFileSync(path, readFileSync(path).fill(0xa5, (Number(root) - 1) * 4_096, Number(root) * 4_096));
    },
  ],
])(
  'fault 47, 124: eight processes that meet a state database %s put it aside once, and one of them asks',
  async (_name, damage) => {
    for (let round = 0; round < scaled(1); round++) {
      const server = await scriptedServer([tooMany(3_600)]);
      const home = createHome();
      const path = statePath(home);
      expect((await runPetstore(['config', 'set', 'environment', 'staging'], { home })).code).toBe(0);
      damage(path);
      const damaged = readFileSync(path);
      const list = (): Promise<Finished> => runPetstore(LIST, { home, env: staging(server.baseUrl) });
      const ended = await Promise.all(Array.from({ length: 8 }, list));
      const aside = readdirSync(folderOf(home)).filter((name) => /\.damaged-\d+$/.test(name));
      expect({
        codes: ended.map(({ code }) => code),
        requests: server.requests.length,
        // It has not been written to since.
        aside: aside.map((name) => readFileSync(join(folderOf(home), name)).equals(damaged)),
        warnings: ended.filter(({ stderr }) => stderr.includes('was damaged')).length,
      }).toEqual({ codes: Array(8).fill(6), requests: 1, aside: [true], warnings: 1 });
    }
  },
);

it.each([
  ['state.db.lock', 'the lock of imports'],
  ['locks', 'the folder for the locks of pets'],
])('fault 128: a file with other content in place of %s (%s) is exit 3, and named', async (name) => {
  const home = createHome();
  const path = join(folderOf(home), name);
  writeFileSync(path, 'lock text, from who knows where '.repeat(300));
  const file = fileIn(home, 'stock.csv', 'petId,quantity\n7,12\n');
  expect(await run(home, '--env', 'sandbox', 'inventory', 'import', file, '--yes')).toMatchObject(exits(3, path));
});
