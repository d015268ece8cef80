/** Formats a plan and the result of a run for people. */
import type { Catalog } from '../catalog/catalog.ts';
import { stringifyJson } from '../api/json.ts';
import type { Change, ChangeState } from '../state/journal.ts';
import { list, type RowsView } from '../view/view.ts';
import { plural, signed } from '../view/words.ts';
import type { Obstacle, Plan, Step } from './plan.ts';

/** The most lines of a plan that are printed. */
const SHOWN = 40;

/** `Pet 7: 10 → 12 (+2)`. */
export function changeWords({ petId, before, after }: Pick<Step, 'petId' | 'before' | 'after'>): string {
  return `Pet ${petId}: ${before} → ${after} (${signed(after - before)})`;
}

/** The diff: `7  10 → 12  +2`, and the name where the catalog has one. */
export function planLines({ steps, unchanged, obstacles }: Plan, catalog?: Catalog): string[] {
  const rows = steps
    .slice(0, SHOWN)
    .map(({ petId, before, after }) => [`${petId}`, `${before}`, `${after}`, signed(after - before)]);
  const widths = [0, 1, 2, 3].map((i) => Math.max(0, ...rows.map((row) => row[i]!.length)));
  const lines = rows.map(([petId, before, after, by], row) => {
    const cells = [petId, before, after, by].map((cell, i) => cell!.padStart(widths[i]!));
    const name = catalog?.nameOf(steps[row]!.petId) ?? '';
    return `  pet ${cells[0]}  ${cells[1]} → ${cells[2]}  ${cells[3]}  ${name}`.trimEnd();
  });
  const more = steps.length - rows.length;
  return [
    ...lines,
    ...(more > 0 ? [`  and ${more} more`] : []),
    ...obstacles.slice(0, SHOWN).map(obstacleLine),
    ...(obstacles.length > SHOWN ? [`  and ${obstacles.length - SHOWN} more that cannot be changed`] : []),
    totals(steps, unchanged, obstacles),
  ];
}

function obstacleLine({ line, petId, state, reason }: Obstacle): string {
  const where = line === undefined ? '' : ` (line ${line})`;
  return `  pet ${petId}${where}: ${state === 'conflict' ? 'conflict, ' : ''}${reason}`;
}

function totals(steps: readonly Step[], unchanged: number, obstacles: readonly Obstacle[]): string {
  const sum = steps.reduce((all, { before, after }) => all + after - before, 0n);
  const parts = [
    `${plural(steps.length, 'pet')} to change (${signed(sum)} in all)`,
    `${unchanged} unchanged`,
    ...(obstacles.length === 0 ? [] : [`${obstacles.length} that cannot be changed`]),
  ];
  return `${parts.join(', ')}.`;
}

type Planned = Step | Obstacle;

/**
 * Returns the output of --dry-run: what would be changed, and which rows could not be applied.
 * @param catalog names the pets
 */
export function planView({ steps, obstacles }: Plan, catalog?: Catalog): RowsView<Planned> {
  return list<Planned>(
    [...steps, ...obstacles],
    {
      petId: ({ petId }) => petId,
      ...(catalog !== undefined && { name: ({ petId }: Planned) => catalog.nameOf(petId) }),
      before: ({ before }) => before,
      after: ({ after }) => after,
      change: ({ before, after }) => (before === undefined ? undefined : after - before),
      problem: problemOf,
    },
    {
      jsonText: planText,
      empty: 'Nothing would be changed.',
    },
  );
}

function planText(row: Planned): string {
  const problem = problemOf(row);
  const why = problem === undefined ? 'null' : stringifyJson(problem);
  const { petId, before = null, after, line = null } = row;
  return `{"petId":${petId},"before":${before},"after":${after},"line":${line},"problem":${why}}`;
}

const problemOf = (row: Planned): string | undefined => ('reason' in row ? row.reason : undefined);

export type Counts = Readonly<Record<ChangeState, number>>;

/** @param unchanged pets that the plan left out because nothing had to be changed */
export function countStates(changes: readonly Pick<Change, 'state'>[], unchanged: number): Counts {
  const counts = { planned: 0, sent: 0, applied: 0, failed: 0, unknown: 0, unchanged, conflict: 0, discarded: 0 };
  for (const { state } of changes) counts[state]++;
  return counts;
}

/** `8 applied, 1 unchanged, …`: without the zeros, except the first. */
export function countWords(counts: Counts): string {
  const { applied, unchanged, conflict, failed, unknown, planned, sent, discarded } = counts;
  const parts: readonly (readonly [number, string])[] = [
    [unchanged, 'unchanged'],
    [conflict, conflict === 1 ? 'conflict' : 'conflicts'],
    [failed, 'failed'],
    [unknown, 'unknown'],
    [planned + sent, 'left to do'],
    [discarded, 'discarded'],
  ];
  const others = parts.filter(([n]) => n > 0).map(([n, word]) => `, ${n} ${word}`);
  return `${applied} applied${others.join('')}`;
}
