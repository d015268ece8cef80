/** Filters the items of a list. */
import { usageFailure } from '../errors.ts';
import type { InventoryItem } from './item.ts';

export interface Filter {
  readonly status?: readonly string[] | undefined;
  readonly pet?: readonly bigint[];
  /** Inclusive bounds of the quantity. */
  readonly min?: bigint | undefined;
  readonly max?: bigint | undefined;
  /** Another condition. */
  readonly where?: (item: InventoryItem) => boolean;
}

export function isFilter({ status, pet, min, max, where }: Filter): boolean {
  return [status, pet, min, max, where].some((each) => each !== undefined);
}

/** @throws {Failure} `usage`: nothing can match */
export function matcher({ status, pet, min, max, where }: Filter): (item: InventoryItem) => boolean {
  if (min !== undefined && max !== undefined && min > max)
    throw usageFailure(`No quantity is at least ${min} and at most ${max}.`);
  const ids = pet === undefined ? undefined : new Set(pet);
  return (item) =>
    ids?.has(item.petId) !== false &&
    status?.includes(item.status) !== false &&
    (min === undefined || item.quantity >= min) &&
    (max === undefined || item.quantity <= max) &&
    where?.(item) !== false;
}
