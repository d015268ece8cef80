/** Counts a list of items by their status: exact, and without the bigints of plain items. */
import { type InventoryItem, PlainItem } from './item.ts';
import { isOneOf, PET_STATUSES } from './values.ts';

export interface StatusSummary {
  readonly status: string;
  readonly pets: number;
  readonly quantity: bigint;
  /** Pets with a quantity of 0 or less. */
  readonly outOfStock: number;
}

/** Adds up integers: as a number as long as that is exact, which takes a tenth of a bigint's time. */
class Sum {
  private large = 0n;
  private small = 0;

  add(value: number | bigint): void {
    if (typeof value === 'bigint') {
      this.large += value;
      return;
    }
    const sum = this.small + value;
    if (Number.isSafeInteger(sum)) this.small = sum;
    else {
      this.large += BigInt(this.small);
      this.small = value;
    }
  }

  get value(): bigint {
    return this.large + BigInt(this.small);
  }
}

class Tally {
  pets = 0;
  outOfStock = 0;
  readonly quantity = new Sum();

  add(quantity: number | bigint): void {
    this.pets++;
    if (quantity <= 0) this.outOfStock++;
    this.quantity.add(quantity);
  }
}

export class StockSummary {
  private readonly tallies: Map<string, Tally>;

  /** `statuses`: of the rows that are there without a pet, too. */
  constructor(statuses: readonly string[] = PET_STATUSES) {
    const known = PET_STATUSES.filter((status) => statuses.includes(status));
    this.tallies = new Map(known.map((status) => [status, new Tally()]));
  }

  add(items: readonly InventoryItem[]): void {
    for (const item of items) {
      const { status } = item;
      let tally = this.tallies.get(status);
      if (tally === undefined) {
        tally = new Tally();
        this.tallies.set(status, tally);
      }
      tally.add(item instanceof PlainItem ? item.numberOf('quantity') : item.quantity);
    }
  }

  /** Returns the statuses of the contract, then others in the order of the alphabet. */
  rows(): StatusSummary[] {
    const others = [...this.tallies.keys()].filter((status) => !isOneOf(PET_STATUSES, status)).sort();
    const known = PET_STATUSES.filter((status) => this.tallies.has(status));
    return [...known, ...others].map((status) => {
      const { pets, quantity, outOfStock } = this.tallies.get(status)!;
      return { status, pets, quantity: quantity.value, outOfStock };
    });
  }
}
