/** Reads the columns of a row. Each function throws BadValue for a value that petstore cannot have stored. */
import { DatabaseFailure, type SqlRow, type SqlValue } from '../ports.ts';

/** The last instant that a Date can hold, in epoch ms. */
const LAST_MS = 8_640_000_000_000_000n;

/** A value that does not belong in its column. */
export class BadValue extends DatabaseFailure {
  constructor(column: string, value: SqlValue | undefined) {
    const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : String(value);
    super('corrupt', `${column} is ${shown}`);
  }
}

/** The most digits of a quantity. The service's have fewer, and BigInt is slow with millions. */
const MOST_DIGITS = 2_000;

type Read<T> = (row: SqlRow, column: string) => T;

/** Returns undefined for NULL. */
export function optional<T>(row: SqlRow, column: string, read: Read<T>): T | undefined {
  return row[column] === null ? undefined : read(row, column);
}

export function text(row: SqlRow, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new BadValue(column, value);
  return value;
}

export function integer(row: SqlRow | undefined, column: string): bigint {
  const value = row?.[column];
  if (typeof value !== 'bigint') throw new BadValue(column, value);
  return value;
}

/** Epoch ms. */
export function instant(row: SqlRow, column: string): number {
  const value = integer(row, column);
  if (value < -LAST_MS || value > LAST_MS) throw new BadValue(column, value);
  return Number(value);
}

/** Reads an integer of any size, which is stored as text. */
export function quantity(row: SqlRow, column: string): bigint {
  const value = text(row, column);
  if (value.length > MOST_DIGITS || !/^-?\d+$/.test(value)) throw new BadValue(column, value);
  return BigInt(value);
}

export function oneOf<T extends string>(row: SqlRow, column: string, known: readonly T[]): T {
  const value = text(row, column);
  const found = known.find((each) => each === value);
  if (found === undefined) throw new BadValue(column, value);
  return found;
}
