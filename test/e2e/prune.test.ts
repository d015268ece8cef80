/** Old history and reports are removed by the built program; what goes wrong with that never fails a write. */
import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { runPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';

const DAY = 86_400_000;
const AGO_MS = 1_000 * DAY;

function withDatabase<T>(home: Home, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(join(home.state, 'petstore', 'state.db'));
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** A shop with two imports and two single changes, all of them 1,000 days old. */
async function oldShop() {
  const home = createHome();
  const run = (...args: string[]) => runPetstore(['--env', 'sandbox', 'inventory', ...args], { home });
  for (const [first, second] of [
    [11, 12],
    [13, 14],
  ]) {
    const stdin = `petId,quantity\n7,${first}\n8,${second}\n`;
    await runPetstore(['--env', 'sandbox', 'inventory', 'import', '-', '--yes'], { home, stdin });
  }
  for (const quantity of ['20', '21']) expect(await run('set', '7', quantity)).toMatchObject({ code: 0 });
  const reports = join(home.state, 'petstore', 'reports');
  const at = (Date.now() - AGO_MS) / 1_000;
  for (const name of readdirSync(reports)) utimesSync(join(reports, name), at, at);
  withDatabase(home, (database) => {
    database.exec(`UPDATE run SET startedAt = startedAt - ${AGO_MS}, endedAt = endedAt - ${AGO_MS};
      UPDATE change SET sentAt = sentAt - ${AGO_MS};
      DELETE FROM meta WHERE name = 'prune-at'`);
  });
  /** The ids of runs and changes, and the reports. */
  const left = () =>
    withDatabase(home, (database) => {
      const ids = (table: string) =>
        database
          .prepare(`SELECT id FROM ${table} ORDER BY id`)
          .all()
          .map(({ id }) => id);
      return [ids('run'), ids('change'), readdirSync(reports)];
    });
  return { home, run, left };
}

/** With the one write of the test. */
const ALL = [
  [1, 2],
  [1, 2, 3, 4, 5, 6, 7],
  ['import-1.csv', 'import-2.csv'],
];

it('the next write removes what is old, but for the newest run, which can be undone', async () => {
  const { run, left } = await oldShop();
  const { code, stderr } = await run('set', '9', '1', '--verbose');
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^Removed the oldest history: 4 changes, 1 report\.$/m)]);
  expect(left()).toEqual([[2], [3, 4, 7], ['import-2.csv']]);
  expect(await run('undo', '--run', '1', '--yes')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('error: Run 1 does not exist') as string,
  });
  // The single changes came after it.
  expect((await run('undo', '--run', '2', '--yes')).stdout).toMatch(
    /^Run 3 \(undo\) in sandbox: 1 applied, 1 conflict/,
  );
});

it('two writes at once: one of them prunes', async () => {
  const { run, left } = await oldShop();
  const both = await Promise.all([run('set', '9', '1', '-v'), run('set', '3', '2', '-v')]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect(both.filter(({ stderr }) => stderr.includes('Removed the oldest history'))).toHaveLength(1);
  expect(left()).toEqual([[2], [3, 4, 7, 8], ['import-2.csv']]);
});

it('keep-history forever: all of it stays', async () => {
  const { home, run, left } = await oldShop();
  await runPetstore(['config', 'set', 'keep-history', 'forever'], { home });
  expect((await run('set', '9', '1', '--verbose')).stderr).not.toContain('Removed');
  expect(left()).toEqual(ALL);
});

it('a history that cannot be removed: the write succeeds, and says nothing', async () => {
  const { home, run, left } = await oldShop();
  withDatabase(home, (database) => {
    database.exec("CREATE TRIGGER keep BEFORE DELETE ON change BEGIN SELECT RAISE(ABORT, 'no'); END");
  });
  expect(await run('set', '9', '1', '--verbose')).toMatchObject({
    code: 0,
    stderr: expect.not.stringMatching(/Removed|prune/) as string,
  });
  expect(left()).toEqual(ALL);
});
