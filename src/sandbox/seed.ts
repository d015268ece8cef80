/** The store that a new sandbox has: always the same, small enough to read, and with what goes wrong elsewhere. */
import type { InventoryItem } from '../api/item.ts';
import type { PetStatus } from '../api/values.ts';

const ROWS: readonly [petId: bigint, quantity: bigint, status: PetStatus][] = [
  [1n, 14n, 'available'],
  [2n, 3n, 'available'],
  [3n, 0n, 'sold'],
  [4n, 8n, 'available'],
  [5n, 25n, 'available'],
  [6n, 1n, 'pending'],
  [7n, 10n, 'available'],
  [8n, 6n, 'available'],
  [9n, 0n, 'sold'],
  [10n, 40n, 'available'],
  [11n, 2n, 'available'],
  [12n, 5n, 'pending'],
  [13n, 18n, 'available'],
  [14n, 1n, 'available'],
  [15n, 120n, 'available'],
  [16n, 0n, 'pending'],
  [17n, 7n, 'available'],
  [18n, 9n, 'available'],
  [19n, 0n, 'available'],
  [20n, 33n, 'available'],
  [21n, 4n, 'pending'],
  [22n, 11n, 'available'],
  [23n, 2n, 'sold'],
  // Beyond 2^53, and the largest int64: a client that reads ids as doubles is found out at once.
  [9007199254740993n, 4n, 'available'],
  [9223372036854775807n, 1n, 'available'],
];

/** What the sandbox is meant for, and what it can list in a few seconds. */
export const MOST_PETS = 1_000_000;

export function seedItems(): InventoryItem[] {
  return ROWS.map(([petId, quantity, status]) => ({ petId, quantity, status }));
}

const FIRST_GENERATED = 24n;

/**
 * As many pets as asked for: those of a new sandbox, in order, then made-up ones, always the same.
 * About one in eight is sold, one in eight pending, and one in twenty has run out.
 */
export function* generatedPets(count: number): Generator<InventoryItem> {
  const known = seedItems();
  yield* known.slice(0, count);
  for (let i = 0; i < count - known.length; i++) {
    // Knuth's multiplicative hash: spreads neighbours, the same on every machine.
    const mixed = Math.imul(i + 1, 2_654_435_761) >>> 0;
    const status = mixed % 8 === 0 ? 'sold' : mixed % 8 === 1 ? 'pending' : 'available';
    const quantity = (mixed >>> 8) % 20 === 0 ? 0n : BigInt((mixed >>> 3) % 120);
    yield { petId: FIRST_GENERATED + BigInt(i), quantity, status };
  }
}
