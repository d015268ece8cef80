/** Reads the journal's rows. What SQLite would never have stored there is damage: it is named, and never used. */
import type { SqlRow } from '../ports.ts';
import { instant, integer, oneOf, optional, quantity, text } from './columns.ts';

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
