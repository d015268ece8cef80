import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/errors.ts';
import { openState, type State } from '../../src/state/database.ts';
import { type Running, startPetstore } from '../support/binary.ts';
import { onCleanup } from '../support/cleanup.ts';
import { createTestContext, type TestContext } from '../support/test-context.ts';

async function open(context: TestContext): Promise<State> {
  const state = await openState(context, join(context.home.state, 'petstore'));
  onCleanup(() => state[Symbol.dispose]());
  return state;
}

/** Another process that holds the lock, and writes within its transaction. */
async function holder(path: string): Promise<Running> {
  const script = `
    const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync(process.argv[1]);
    database.exec("BEGIN IMMEDIATE; INSERT INTO meta VALUES ('half', 'done')");
    console.log('held');
    setInterval(() => undefined, 1000);`;
  const running = startPetstore(['-e', script, path], { command: [process.execPath] });
  await running.waitFor(/held/, 'stdout');
  return running;
}

describe('the state database', () => {
  it('is private, and made once', async () => {
    const context = createTestContext();
    const first = await open(context);
    const second = await open(context);
    expect({
      same: first.path === second.path,
      file: statSync(first.path).mode & 0o777,
      folder: statSync(join(context.home.state, 'petstore')).mode & 0o777,
      version: first.database.get('PRAGMA user_version'),
    }).toEqual({ same: true, file: 0o600, folder: 0o700, version: { user_version: 1n } });
  });

  // An SQLite before 3.51, as of Python or another Node, would otherwise remove the write-ahead log in use.
  it.runIf(existsSync('/proc/locks'))(
    'keeps its lock on the file when the same process opens it again',
    async ({ skip }) => {
      const context = createTestContext();
      const first = await open(context);
      await first.exclusively(() => undefined);
      const { ino } = statSync(first.path);
      const isLocked = () => new RegExp(` READ +${process.pid} \\S+:${ino} `).test(readFileSync('/proc/locks', 'utf8'));
      skip(!isLocked(), 'the system does not list this lock');
      await open(context);
      expect(isLocked()).toBe(true);
    },
  );

  it('fault 79: a writer killed within its transaction is rolled back, and the next one continues', async () => {
    const state = await open(createTestContext());
    const child = await holder(state.path);
    child.kill('SIGKILL');
    await child.exited;
    const found = await state.exclusively(() => state.database.get("SELECT value FROM meta WHERE name = 'half'"));
    expect(found).toBeUndefined();
  });

  it.each([
    ['5 s', 5_000, undefined],
    ['as long as that is set', 500, { patienceMs: 500 }],
  ])(
    'fault 80: a writer stopped within its transaction is waited for %s, and its lock never taken',
    async (_for, ms, how) => {
      const context = createTestContext();
      const state = await open(context);
      const child = await holder(state.path);
      child.kill('SIGSTOP');
      const started = context.clock.monotonic();
      const failure: unknown = await state.exclusively(() => 'stolen', how).catch((error: unknown) => error);
      expect(isFailure(failure) && { kind: failure.kind, details: failure.details }).toEqual({
        kind: 'state',
        details: { path: state.path, what: 'state database', problem: 'held' },
      });
      const waited = context.clock.monotonic() - started;
      expect(waited >= ms && waited < ms + 100).toBe(true);
      child.kill('SIGCONT');
    },
  );
});
