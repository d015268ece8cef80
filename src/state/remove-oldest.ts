/**
 * Removes what is oldest in the journal: single changes, and runs that have ended with all that belongs to them. Of each
 * service the newest command stays, so that it can be undone, and the newest run, so that no number is given twice.
 */
import { integer, text } from './journal-rows.ts';
import type { State } from './database.ts';
import { MAY_BE_WRITTEN } from './history.ts';

/** Changes that one transaction removes, within 200 ms. A longer run takes several. */
const AT_ONCE = 1_000;
/** Begins no other transaction after so many changes. */
export const MOST_CHANGES = 50_000;
/** How long to wait for a process that writes, ms. */
const PATIENCE_MS = 1_000;

export interface Removed {
  readonly changes: number;
  /** Kind and number of each run: `import-3`. */
  readonly runs: readonly string[];
}

/**
 * Removes what is older than `before` (epoch ms) and yields what each transaction has removed.
 * @throws {Failure} `state`: another process holds the lock
 */
export async function* removeOldest(state: State, before: number): AsyncGenerator<Removed> {
  const end = BigInt(Math.max(Number.MIN_SAFE_INTEGER, Math.round(before)));
  const kept = keptBefore(state, end);
  for (let count = 0; count < MOST_CHANGES;) {
    const removed = await state.exclusively(() => removeSome(state, end, kept), { patienceMs: PATIENCE_MS });
    if (removed.changes + removed.runs.length === 0) return;
    count += removed.changes;
    yield removed;
  }
}

/** The ids of what stays although it is old, as JSON. */
interface Kept {
  readonly changes: string;
  readonly runs: string;
}

/** Returns the newest change of each service that is not in use since, and the highest number. */
function keptBefore({ database }: State, end: bigint): Kept {
  const sent = `FROM change INDEXED BY changesSent WHERE state IN ${MAY_BE_WRITTEN} AND sentAt`;
  const rows = database.all(
    `SELECT id, run FROM (SELECT id, run, environment, origin, max(sentAt) ${sent} < ? GROUP BY environment, origin) AS old
       WHERE NOT EXISTS (SELECT 1 ${sent} >= ? AND environment = old.environment AND origin = old.origin)
     UNION ALL SELECT id, run FROM change WHERE id = (SELECT max(id) FROM change)`,
    end,
    end,
  );
  const idsOf = (column: string): string => `[${rows.flatMap((row) => row[column] ?? []).join()}]`;
  return { changes: idsOf('id'), runs: idsOf('run') };
}

/** Removes changes outside of runs, then runs, each the oldest first. */
function removeSome({ database }: State, end: bigint, kept: Kept): Removed {
  // One that is `sent` may be under way.
  const single = `DELETE FROM change WHERE id IN (SELECT id FROM change INDEXED BY changesOfRun
    WHERE run IS NULL AND sentAt < ? AND state <> 'sent' AND id NOT IN (SELECT value FROM json_each(?))
    ORDER BY sentAt LIMIT ${AT_ONCE})`;
  const oldest = `SELECT id, kind || '-' || id AS name FROM run WHERE endedAt < ?
    AND id NOT IN (SELECT max(id) FROM run GROUP BY environment, origin)
    AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY endedAt, id LIMIT 1`;
  let changes = Number(database.run(single, end, kept.changes).changes);
  const runs: string[] = [];
  while (changes + runs.length < AT_ONCE) {
    const run = database.get(oldest, end, kept.runs);
    if (run === undefined) break;
    const id = integer(run, 'id');
    const most = AT_ONCE - changes;
    const ofRun = 'DELETE FROM change WHERE id IN (SELECT id FROM change WHERE run = ? LIMIT ?)';
    const removed = Number(database.run(ofRun, id, BigInt(most)).changes);
    changes += removed;
    if (removed === most) break;
    database.run('DELETE FROM scan WHERE run = ?', id);
    database.run('DELETE FROM run WHERE id = ?', id);
    runs.push(text(run, 'name'));
  }
  return { changes, runs };
}
