/** Reads and stores the rows of the journal's tables. */
import type { Database, SqlRow, SqlValue } from '../ports.ts';

export const KINDS = ['import', 'count', 'edit', 'browse', 'undo', 'redo', 'smoke'] as const;

export type RunKind = (typeof KINDS)[number];
export type ChangeState =
  'planned' | 'sent' | 'applied' | 'failed' | 'unknown' | 'unchanged' | 'conflict' | 'discarded';

/** Causes of a change of stock. */
export const CAUSES = [
  'received',
  'sold',
  'returned',
  'died',
  'damaged',
  'lost',
  'count',
  'correction',
  'other',
] as const;

export type Cause = (typeof CAUSES)[number];

export interface Run {
  readonly id: bigint;
  readonly kind: RunKind;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly environment: string;
  /** Origin of the service. */
  readonly origin: string;
  /** File that the rows came from. */
  readonly source?: string | undefined;
  /** SHA-256 of that file. */
  readonly hash?: string | undefined;
  /** SHA-256 of the rows that it adds, in whatever order and file: to apply them again would add twice. */
  readonly adds?: string | undefined;
  /** If it adds only what a delivery has more than was added before: the first run of that delivery. */
  readonly restOf?: bigint | undefined;
  /** For an undo or redo: the run that it undoes or redoes. */
  readonly undoesRun?: bigint | undefined;
  /** For an undo or redo: the single change that it undoes or redoes. */
  readonly undoesChange?: bigint | undefined;
}

/** A run with the counts of its rows: done, left, in conflict, failed and discarded. */
export interface RunSummary extends Run {
  readonly done: number;
  readonly left: number;
  readonly conflicts: number;
  readonly failed: number;
  readonly discarded: number;
  /** Number of scans of a stocktake. */
  readonly scans: number;
  /** True while rows are left, scans are not applied, or the pet of a smoke test is not restored. */
  readonly isUnfinished: boolean;
}

export interface Change {
  readonly id: bigint;
  readonly run?: bigint | undefined;
  /** Line in the file. */
  readonly line?: number | undefined;
  readonly environment: string;
  readonly origin: string;
  readonly command: string;
  readonly person: string;
  /** Undefined if the user did not give one; the same for `note`. */
  readonly cause?: Cause | undefined;
  readonly note?: string | undefined;
  readonly petId: bigint;
  /** The pet's name in the catalog, where the change is shown. */
  readonly name?: string | undefined;
  /** The quantity before, if known. */
  readonly before?: bigint | undefined;
  readonly after: bigint;
  readonly state: ChangeState;
  readonly reason?: string | undefined;
  /** Epoch ms. */
  readonly sentAt?: number | undefined;
  /** Place in the order of this machine's writes, whatever the clock said: when it was sent, before that when it was planned. */
  readonly turn: bigint;
}

type State = Pick<Change, 'state'>;

/** True for a change that was sent, and no answer has said whether it was applied. */
export function isUncertain({ state }: State): boolean {
  return state === 'sent' || state === 'unknown';
}

/** True for a change that a run still has to apply, or whose outcome is unknown. */
export function isLeft(change: State): boolean {
  return change.state === 'planned' || isUncertain(change);
}

/** True for a change that was, or may have been, applied: the stock shows which. */
export function mayBeApplied(change: Change): boolean {
  const { state, sentAt } = change;
  return state === 'applied' || isUncertain(change) || (state === 'conflict' && sentAt !== undefined);
}

/** True for a change that could not be applied. */
export function isUnapplied({ state }: State): boolean {
  return state === 'failed' || state === 'conflict';
}

/** Returns the outcome for people: `unknown` for a change whose process was killed after sending it. */
export function outcomeOf({ state }: State): string {
  return state === 'sent' ? 'unknown' : state;
}

/** One scan of a stocktake; `seq` counts from 1. */
export interface Scan {
  readonly seq: number;
  readonly petId: bigint;
  readonly quantity: bigint;
  /** The service's quantity at that time. */
  readonly stock: bigint;
}

/** A change of `inventory browse` that is not applied yet. */
export interface DraftChange {
  readonly petId: bigint;
  /** The quantity that the user saw. */
  readonly current: bigint;
  /** The quantity to set. */
  readonly quantity: bigint;
}

/** Columns that stay bigint; all other integers are epoch ms and counts. */
const IDS = new Set(['id', 'run', 'petId', 'turn', 'noted', 'restOf', 'undoesRun', 'undoesChange']);
/** Columns with integers of any size, which are stored as text. */
const QUANTITIES = new Set(['before', 'after', 'current', 'quantity', 'stock', 'min', 'target']);
const FLAGS = new Set(['isForced', 'isProvided', 'isUnfinished']);

/** Converts a row whose columns are T's fields. NULL becomes undefined. @throws {SyntaxError | RangeError} damage */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- who asks knows the columns
export function fromRow<T>(row: SqlRow): T {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) {
    if (value === null) continue;
    if (QUANTITIES.has(name)) result[name] = BigInt(text(row, name));
    else if (FLAGS.has(name)) result[name] = value === 1n;
    else if (typeof value !== 'bigint' || IDS.has(name)) result[name] = value;
    else if (Number.isNaN(new Date(Number(value)).getTime())) throw new RangeError(`${name} is out of range`);
    else result[name] = Number(value);
  }
  return result as T;
}

/** Inserts a record into a table whose columns are named like its fields. Undefined becomes NULL. */
export function insertInto(
  database: Pick<Database, 'run'>,
  table: string,
  record: Readonly<Record<string, string | bigint | number | undefined>>,
): void {
  const names = Object.keys(record);
  const values = Object.entries(record).map(([name, value]): SqlValue => {
    if (typeof value === 'number') return BigInt(Math.round(value));
    if (value === undefined) return null;
    return QUANTITIES.has(name) ? value.toString() : value;
  });
  database.run(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`, ...values);
}

export const text = (row: SqlRow, column: string) => row[column] as string;

export const integer = (row: SqlRow, column: string) => row[column] as bigint;
