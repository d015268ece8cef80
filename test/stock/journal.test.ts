import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStateFile, type State } from '../../src/state/database.ts';
import { Journal } from '../../src/state/journal.ts';
import { onCleanup } from '../support/cleanup.ts';
import { createTestContext } from '../support/test-context.ts';

const WHERE = { environment: 'staging', origin: 'https://a.example', command: 'inventory import', person: 'clerk' };
/** sqlite.org/fileformat2.html#the_write_ahead_log: a header, then frames of a header and a page each. */
const WAL_HEADER = 32;
const FRAME_HEADER = 24;

it('fault 91: a journal that lost its last commits to a power cut is an earlier one, whole', async () => {
  const context = createTestContext();
  const open = async (path: string): Promise<State> => {
    const state = await openStateFile(context, path);
    onCleanup(() => state[Symbol.dispose]());
    return state;
  };
  const path = join(context.home.path, 'state.db');
  const state = await open(path);
  state.database.run('PRAGMA wal_autocheckpoint = 0');
  state.database.run('PRAGMA wal_checkpoint(TRUNCATE)');
  const journal = new Journal(state);
  const pets = [1n, 2n, 3n, 4n];
  const run = await journal.begin(
    { kind: 'import', startedAt: 1 },
    WHERE,
    pets.map((petId) => ({ petId, before: 0n, after: petId * 10n })),
  );
  // The states of all rows after each commit, oldest first.
  const states = (from: Journal) =>
    from
      .changesOf(run.id)
      .map((change) => change.state)
      .join(' ');
  const history = ['', states(journal)];
  for (const { id } of journal.changesOf(run.id)) {
    await journal.send({ id }, 2);
    history.push(states(journal));
    await journal.settle(id, { state: 'applied' });
    history.push(states(journal));
  }
  await journal.end(run.id, 4);

  const wal = readFileSync(`${path}-wal`);
  const pageSize = Number(state.database.get('PRAGMA page_size')?.page_size);
  const frame = FRAME_HEADER + pageSize;
  const seen = new Set<string>();
  for (let length = WAL_HEADER; length <= wal.length; length += frame) {
    // At a frame's border, and in the midst of the next.
    for (const cut of [length, length + 1 + (length % (frame - 1))]) {
      const copy = join(context.home.path, `cut-${cut}.db`);
      copyFileSync(path, copy);
      writeFileSync(`${copy}-wal`, wal.subarray(0, cut));
      const found = new Journal(await open(copy));
      const shown = states(found);
      expect(history).toContain(shown);
      seen.add(shown);
    }
  }
  expect([...seen]).toEqual(history);
  expect(statSync(`${path}-wal`).size).toBe(wal.length);
});
