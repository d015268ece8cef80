/** Reads the columns of a row. They have the types that their STRICT tables give them. */
import type { SqlRow } from '../ports.ts';

type Read<T> = (row: SqlRow, column: string) => T;

/** Returns undefined for NULL. */
export function optional<T>(row: SqlRow, column: string, read: Read<T>): T | undefined {
  return row[column] === null ? undefined : read(row, column);
}

export const text: Read<string> = (row, column) => row[column] as string;

export const integer: Read<bigint> = (row, column) => row[column] as bigint;

/** Epoch ms, or a count. */
export const number: Read<number> = (row, column) => Number(row[column]);

/** Reads an integer of any size, which is stored as text. */
export const quantity: Read<bigint> = (row, column) => BigInt(text(row, column));
