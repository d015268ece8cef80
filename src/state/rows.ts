/** Reads the rows of the journal's tables. */
import type { SqlRow } from '../ports.ts';

export const KINDS = ['import', 'count', 'edit', 'undo', 'smoke'] as const;

export type RunKind = (typeof KINDS)[number];
export type ChangeState =
  'planned' | 'sent' | 'applied' | 'failed' | 'unknown' | 'unchanged' | 'conflict' | 'discarded';

export interface Run {
  readonly id: bigint;
  readonly kind: RunKind;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly environment: string;
  /** Of the service. */
  readonly origin: string;
  /** The file that the rows came from. */
  readonly source?: string | undefined;
  /** SHA-256 of that file. */
  readonly hash?: string | undefined;
  /** True if its rows were added to the stock, so that applying them again would add twice. */
  readonly adds?: boolean;
}

/** A run, and how many of its rows are done, left and discarded. */
export interface RunSummary extends Run {
  readonly done: number;
  readonly left: number;
  readonly discarded: number;
  /** Of a stocktake. */
  readonly scans: number;
}

export interface Change {
  readonly id: bigint;
  readonly run?: bigint | undefined;
  /** Of the file. */
  readonly line?: number | undefined;
  readonly environment: string;
  readonly origin: string;
  readonly command: string;
  readonly person: string;
  readonly petId: bigint;
  /** What was there, where that is known. */
  readonly before?: bigint | undefined;
  readonly after: bigint;
  readonly state: ChangeState;
  readonly reason?: string | undefined;
  /** Epoch ms. */
  readonly sentAt?: number | undefined;
}

/** One scan of a stocktake; `seq` counts from 1. */
export interface Scan {
  readonly seq: number;
  readonly petId: bigint;
  readonly quantity: bigint;
}

export function toRun(row: SqlRow): Run {
  return {
    id: integer(row, 'id'),
    kind: text(row, 'kind') as RunKind,
    startedAt: number(row, 'startedAt'),
    endedAt: optional(row, 'endedAt', number),
    environment: text(row, 'environment'),
    origin: text(row, 'origin'),
    source: optional(row, 'source', text),
    hash: optional(row, 'hash', text),
    adds: optional(row, 'adds', integer) === 1n,
  };
}

export function toRunSummary(row: SqlRow): RunSummary {
  return {
    ...toRun(row),
    done: number(row, 'done'),
    left: number(row, 'open'),
    discarded: number(row, 'discarded'),
    scans: number(row, 'scans'),
  };
}

export function toChange(row: SqlRow): Change {
  return {
    id: integer(row, 'id'),
    run: optional(row, 'run', integer),
    line: optional(row, 'line', number),
    environment: text(row, 'environment'),
    origin: text(row, 'origin'),
    command: text(row, 'command'),
    person: text(row, 'person'),
    petId: integer(row, 'petId'),
    before: optional(row, 'before', quantity),
    after: quantity(row, 'after'),
    state: text(row, 'state') as ChangeState,
    reason: optional(row, 'reason', text),
    sentAt: optional(row, 'sentAt', number),
  };
}

export function toScan(row: SqlRow): Scan {
  return { seq: number(row, 'seq'), petId: integer(row, 'petId'), quantity: quantity(row, 'quantity') };
}

/** Reads a column of a row. It has the type that its STRICT table gives it. */
type Read<T> = (row: SqlRow, column: string) => T;

/** Returns undefined for NULL. */
export function optional<T>(row: SqlRow, column: string, read: Read<T>): T | undefined {
  return row[column] === null ? undefined : read(row, column);
}

export const text: Read<string> = (row, column) => row[column] as string;

export const integer: Read<bigint> = (row, column) => row[column] as bigint;

/** Epoch ms, or a count. */
const number: Read<number> = (row, column) => Number(row[column]);

/** Reads an integer of any size, which is stored as text. */
export const quantity: Read<bigint> = (row, column) => BigInt(text(row, column));
