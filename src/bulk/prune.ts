/** Removes history and reports that are older or more than the settings allow: once a day, after a command has written. */
import { DAY_MS } from '../duration.ts';
import type { FileFacts } from '../ports.ts';
import type { CommandContext } from '../session/globals.ts';
import { reportFolder } from '../session/paths.ts';
import { openStateFile, type State } from '../state/database.ts';
import { MOST_CHANGES, removeOldest } from '../state/prune.ts';
import { KINDS } from '../state/rows.ts';
import { plural } from '../view/words.ts';

/** Name of the row of `meta` that holds when to prune next, epoch ms. */
const PRUNE_AT = 'prune-at';
/** Until the next time, ms, after a pruning that was cut short or may have left more to remove. */
const AGAIN_MS = 300_000;
/** What is younger is not removed for its size, ms. */
const RECENT_MS = 7 * DAY_MS;
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

function isDue({ database }: State, now: number): boolean {
  const due = Number(database.get('SELECT value FROM meta WHERE name = ?', PRUNE_AT)?.value);
  // More than a day ahead, the clock has been set back. The first time it is NaN.
  return !(due > now && due <= now + DAY_MS);
}

/** Returns whether this process is the one that prunes now. */
function claim(state: State, now: number): Promise<boolean> {
  return state.exclusively(
    () => {
      const isFirst = isDue(state, now);
      if (isFirst) schedule(state, now + AGAIN_MS);
      return isFirst;
    },
    { patienceMs: 1_000 },
  );
}

function schedule({ database }: State, at: number): void {
  database.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', PRUNE_AT, `${at}`);
}

async function prune(context: CommandContext, state: State): Promise<{ changes: number; reports: number }> {
  const { clock, files, globals, signal } = context;
  const now = clock.now();
  const before = now - globals.keepHistory;
  const reports = await listReports(context);
  const removed = { changes: 0, reports: 0 };
  const removeReport = async (run: string): Promise<void> => {
    if (!reports.delete(run)) return;
    await files.remove(`${reportFolder(context)}/${run}.csv`);
    removed.reports++;
  };
  const known = new Set(state.database.all("SELECT kind || '-' || id AS name FROM run").map(({ name }) => name));
  const others = [...reports].filter(([run]) => !known.has(run));
  for (const [run, { modifiedAt }] of others) {
    if (modifiedAt < before) await removeReport(run);
    reports.delete(run);
  }
  const bounds = { before, bytes: globals.keepSize, recent: now - RECENT_MS };
  for await (const { changes, runs } of removeOldest(state, bounds, reports)) {
    removed.changes += changes;
    for (const run of runs) await removeReport(run);
    signal.throwIfAborted();
    // Others have their turn at the lock.
    await clock.turn();
  }
  return removed;
}

/** Returns the reports by kind and number of their run: `import-3`. Other files, and links, are left out. */
async function listReports(context: CommandContext): Promise<Map<string, FileFacts>> {
  const { files } = context;
  const folder = reportFolder(context);
  const reports = new Map<string, FileFacts>();
  if ((await files.facts(folder))?.kind !== 'directory') return reports;
  for (const name of await files.list(folder)) {
    const run = REPORT.exec(name)?.[1];
    if (run === undefined) continue;
    const facts = await files.facts(`${folder}/${name}`);
    if (facts?.kind === 'file') reports.set(run, facts);
  }
  return reports;
}
