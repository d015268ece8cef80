/** Compares rows with the present stock: which pets to change, which to leave, and which rows cannot be applied. */
import type { InventoryItem } from '../api/item.ts';
import { NO_SUCH_PET } from '../report/failure-meaning.ts';
import type { Row } from './rows.ts';

export type Stock = ReadonlyMap<bigint, InventoryItem>;

export interface Step {
  readonly line?: number | undefined;
  readonly petId: bigint;
  readonly before: bigint;
  readonly after: bigint;
}

/** A row that is not applied, and why. */
export interface Obstacle extends Omit<Step, 'before'> {
  readonly before?: bigint;
  readonly state: 'conflict' | 'failed';
  readonly reason: string;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** How many pets have the wanted quantity already. */
  readonly unchanged: number;
  readonly obstacles: readonly Obstacle[];
}

type Wanted = Omit<Row, 'line'> & Partial<Pick<Row, 'line'>>;

/** @param conflictOf returns why a row must not be applied to the present quantity, if it must not */
export function makePlan<R extends Wanted>(
  rows: readonly R[],
  stock: Stock,
  conflictOf: (row: R, present: bigint) => string | undefined = conflictWithFile,
): Plan {
  const steps: Step[] = [];
  const obstacles: Obstacle[] = [];
  let unchanged = 0;
  for (const row of rows) {
    const { line, petId, quantity: after } = row;
    const before = stock.get(petId)?.quantity;
    const conflict = before === undefined ? undefined : conflictOf(row, before);
    if (before === undefined) obstacles.push({ line, petId, after, state: 'failed', reason: NO_SUCH_PET });
    else if (conflict !== undefined)
      obstacles.push({ line, petId, after, state: 'conflict', before, reason: conflict });
    else if (before === after) unchanged++;
    else steps.push({ line, petId, before, after });
  }
  return { steps, unchanged, obstacles };
}

/** Plans rows that are added to the present stock. */
export function makeAddingPlan(rows: readonly Wanted[], stock: Stock, allowNegative: boolean): Plan {
  const goals = rows.map((row) => ({ ...row, quantity: (stock.get(row.petId)?.quantity ?? 0n) + row.quantity }));
  return makePlan(goals, stock, (goal, present) => {
    const { quantity } = goal;
    if (quantity < 0n && quantity < present && !allowNegative) {
      return `there are ${present}, and taking away ${present - quantity} would leave ${quantity}`;
    }
    return conflictWithFile(goal, present);
  });
}

function conflictWithFile({ quantity, current }: Wanted, present: bigint): string | undefined {
  if (current === undefined || current === present || quantity === present) return undefined;
  return `the file expects ${current}, but there are ${present}`;
}
