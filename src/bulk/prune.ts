/** Removes history and reports that are older than the settings allow: once a day, after a command has written. */
import { DAY_MS } from '../duration.ts';
import type { CommandContext } from '../session/globals.ts';
import { reportFolder } from '../session/paths.ts';
import { openStateFile, type State } from '../state/database.ts';
import { MOST_CHANGES, removeOldest } from '../state/remove-oldest.ts';
import { KINDS } from '../state/journal-rows.ts';
import { plural } from '../view/words.ts';

/** Name of the row of `meta` that holds when to prune next, epoch ms. */
const PRUNE_AT = 'prune-at';
/** Until the next time, ms, after a pruning that was cut short or may have left more to remove. */
const AGAIN_MS = 300_000;
/** Longer since the last time, ms, the clock may be wrong: nothing is removed before another day has passed. */
const LONGEST_PAUSE_MS = 365 * DAY_MS;
const REPORT = new RegExp(`^((?:${KINDS.join('|')})-[1-9][0-9]*)\\.csv$`);

/** Prunes if a day has passed since the last time. Never fails, and waits for others no longer than a second. */
export async function pruneIfDue(context: CommandContext, state: State): Promise<void> {
  const { clock, globals, notices, signal } = context;
  try {
    if (signal.aborted || !isDue(state, clock.now())) return;
    // A connection of its own: the steps of the other may be batched with those of other clients.
    using own = await openStateFile(context, state.path);
    if (!(await claim(own, clock.now()))) return;
    const { changes, reports } = await prune(context, own);
    if (changes + reports > 0 && (globals.verbose || globals.debug)) {
      notices.info(`Removed the oldest history: ${plural(changes, 'change')}, ${plural(reports, 'report')}.`);
    }
    if (changes <= MOST_CHANGES / 2) schedule(own, clock.now() + DAY_MS);
  } catch (error) {
    notices.debug(`history not pruned: ${String(error)}`);
  }
}

/** Epoch ms; NaN the first time. */
function dueAt({ database }: State): number {
  return Number(database.get('SELECT value FROM meta WHERE name = ?', PRUNE_AT)?.value);
}

function isDue(state: State, now: number): boolean {
  const due = dueAt(state);
  // More than a day ahead, the clock has been set back.
  return !(due > now && due <= now + DAY_MS);
}

/** Returns whether this process is the one that prunes now. */
function claim(state: State, now: number): Promise<boolean> {
  return state.exclusively(
    () => {
      if (!isDue(state, now)) return false;
      const isLongAgo = now - dueAt(state) > LONGEST_PAUSE_MS;
      schedule(state, now + (isLongAgo ? DAY_MS : AGAIN_MS));
      return !isLongAgo;
    },
    { patienceMs: 1_000 },
  );
}

function schedule({ database }: State, at: number): void {
  database.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', PRUNE_AT, `${at}`);
}

async function prune(context: CommandContext, state: State): Promise<{ changes: number; reports: number }> {
  const { clock, files, globals, signal } = context;
  const before = clock.now() - globals.keepHistory;
  const reports = await listReports(context);
  const removed = { changes: 0, reports: 0 };
  const removeReport = async (run: string): Promise<void> => {
    if (!reports.delete(run)) return;
    await files.remove(`${reportFolder(context)}/${run}.csv`);
    removed.reports++;
  };
  const known = new Set(state.database.all("SELECT kind || '-' || id AS name FROM run").map(({ name }) => name));
  const others = [...reports].filter(([run]) => !known.has(run));
  for (const [run, modifiedAt] of others) {
    if (modifiedAt < before) await removeReport(run);
  }
  for await (const { changes, runs } of removeOldest(state, before)) {
    removed.changes += changes;
    for (const run of runs) await removeReport(run);
    signal.throwIfAborted();
    // Others have their turn at the lock.
    await clock.turn();
  }
  return removed;
}

/** Returns when each report was written, by kind and number of its run: `import-3`. Other files, and links, are left out. */
async function listReports(context: CommandContext): Promise<Map<string, number>> {
  const { files } = context;
  const folder = reportFolder(context);
  const reports = new Map<string, number>();
  if ((await files.facts(folder))?.kind !== 'directory') return reports;
  for (const name of await files.list(folder)) {
    const run = REPORT.exec(name)?.[1];
    if (run === undefined) continue;
    const facts = await files.facts(`${folder}/${name}`);
    if (facts?.kind === 'file') reports.set(run, facts.modifiedAt);
  }
  return reports;
}
