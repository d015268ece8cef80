/** Reads the journal's rows. What SQLite would never have stored there is damage: it is named, and never used. */
import type { SqlRow, SqlValue } from '../ports.ts';

export type ChangeState = 'planned' | 'sent' | 'applied' | 'failed' | 'unknown' | 'unchanged' | 'conflict';
export type RunKind = 'import' | 'count' | 'edit' | 'undo';

export interface Run {
  readonly id: bigint;
  readonly kind: RunKind;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly environment: string;
  /** Of the service. */
  readonly origin: string;
  /** The file that the rows came from. */
  readonly source?: string;
  /** SHA-256 of that file. */
  readonly hash?: string;
}

export interface Change {
  readonly id: bigint;
  readonly run?: bigint;
  /** Of the file. */
  readonly line?: number;
  readonly environment: string;
  readonly origin: string;
  readonly command: string;
  readonly person: string;
  readonly petId: bigint;
  /** What was there, where that is known. */
  readonly before?: bigint;
  readonly after: bigint;
  readonly state: ChangeState;
  readonly reason?: string;
  /** Epoch ms. */
  readonly sentAt?: number;
  readonly settledAt?: number;
}

const KINDS: readonly RunKind[] = ['import', 'count', 'edit', 'undo'];
const STATES: readonly ChangeState[] = ['planned', 'sent', 'applied', 'failed', 'unknown', 'unchanged', 'conflict'];

/** The last instant that a Date can hold, in epoch ms. */
const LAST_MS = 8_640_000_000_000_000n;

/** A value that does not belong in its column. */
export class BadValue extends Error {
  constructor(column: string, value: SqlValue | undefined) {
    super(`${column} is ${typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : String(value)}`);
  }
}

/** @throws {BadValue} */
export function toRun(row: SqlRow): Run {
  const endedAt = optional(row, 'endedAt', instant);
  const source = optional(row, 'source', text);
  const hash = optional(row, 'hash', text);
  return {
    id: integer(row, 'id'),
    kind: oneOf(row, 'kind', KINDS),
    startedAt: instant(row, 'startedAt'),
    ...(endedAt !== undefined && { endedAt }),
    environment: text(row, 'environment'),
    origin: text(row, 'origin'),
    ...(source !== undefined && { source }),
    ...(hash !== undefined && { hash }),
  };
}

/** @throws {BadValue} */
export function toChange(row: SqlRow): Change {
  const run = optional(row, 'run', integer);
  const line = optional(row, 'line', integer);
  const before = optional(row, 'before', quantity);
  const reason = optional(row, 'reason', text);
  const sentAt = optional(row, 'sentAt', instant);
  const settledAt = optional(row, 'settledAt', instant);
  return {
    id: integer(row, 'id'),
    ...(run !== undefined && { run }),
    ...(line !== undefined && { line: Number(line) }),
    environment: text(row, 'environment'),
    origin: text(row, 'origin'),
    command: text(row, 'command'),
    person: text(row, 'person'),
    petId: integer(row, 'petId'),
    ...(before !== undefined && { before }),
    after: quantity(row, 'after'),
    state: oneOf(row, 'state', STATES),
    ...(reason !== undefined && { reason }),
    ...(sentAt !== undefined && { sentAt }),
    ...(settledAt !== undefined && { settledAt }),
  };
}

/** @throws {BadValue} */
export function toScan(row: SqlRow): { seq: number; petId: bigint; quantity: bigint } {
  return { seq: Number(integer(row, 'seq')), petId: integer(row, 'petId'), quantity: quantity(row, 'quantity') };
}

type Read<T> = (row: SqlRow, column: string) => T;

function optional<T>(row: SqlRow, column: string, read: Read<T>): T | undefined {
  return row[column] === null ? undefined : read(row, column);
}

function text(row: SqlRow, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new BadValue(column, value);
  return value;
}

function integer(row: SqlRow, column: string): bigint {
  const value = row[column];
  if (typeof value !== 'bigint') throw new BadValue(column, value);
  return value;
}

function instant(row: SqlRow, column: string): number {
  const value = integer(row, column);
  if (value < -LAST_MS || value > LAST_MS) throw new BadValue(column, value);
  return Number(value);
}

/** Kept as text: of any size. */
function quantity(row: SqlRow, column: string): bigint {
  const value = text(row, column);
  if (!/^-?\d+$/.test(value)) throw new BadValue(column, value);
  return BigInt(value);
}

function oneOf<T extends string>(row: SqlRow, column: string, known: readonly T[]): T {
  const value = text(row, column);
  const found = known.find((each) => each === value);
  if (found === undefined) throw new BadValue(column, value);
  return found;
}
