/** The values of `sandbox serve`, as light as any command's: what serves is loaded by who serves. */
import { parseInteger } from '../api/values.ts';
import { parseSignedDuration } from '../duration.ts';
import { Failure } from '../errors.ts';
import type { PLANS, Rules } from '../sandbox/plans.ts';

export type PlanName = keyof typeof PLANS | 'custom';
export const PLAN_NAMES: readonly PlanName[] = ['free', 'pro', 'business', 'custom'];

export interface RuleInput {
  readonly plan: PlanName;
  readonly perMinute?: number;
  readonly perDay?: number;
  /** In ms. */
  readonly minute?: number;
  readonly banAfter: number;
  readonly banFor: number;
  readonly banStatus: number;
  readonly quantity: Rules['quantity'];
  readonly retryAfterFormat: Rules['retryAfter'];
  readonly withUndocumented?: boolean;
}

/** `0..1000`. @throws {Failure} `invalid-value` */
export function rangeValue(text: string): Rules['quantity'] {
  const [least, most, ...rest] = text.split('..').map(parseInteger);
  if (least !== undefined && most !== undefined && rest.length === 0 && least <= most) return { least, most };
  throw new Failure('invalid-value', {
    name: '--quantity',
    value: text,
    expected: 'a range such as 0..1000 or -10..10',
  });
}

/** `-1h` -> ms. @throws {Failure} `invalid-value` */
export function skewValue(text: string): number {
  const ms = parseSignedDuration(text);
  if (ms !== undefined) return ms;
  throw new Failure('invalid-value', {
    name: '--clock-skew',
    value: text,
    expected: 'a duration such as 30s, 1h or -1h',
  });
}

/** A made-up key. @throws {Failure} `invalid-value` */
export function keyValue(text: string): string {
  if (/^[\x21-\x7e]{1,200}$/.test(text)) return text;
  throw new Failure('invalid-value', { name: 'a key', value: text, expected: 'printable characters without spaces' });
}
