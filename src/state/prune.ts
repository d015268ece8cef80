/**
 * Removes what is oldest in the journal: single changes, and runs that have ended with all that belongs to them. Of each
 * service the newest command stays, so that it can be undone, and the newest run, so that no number is given twice.
 */
import type { Clock } from '../ports.ts';
import { integer, text } from './columns.ts';
import type { State } from './database.ts';
import { MAY_BE_WRITTEN } from './history.ts';

/** Changes that one transaction removes, roughly. A longer run is removed in one, as it was recorded in one. */
const AT_ONCE = 5_000;
/** Changes outside of runs that are removed before the time is looked at again. */
const STEP = 200;
/** How long others may have to wait for one transaction, ms; the rows of one run may take longer. */
const SLICE_MS = 200;
/** Begins no other transaction after so many changes. */
export const MOST_CHANGES = 50_000;
/** A service with none of the newest N changes counts as not in use: to look at all of them takes too long. */
const NEWEST = 10_000;
/** How long to wait for a process that writes, ms. */
const PATIENCE_MS = 1_000;
/** Earlier than every instant. */
const EVER = -(2n ** 63n);
/** Runs that may be removed. */
const ENDED = `FROM run WHERE endedAt IS NOT NULL
  AND id NOT IN (SELECT max(id) FROM run GROUP BY environment, origin)`;

export interface Removed {
  readonly changes: number;
  /** Kind and number of each run: `import-3`. */
  readonly runs: readonly string[];
}

/**
 * Removes what is older than `before` (epoch ms), oldest first, and yields what each transaction has removed.
 * @throws {Failure} `state`: another process holds the lock
 */
export async function* removeOldest(
  state: State,
  before: number,
  clock: Pick<Clock, 'monotonic'>,
): AsyncGenerator<Removed> {
  const end = BigInt(Math.max(Number.MIN_SAFE_INTEGER, Math.round(before)));
  let count = 0;
  // Where the oldest are all such as stay, the others are looked at too, which takes longer.
  for (const last of new Set([endOfOldest(state, end), end])) {
    const kept = keptBefore(state, last);
    const runs = endedBefore(state, last, kept.runs);

    /** All single changes before this instant that may be removed are. */
    let from = EVER;
    const removeSome = (): Removed => {
      const names: string[] = [];
      let changes = 0;
      const until = clock.monotonic() + SLICE_MS;
      while (changes + names.length < AT_ONCE && clock.monotonic() < until) {
        const [run] = runs;
        const to = run?.endedAt ?? last;
        const single = removeChanges(state, [from, to], kept.changes);
        changes += single;
        if (single > 0) continue;
        if (run === undefined) break;
        from = to;
        runs.shift();
        if (!isStill(state, run)) continue;
        changes += removeRun(state, run.id);
        names.push(run.name);
      }
      return { changes, runs: names };
    };

    while (count < MOST_CHANGES) {
      const removed = await state.exclusively(removeSome, { patienceMs: PATIENCE_MS });
      if (removed.changes + removed.runs.length === 0) break;
      count += removed.changes;
      yield removed;
    }
    if (count > 0) return;
  }
}

/** Returns the instant before which there are no more changes to remove than MOST_CHANGES; at most `end`. */
function endOfOldest({ database }: State, end: bigint): bigint {
  const sql = `SELECT sentAt FROM change INDEXED BY changesSent
    WHERE sentAt < ? AND (run IS NULL OR run IN (SELECT id ${ENDED})) ORDER BY sentAt LIMIT 1 OFFSET ${MOST_CHANGES}`;
  const row = database.get(sql, end);
  return row === undefined ? end : integer(row, 'sentAt');
}

/**
 * Returns the ids of what else stays, as JSON: the newest change before `last` of each service that is not in use since,
 * and the highest number.
 */
function keptBefore({ database }: State, last: bigint): { readonly changes: string; readonly runs: string } {
  const sent = `FROM change INDEXED BY changesSent WHERE state IN ${MAY_BE_WRITTEN} AND sentAt`;
  const rows = database.all(
    `WITH
       later AS (SELECT environment, origin ${sent} >= ? ORDER BY sentAt DESC LIMIT ${NEWEST}),
       newest AS (
         SELECT environment, origin, max(sentAt) AS sentAt ${sent} < ? GROUP BY environment, origin
         HAVING (environment, origin) NOT IN later)
     SELECT id, run FROM change JOIN newest USING (environment, origin, sentAt)
     UNION ALL SELECT id, run FROM change WHERE id = (SELECT max(id) FROM change)`,
    last,
    last,
  );
  const idsOf = (column: string): string => `[${rows.flatMap((row) => row[column] ?? []).join()}]`;
  return { changes: idsOf('id'), runs: idsOf('run') };
}

/** Returns the runs that may be removed, oldest first. */
function endedBefore({ database }: State, last: bigint, kept: string) {
  const sql = `SELECT id, kind || '-' || id AS name, endedAt ${ENDED}
    AND endedAt < ? AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY endedAt, id`;
  const rows = database.all(sql, last, kept);
  return rows.map((row) => ({ id: integer(row, 'id'), name: text(row, 'name'), endedAt: integer(row, 'endedAt') }));
}

/** Removes the oldest changes outside of runs; one that is `sent` may be under way. Returns how many. */
function removeChanges({ database }: State, time: readonly [from: bigint, to: bigint], kept: string): number {
  const sql = `DELETE FROM change WHERE id IN (
    SELECT id FROM change INDEXED BY changesSent
    WHERE sentAt >= ? AND sentAt < ? AND run IS NULL AND state <> 'sent' AND id NOT IN (SELECT value FROM json_each(?))
    ORDER BY sentAt LIMIT ${STEP})`;
  return Number(database.run(sql, ...time, kept).changes);
}

/** False where the run is gone and its number is given to another: a reset of the sandbox does that. */
function isStill({ database }: State, { id, endedAt }: { readonly id: bigint; readonly endedAt: bigint }): boolean {
  return database.get('SELECT 1 AS found FROM run WHERE id = ? AND endedAt = ?', id, endedAt) !== undefined;
}

/** Removes a run with all that belongs to it. Returns how many changes. */
function removeRun({ database }: State, id: bigint): number {
  const { changes } = database.run('DELETE FROM change WHERE run = ?', id);
  database.run('DELETE FROM scan WHERE run = ?', id);
  database.run('DELETE FROM run WHERE id = ?', id);
  return Number(changes);
}
