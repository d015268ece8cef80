/** Finds an earlier run that has begun or finished the import of the same file. */
import type { CommandContext } from '../session/globals.ts';
import { originOf } from '../session/environments.ts';
import { discardCommand } from '../session/run-commands.ts';
import { type Change, type Journal, mayBeApplied, type Run, type RunSummary } from '../state/journal.ts';
import { clockTime } from '../view/progress.ts';
import type { RunSpec } from './apply.ts';
import type { Row } from './file-rows.ts';
import { cannotResume } from './runs.ts';
import { refuseUnfinished } from './undo.ts';

export interface Earlier {
  /** `Run 1 of 14:03 has added 2 of these 3 rows already`. */
  readonly says: string;
  /** The rows that it has not added. */
  readonly rest: readonly Row[];
  /** True if the file's other rows have changed since. It still counts as the same delivery. */
  readonly isEdited: boolean;
  /** The first run of the delivery: `restOf` of a run that adds the rest. */
  readonly restOf: bigint;
}

/**
 * Returns the run that has already added rows of this file.
 * @throws {Failure} `cannot-resume`: an unfinished run has, and the file has changed since, or its undo is unfinished
 */
export async function earlierOf(
  context: CommandContext,
  journal: Journal,
  { adds, source, wanted }: Pick<RunSpec, 'adds' | 'source'> & { readonly wanted: readonly Row[] },
  again: boolean,
): Promise<Earlier | undefined> {
  if (adds === undefined || again) return undefined;
  const origin = originOf(await context.target());
  const when = ({ id, startedAt }: Run): string => `${id} of ${clockTime(startedAt, context.clock.now())}`;
  const earlierFor = (version: string, isEdited: boolean): Earlier | undefined => {
    const { run, changes } = journal.added(version, origin);
    const added = addedBy(changes);
    const known = wanted.filter(({ petId }) => added.has(petId));
    if (run === undefined || known.length === 0 || (isEdited && !begins(wanted, changes))) return undefined;
    // It may have added or taken back a row without an answer.
    const isOfThem = (of: Run) => changes.some((each) => each.run === of.undoesRun || each.id === of.undoesChange);
    refuseUnfinished(journal, undefined, isOfThem);
    const rest = wanted.flatMap((row) => {
      const quantity = row.quantity - (added.get(row.petId) ?? 0n);
      // A later version of the file, or a redo, may have added more.
      return quantity === 0n || quantity < 0n !== row.quantity < 0n ? [] : { ...row, quantity };
    });
    const part = known.length < wanted.length ? `${known.length} of these ${wanted.length} rows` : 'part of these rows';
    const these = rest.length === 0 ? 'these rows' : part;
    return { says: `Run ${when(run)} has added ${these} already`, rest, isEdited, restOf: run.restOf ?? run.id };
  };
  const same = earlierFor(adds, false);
  if (same !== undefined) return same;
  const isOfPath = (run: Run): boolean => run.adds !== undefined && run.source === source && source !== '-';
  const changed = await findStopped(context, journal, (run) => {
    const changes = journal.changesOf(run.id);
    const hasAdded = run.adds !== undefined && changes.some(mayBeApplied);
    return hasAdded && (isOfPath(run) || begins(wanted, changes));
  });
  if (changed !== undefined) {
    throw cannotResume(
      `Import ${when(changed)} is unfinished, has added rows, and its file has been changed since`,
      `Restore the file and resume, or give up what is left (${discardCommand(changed)}) and import only the rows that are missing.`,
    );
  }
  const replaced = await findStopped(context, journal, (run) => isOfPath(run) && run.adds !== adds);
  if (replaced !== undefined) {
    context.notices.warning(
      `Import ${when(replaced)} is unfinished: it has added no row, and its rows are not in the file any more. Restore that file and resume, or give it up: ${discardCommand(replaced)}`,
    );
  }
  // Further back, it is another delivery of the same name.
  const last = journal.runs({ limit: 100 }).find((run) => run.origin === origin && isOfPath(run));
  return last?.adds === undefined ? undefined : earlierFor(last.adds, true);
}

/** Returns how many the changes have added to each pet. */
function addedBy(changes: readonly Change[]): Map<bigint, bigint> {
  const added = new Map<bigint, bigint>();
  for (const { petId, before = 0n, after } of changes) added.set(petId, (added.get(petId) ?? 0n) + after - before);
  return added;
}

/** True if what the changes have added to each pet is what the first lines of the file for that pet add, or all of them. */
function begins(rows: readonly Row[], changes: readonly Change[]): boolean {
  const byPet = new Map(rows.map((row) => [row.petId, row.parts ?? [row]]));
  return [...addedBy(changes)].every(([petId, added]) => {
    let left = added;
    return byPet.get(petId)?.some(({ quantity }) => (left -= quantity) === 0n) ?? false;
  });
}

/** Finds the newest unfinished import of the same file or rows for this environment. */
export async function findStopped(
  context: CommandContext,
  journal: Journal,
  isSame: (run: Run) => boolean,
): Promise<RunSummary | undefined> {
  const environment = (await context.settings()).environment.value;
  return journal.unfinished().find((run) => run.kind === 'import' && run.environment === environment && isSame(run));
}
