/** Filters, order and oddities of a list of items: exact, and without a service. */
import { type InventoryItem, PlainItem } from './item.ts';
import { isOneOf, PET_STATUSES } from './values.ts';

export interface Filter {
  readonly status?: readonly string[];
  readonly pet?: readonly bigint[];
  /** Inclusive bounds of the quantity. */
  readonly min?: bigint;
  readonly max?: bigint;
}

export function isFilter({ status, pet, min, max }: Filter): boolean {
  return [status, pet, min, max].some((each) => each !== undefined);
}

/** Returns whether an item matches, without the bigints of a plain item, which would take longer than all else. */
export function matcher({ status, pet, min, max }: Filter): (item: InventoryItem) => boolean {
  const [least, most] = [min, max].map((bound) => (bound === undefined ? undefined : quick(bound)));
  const ids = pet === undefined ? undefined : new Set(pet.map(String));
  return (item) => {
    if (ids?.has(idDigits(item)) === false) return false;
    if (status?.includes(item.status) === false) return false;
    if (least === undefined && most === undefined) return true;
    const quantity = item instanceof PlainItem ? item.numberOf('quantity') : item.quantity;
    return (least === undefined || quantity >= least) && (most === undefined || quantity <= most);
  };
}

function idDigits(item: InventoryItem): string {
  return item instanceof PlainItem ? item.textOf('petId') : item.petId.toString();
}

/** Returns an integer as a number where it is exact as one; a bigint is exact beside a number, but slower. */
function quick(integer: bigint): number | bigint {
  const value = Number(integer);
  return Number.isSafeInteger(value) ? value : integer;
}

/** Collects what a list held beyond the contract, so that one warning each can name it. */
export class UnexpectedFields {
  private readonly statuses = new Set<string>();
  private readonly fields = new Set<string>();
  private readonly pets: Set<string>;

  /** `pets`: those that were asked for and may be missing. */
  constructor(pets: readonly bigint[] = []) {
    this.pets = new Set(pets.map(String));
  }

  see(items: readonly InventoryItem[]): void {
    for (const item of items) {
      if (this.pets.size > 0) this.pets.delete(idDigits(item));
      if (item instanceof PlainItem) continue;
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

/** A hostile list must not fill the memory with names: the first few tell enough. */
function add(names: Set<string>, name: string): void {
  if (names.size < 10) names.add(name.slice(0, 60));
}
