/** Filters the items of a list, and collects what is unexpected in them. */
import type { InventoryItem } from './item.ts';
import { isOneOf, PET_STATUSES } from './values.ts';

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

export function matcher({ status, pet, min, max, where }: Filter): (item: InventoryItem) => boolean {
  const ids = pet === undefined ? undefined : new Set(pet);
  return (item) =>
    ids?.has(item.petId) !== false &&
    status?.includes(item.status) !== false &&
    (min === undefined || item.quantity >= min) &&
    (max === undefined || item.quantity <= max) &&
    where?.(item) !== false;
}

/** Collects what a list contains beyond the contract, for one warning each. */
export class UnexpectedFields {
  private readonly statuses = new Set<string>();
  private readonly fields = new Set<string>();
  private readonly pets: Set<bigint>;

  /** `pets`: the requested pets, which may be missing. */
  constructor(pets: readonly bigint[] = []) {
    this.pets = new Set(pets);
  }

  see(items: readonly InventoryItem[]): void {
    for (const item of items) {
      if (this.pets.size > 0) this.pets.delete(item.petId);
      if (!isOneOf(PET_STATUSES, item.status)) add(this.statuses, item.status);
      for (const name of item.extra?.keys() ?? []) add(this.fields, name);
    }
  }

  warnings(): string[] {
    const { statuses, fields } = this;
    const sentences: [Iterable<unknown>, (list: string) => string][] = [
      [statuses, (list) => `The service sent a status that its contract does not list: ${list}.`],
      [fields, (list) => `The service sent fields that its contract does not list: ${list} (-o json shows them).`],
      [this.pets, (list) => `Not in the list: pet ${list}.`],
    ];
    return sentences.flatMap(([found, say]) => ([...found].length === 0 ? [] : [say([...found].join(', '))]));
  }
}

/** Warns once of all that the items contain beyond the contract. */
export function warnOfUnexpected(items: readonly InventoryItem[], notices: { warning(text: string): void }): void {
  const oddities = new UnexpectedFields();
  oddities.see(items);
  for (const warning of oddities.warnings()) notices.warning(warning);
}

/** Keeps the first few names only: a hostile list must not fill the memory. */
function add(names: Set<string>, name: string): void {
  if (names.size < 10) names.add(name.slice(0, 60));
}

/** Yields the same items, after passing each to `see`. */
export async function* eachSeen(
  batches: AsyncGenerator<readonly InventoryItem[]>,
  see: (item: InventoryItem) => void,
): AsyncGenerator<readonly InventoryItem[]> {
  for await (const items of batches) {
    items.forEach(see);
    yield items;
  }
}
