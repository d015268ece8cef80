/**
 * Removes history and reports that are older than keep-history, once a day, after a command has written. Keeps
 * unfinished runs and, for each service, the newest command (so that it can be undone) and the newest run (so that no
 * number is used twice).
 */
import { DAY_MS } from '../duration.ts';
import type { CommandContext } from '../session/globals.ts';
import { statePath } from '../session/paths.ts';
import { openStateFile, type State } from '../state/database.ts';
import { History, MAY_BE_WRITTEN } from '../state/history.ts';
import { KINDS } from '../state/journal-rows.ts';

/** Row of `meta` with the time of the next prune, epoch ms. */
const PRUNE_AT = 'prune-at';
/** Changes that one transaction removes, so that it takes at most 200 ms. */
const AT_ONCE = 1_000n;
/** Most transactions per day; the rest is removed the next day. */
const MOST_TRANSACTIONS = 50;
/** How long to wait for another process that writes, each time, unless others commit meanwhile. */
const PATIENCE = { patienceMs: 1_000 };
/** Longest time that a prune may be overdue, in ms. After that the clock may be wrong: it waits for another day. */
const LONGEST_PAUSE_MS = 365 * DAY_MS;
/** Also one that was not finished, because its process ended. */
const REPORT = new RegExp(`^(${KINDS.join('|')})-[1-9][0-9]*\\.csv(\\.[0-9]+\\.tmp)?$`);

/** Prunes if a day has passed since the last time. Never fails, and waits at most a second for a process that hangs. */
export async function pruneIfDue(context: CommandContext, state: State): Promise<void> {
  const { clock, globals, notices, signal } = context;
  const now = clock.now();
  try {
    // NaN in a new database.
    const overdueMs = now - Number(state.database.get('SELECT value FROM meta WHERE name = ?', PRUNE_AT)?.value);
    // If it is more than a day ahead, the clock was set back.
    const isEarly = overdueMs < 0 && overdueMs >= -DAY_MS;
    if (signal.aborted || globals.keepHistory === Infinity || isEarly) return;
    const setNext = 'INSERT OR REPLACE INTO meta VALUES (?, ?)';
    await state.exclusively(() => state.database.run(setNext, PRUNE_AT, `${now + DAY_MS}`), PATIENCE);
    // A new database has nothing old.
    if (!(overdueMs <= LONGEST_PAUSE_MS)) return;
    const before = Math.round(now - globals.keepHistory);
    await removeReports(context, before);
    await removeHistory(context, state.path, before);
  } catch (error) {
    notices.debug(`history not pruned: ${String(error)}`);
  }
}

/** Removes old reports. Keeps links and other files. */
async function removeReports(context: CommandContext, before: number): Promise<void> {
  const { files } = context;
  const folder = statePath(context, 'reports');
  for (const name of await files.list(folder)) {
    if (!REPORT.test(name)) continue;
    const facts = await files.facts(`${folder}/${name}`);
    if (facts?.kind === 'file' && facts.modifiedAt < before) await files.remove(`${folder}/${name}`);
  }
}

async function removeHistory(context: CommandContext, path: string, before: number): Promise<void> {
  const { clock, signal } = context;
  // A separate connection, because the other one may batch its steps with those of other clients.
  using state = await openStateFile(context, path);
  const { database } = state;
  const old = oldIn(state, before);
  const removeSome = (): bigint => {
    const { changes } = database.run(`DELETE FROM change WHERE id IN (${old.changes} LIMIT ${AT_ONCE})`);
    if (changes === AT_ONCE) return changes;
    database.run(`DELETE FROM scan WHERE run IN (${old.runs})`);
    database.run(`DELETE FROM run WHERE id IN (${old.runs})`);
    return changes;
  };
  for (let i = 0; i < MOST_TRANSACTIONS; i++) {
    signal.throwIfAborted();
    if ((await state.exclusively(removeSome, PATIENCE)) < AT_ONCE) return;
    // Lets other processes take the lock.
    await clock.turn();
  }
}

/** Returns SQL that selects the ids of old changes and runs. */
function oldIn(state: State, before: number) {
  const sent = (index: string): string => `FROM change INDEXED BY ${index} WHERE state IN ${MAY_BE_WRITTEN} AND sentAt`;
  // By turn, as undo does: a clock that was ahead makes no command the newest.
  const newest = state.database.all(
    `SELECT id, run FROM (SELECT id, run, environment, origin, max(turn) AS turn ${sent('changesSent')} < ${before}
       GROUP BY environment, origin) AS old
     WHERE NOT EXISTS (SELECT 1 ${sent('changesInTurn')} NOT NULL AND turn > old.turn
       AND environment = old.environment AND origin = old.origin)`,
  );
  const idsOf = (column: 'id' | 'run'): string => newest.flatMap((row) => row[column] ?? []).join();
  // A process that was killed after its last row has left no end.
  const ended = 'coalesce(endedAt, (SELECT max(sentAt) FROM change WHERE run = run.id), startedAt)';
  const unfinished = new History(state).unfinished().map(({ id }) => id);
  const runs = `SELECT id FROM run WHERE ${ended} < ${before} AND id NOT IN (${unfinished.join()}) AND id NOT IN (${idsOf('run')})
    AND id NOT IN (SELECT max(id) FROM run GROUP BY environment, origin)`;
  // A single change that is `sent` may be in flight.
  const changes = `SELECT id FROM change INDEXED BY changesOfRun WHERE run IS NULL AND sentAt < ${before} AND state <> 'sent'
      AND id NOT IN (${idsOf('id')}) AND id < (SELECT max(id) FROM change)
    UNION ALL SELECT id FROM change WHERE run IN (${runs})`;
  return { changes, runs };
}
