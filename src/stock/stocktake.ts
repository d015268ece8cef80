/** Finds unfinished stocktakes, pets that one did not scan, and pets that were not counted for a long time. */
import type { InventoryItem } from '../api/item.ts';
import { openNames } from '../session/open-catalog.ts';
import { connect } from '../session/connect.ts';
import { resumeCommand } from '../session/run-commands.ts';
import type { CommandContext } from '../session/globals.ts';
import type { Journal, Run, RunSummary } from '../state/journal.ts';
import { FORMAT_FACTS, list, type RowsView } from '../view/view.ts';
import { plural } from '../view/words.ts';
import { openJournal } from './open-journal.ts';
import { aligned, makePlan, type Plan, type Wanted } from './plan.ts';
import { readStock, type Stock } from './runner.ts';
import { assertSameOrigin, cannotResume } from './runs.ts';

/** Most unscanned pets to print. */
const SHOWN = 10;

/** Returns the stocktake to continue: the one with this number, or the newest, first of all one of this environment. */
export async function findStopped(context: CommandContext, journal: Journal, wanted: bigint | true): Promise<Run> {
  const here = (await context.settings()).environment.value;
  const counts = journal.unfinished().filter(({ kind }) => kind === 'count');
  const open = counts.filter(({ left }) => left === 0);
  const newest = open.find(({ environment }) => environment === here) ?? open[0];
  const run = wanted === true ? newest : open.find(({ id }) => id === wanted);
  if (run !== undefined) {
    await assertSameOrigin(context, run, `Stocktake ${run.id}`, `inventory count --resume ${run.id}`);
    return run;
  }
  const counted = counts.find(({ environment, id }) => (wanted === true ? environment === here : id === wanted));
  if (counted !== undefined) throw cannotResume(...notApplied(counted));
  throw cannotResume(
    wanted === true ? 'No stocktake was left unfinished' : `Run ${wanted} is not an unfinished stocktake`,
  );
}

/** Says that a stocktake is counted, and how to apply what is left of it. */
export function notApplied(run: RunSummary): [problem: string, hint: string] {
  const problem = `Stocktake ${run.id} is not applied yet (${plural(run.left, 'row')} left)`;
  return [problem, `Resume it with: ${resumeCommand(run)}`];
}

/** Plans the counted quantities, and 0 for the pets of `rest`. A pet that was changed meanwhile is a conflict. */
export function planCount(scanned: readonly Wanted[], rest: readonly InventoryItem[], stock: Stock): Plan {
  const zeros = rest.map(({ petId, quantity }) => ({ petId, quantity: 0n, current: quantity, isRest: true }));
  const rows: readonly (Wanted & { readonly isRest?: boolean })[] = [...scanned, ...zeros];
  return makePlan(rows, stock, (row, present) => {
    // Even if it was sold to the number counted: the count may be of before or after that.
    if (present === row.current) return undefined;
    const when = row.isRest === true ? 'when this count was opened' : 'when it was first scanned';
    return `there were ${row.current} ${when}, and there are ${present} now: count it again`;
  });
}

/** Shows which pets are left as they are. */
export async function showUnscanned(
  context: CommandContext,
  { origin }: Run,
  rest: readonly InventoryItem[],
): Promise<void> {
  if (rest.length === 0) return;
  const { notices } = context;
  const shown = rest.slice(0, SHOWN);
  const names = await openNames(context, origin, shown);
  notices.info(`Not scanned, left as they are: ${plural(rest.length, 'pet')} (--rest zero sets them to 0).`);
  const ids = aligned(shown, ({ petId }) => `${petId}`);
  const quantities = aligned(shown, ({ quantity }) => `${quantity}`);
  for (const [i, { petId }] of shown.entries())
    notices.info(`  pet ${ids[i]}  ${quantities[i]}  ${names?.get(petId) ?? ''}`.trimEnd());
  if (rest.length > SHOWN) notices.info(`  and ${rest.length - SHOWN} more`);
}

/** `count --due`: lists the pets that this machine has not counted since `due`, epoch ms; those never counted first. */
export async function dueForCount(context: CommandContext, due: number): Promise<RowsView> {
  await using session = await connect(context);
  const stock = await readStock(session.service);
  using journal = await openJournal(context);
  const counted = journal.lastCounted(session.origin);
  const never = FORMAT_FACTS[context.globals.output].isForPeople ? 'never' : undefined;
  const at = (petId: bigint): number => counted.get(petId) ?? Number.NEGATIVE_INFINITY;
  const pets = [...stock.values()].filter(({ petId }) => at(petId) <= due);
  const names = await openNames(context, session.origin, pets);
  return list<InventoryItem>(
    // Not the difference: it is NaN for two pets that were never counted.
    pets.toSorted((a, b) => (at(a.petId) < at(b.petId) ? -1 : Number(at(a.petId) > at(b.petId)))),
    {
      petId: ({ petId }) => petId,
      name: ({ petId }) => names?.get(petId),
      quantity: ({ quantity }) => quantity,
      counted: ({ petId }) => (counted.has(petId) ? new Date(at(petId)) : never),
    },
    { empty: 'Every pet has been counted since.' },
  );
}
