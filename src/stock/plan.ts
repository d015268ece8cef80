/** Plans rows against the current stock (which pets to change, leave, or report), and shows the plan. */
import type { InventoryItem } from '../api/item.ts';
import { jsonObject, stringifyJson } from '../api/json.ts';
import { Failure } from '../errors.ts';
import { NO_SUCH_PET } from '../report/failure-meaning.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { type PetNames, tableNames } from '../session/open-catalog.ts';
import type { NewChange } from '../state/journal.ts';
import { roleOf } from '../view/style.ts';
import { FORMAT_FACTS, list, type RowsView } from '../view/view.ts';
import { plural, signed } from '../view/words.ts';
import { readStock, type Stock } from './runner.ts';

export interface Plan {
  readonly steps: readonly Step[];
  /** Pets that already have the wanted quantity. */
  readonly unchanged: readonly NewChange[];
  /** Rows that cannot be applied, and why. */
  readonly obstacles: readonly (NewChange & { readonly reason: string })[];
}

export type Step = NewChange & { readonly before: bigint };

/** The quantity that a pet should have. */
export interface Wanted extends Pick<NewChange, 'line' | 'petId' | 'cause' | 'note'> {
  readonly quantity: bigint;
  /** The quantity that the pet is expected to have. */
  readonly current?: bigint | undefined;
}

/** Plans rows that set quantities. @param conflictOf returns why a row must not be applied, if so */
export function makePlan<R extends Wanted>(
  rows: readonly R[],
  stock: Stock,
  conflictOf: (row: R, present: bigint) => string | undefined = conflictWithFile,
): Plan {
  const steps: Plan['steps'][number][] = [];
  const obstacles: Plan['obstacles'][number][] = [];
  const unchanged: NewChange[] = [];
  for (const row of rows) {
    const { line, petId, quantity: after, cause, note } = row;
    const change = { line, petId, after, cause, note };
    const before = stock.get(petId)?.quantity;
    const conflict = before === undefined ? undefined : conflictOf(row, before);
    if (before === undefined) obstacles.push({ ...change, state: 'failed', reason: NO_SUCH_PET });
    else if (conflict !== undefined) obstacles.push({ ...change, state: 'conflict', before, reason: conflict });
    else if (before === after) unchanged.push({ ...change, state: 'unchanged', before });
    else steps.push({ ...change, before });
  }
  return { steps, unchanged, obstacles };
}

export function makeAddingPlan(rows: readonly Wanted[], stock: Stock, allowNegative: boolean): Plan {
  const goals = rows.map((row) => ({ ...row, quantity: (stock.get(row.petId)?.quantity ?? 0n) + row.quantity }));
  return makePlan(goals, stock, (goal, present) => {
    const { quantity } = goal;
    if (quantity < 0n && quantity < present && !allowNegative) {
      return `not enough: ${present} in stock, ${present - quantity} to take away`;
    }
    return conflictWithFile(goal, present);
  });
}

function conflictWithFile(row: Wanted, present: bigint): string | undefined {
  return isUnexpected(row, present) ? `the file expects ${row.current}, but there are ${present}` : undefined;
}

/** Tells whether a pet has neither the quantity that it is expected to have nor the wanted one. */
export function isUnexpected({ quantity, current }: Wanted, present: bigint): boolean {
  return current !== undefined && current !== present && quantity !== present;
}

/** Returns the pets in stock that none of a stocktake's rows is for. */
export function unscanned(rows: readonly Pick<NewChange, 'petId'>[], stock: Stock): InventoryItem[] {
  const petIds = new Set(rows.map(({ petId }) => petId));
  return [...stock.values()].filter(({ petId, quantity }) => quantity !== 0n && !petIds.has(petId));
}

/** Most lines of a plan to print. */
export const PLAN_LINES = 40;

/** Returns a cell of each row, all at the right of their column. */
export function aligned<Row>(rows: readonly Row[], cellOf: (row: Row) => string): string[] {
  const cells = rows.map(cellOf);
  const width = Math.max(0, ...cells.map(({ length }) => length));
  return cells.map((cell) => cell.padStart(width));
}

/** Returns the lines of the plan: `7  10 → 12  +2`, and the name if there is one. */
export function planLines(plan: Plan, names?: PetNames): string[] {
  const { steps, obstacles } = plan;
  const shown = steps.slice(0, PLAN_LINES);
  const ids = aligned(shown, ({ petId }) => `${petId}`);
  const befores = aligned(shown, ({ before }) => `${before}`);
  const afters = aligned(shown, ({ after }) => `${after}`);
  const changes = aligned(shown, ({ before, after }) => signed(after - before));
  const lines = shown.map(({ petId }, i) =>
    `  pet ${ids[i]}  ${befores[i]} → ${afters[i]}  ${changes[i]}  ${names?.get(petId) ?? ''}`.trimEnd(),
  );
  return [
    ...lines,
    ...(steps.length > PLAN_LINES ? [`  and ${steps.length - PLAN_LINES} more`] : []),
    ...obstacles.slice(0, PLAN_LINES).map(({ line, petId, state, reason }) => {
      const where = line === undefined ? '' : ` (line ${line})`;
      return `  pet ${petId}${where}: ${state === 'conflict' ? 'conflict, ' : ''}${reason}`;
    }),
    ...(obstacles.length > PLAN_LINES ? [`  and ${obstacles.length - PLAN_LINES} more that cannot be changed`] : []),
    totalsOf(plan),
  ];
}

/** Returns `2 pets to change (+1 in all), 3 unchanged.` */
function totalsOf({ steps, unchanged, obstacles }: Plan): string {
  const sum = steps.reduce((all, { before, after }) => all + after - before, 0n);
  const blocked = obstacles.length === 0 ? '' : `, ${obstacles.length} that cannot be changed`;
  return `${plural(steps.length, 'pet')} to change (${signed(sum)} in all), ${unchanged.length} unchanged${blocked}.`;
}

/**
 * Shows what a run would change, and rows that cannot be applied; nothing is asked, journaled or written.
 * @param isCheck fails with `would-change` if there are any
 */
export async function dryRunPlan(
  context: CommandContext,
  { plan }: { plan(stock: Stock): Plan },
  isCheck = false,
): Promise<RowsView<NewChange>> {
  await using session = await connect(context);
  const { environment, origin } = session;
  const found = plan(await readStock(session.service));
  const { steps, obstacles } = found;
  const rows = [...steps, ...obstacles];
  const differences = { changes: steps.length, obstacles: obstacles.length };
  const names = await tableNames(context, origin, rows);
  const hasProblems =
    !FORMAT_FACTS[context.globals.output].isForPeople || rows.some(({ reason }) => reason !== undefined);
  return list<NewChange>(
    rows,
    {
      petId: ({ petId }) => petId,
      ...(names !== undefined && { name: ({ petId }: NewChange) => names.get(petId) }),
      before: ({ before }) => before,
      after: ({ after }) => after,
      change: ({ before, after }) => (before === undefined ? undefined : after - before),
      ...(hasProblems && { problem: ({ reason }: NewChange) => reason }),
    },
    {
      jsonText: ({ petId, before = null, after, line = null, reason: problem = null }) =>
        stringifyJson(jsonObject({ petId, before, after, line, problem })),
      empty: 'Nothing would be changed.',
      summary: () => `${totalsOf(found)} Dry run in ${environment}: no write is sent.`,
      looks: { petId: { role: ({ state = '' }) => roleOf('state', state) }, change: { isSigned: true } },
      check: () => (isCheck && rows.length > 0 ? new Failure('would-change', differences) : undefined),
    },
  );
}
