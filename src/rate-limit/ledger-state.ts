/** A key's state as text, and back from whatever a database or server holds. */
import { LONGEST_BLOCK_MS } from './block.ts';
import { type Block, BLOCK_REASONS, type LedgerState, UNKNOWN } from './governor.ts';
import type { Reservation, Window } from './windows.ts';

export function stringifyState(state: LedgerState): string {
  return JSON.stringify(state);
}

/**
 * Parses a state. What is damaged, or of another version, is unknown: one probe finds out. A block in it
 * still counts, if it can be read.
 */
export function parseState(text: string): LedgerState {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return UNKNOWN;
  }
  if (!isObject(value)) return UNKNOWN;
  const { windows, block, strikes, probe, inFlight, pace, seenAt } = value;
  const known = isBlock(block)
    ? { block: { ...block, until: Math.min(block.until, block.since + LONGEST_BLOCK_MS) } }
    : {};
  if (!isListOf(windows, isWindow) || !isListOf(inFlight, isReservation) || !isCount(strikes)) {
    return { ...UNKNOWN, ...known, strikes: isCount(strikes) ? strikes : 0 };
  }
  return {
    windows,
    inFlight,
    strikes,
    ...known,
    ...(isReservation(probe) && { probe }),
    ...(isPace(pace) && { pace }),
    ...(typeof seenAt === 'number' && { seenAt }),
  };
}

function isBlock(value: unknown): value is Block {
  return isObject(value) && areTimes(value, 'since', 'until') && BLOCK_REASONS.some((each) => each === value.why);
}

function isPace(value: unknown): value is NonNullable<LedgerState['pace']> {
  return isObject(value) && areTimes(value, 'everyMs', 'nextAt');
}

function isWindow(value: unknown): value is Window {
  return (
    isObject(value) &&
    areTimes(value, 'resetAt', 'seenAt') &&
    [value.limit, value.remaining, value.atFirst, value.sent, value.quiet].every(isCount) &&
    isListOf(value.operations, (each) => typeof each === 'string') &&
    isObject(value.reported) &&
    Object.values(value.reported).every(isCount) &&
    typeof value.sharedWithOthers === 'boolean' &&
    typeof value.overdrawn === 'boolean'
  );
}

function isReservation(value: unknown): value is Reservation {
  return (
    isObject(value) &&
    typeof value.id === 'string' &&
    typeof value.operation === 'string' &&
    areTimes(value, 'at', 'lostAt')
  );
}

function areTimes(value: Readonly<Record<string, unknown>>, ...names: readonly string[]): boolean {
  return names.every((name) => Number.isFinite(value[name]));
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isListOf<T>(value: unknown, isOne: (each: unknown) => each is T): value is readonly T[];
function isListOf(value: unknown, isOne: (each: unknown) => boolean): value is readonly string[];
function isListOf(value: unknown, isOne: (each: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
