/** The pets of a new sandbox: always the same, few enough to read, and with values that break other clients. */
import type { InventoryItem } from '../api/item.ts';
import type { PetStatus } from '../api/values.ts';

type Row = [
  petId: bigint,
  quantity: bigint,
  status: PetStatus,
  name: string,
  barcode?: string,
  min?: bigint,
  target?: bigint,
];

const ROWS: readonly Row[] = [
  [1n, 14n, 'available', 'Canary', '2000000000015', 5n, 15n],
  [2n, 3n, 'available', 'Guppy', '2000000000022', 10n, 30n],
  [3n, 0n, 'sold', 'Red macaw'],
  [4n, 8n, 'available', 'Dwarf rabbit'],
  [5n, 25n, 'available', 'Neon tetra', '2000000000053', 20n, 60n],
  [6n, 1n, 'pending', 'Corn snake'],
  [7n, 10n, 'available', 'Goldfish', '2000000000077', 4n, 20n],
  [8n, 6n, 'available', 'Budgerigar', '2000000000084', 4n, 10n],
  [9n, 0n, 'sold', 'Persian cat'],
  [10n, 40n, 'available', 'House cricket', '2000000000107', 30n, 100n],
  [11n, 2n, 'available', 'Leopard gecko', '2000000000114', 2n, 4n],
  [12n, 5n, 'pending', 'Hamster', '2000000000121', 3n, 8n],
  [13n, 18n, 'available', 'Zebra finch'],
  [14n, 1n, 'available', 'Bearded dragon', '', 1n, 3n],
  [15n, 120n, 'available', 'Ghost shrimp', '2000000000152', 50n, 200n],
  [16n, 0n, 'pending', 'Löwchen'],
  [17n, 7n, 'available', 'Guinea pig'],
  [18n, 9n, 'available', 'White mouse'],
  [19n, 0n, 'available', 'Axolotl', '', 1n],
  [20n, 33n, 'available', 'Cherry shrimp'],
  [21n, 4n, 'pending', 'Chinchilla'],
  [22n, 11n, 'available', 'Ramshorn snail'],
  [23n, 2n, 'sold', 'Tortoise'],
  // Beyond 2^53, and the largest int64: they expose a client that reads ids as doubles.
  [9007199254740993n, 4n, 'available', 'Koi'],
  [9223372036854775807n, 1n, 'available', 'Tarantula'],
];

export function seedItems(): InventoryItem[] {
  return ROWS.map(([petId, quantity, status]) => ({ petId, quantity, status }));
}

/** Returns the catalog of a new sandbox. Barcodes have 14 digits, with the prefix for a shop's own labels. */
export function seedCatalog() {
  return ROWS.map(([petId, , , name, barcode = '', min, target]) => {
    return { petId, name, barcodes: barcode === '' ? [] : [barcode.padStart(14, '0')], min, target };
  });
}

const FIRST_GENERATED = 24n;

/**
 * Returns `count` pets: those of a new sandbox in order, then generated ones, always the same, however often they are
 * read. About one in eight is sold, one in eight pending, and one in twenty out of stock.
 */
export function generatedPets(count: number): Iterable<InventoryItem> {
  return { [Symbol.iterator]: () => generated(count) };
}

function* generated(count: number): Generator<InventoryItem> {
  const known = seedItems();
  yield* known.slice(0, count);
  for (let i = 0; i < count - known.length; i++) {
    // Knuth's multiplicative hash spreads neighbours, the same on every machine.
    const mixed = Math.imul(i + 1, 2_654_435_761) >>> 0;
    const status = mixed % 8 === 0 ? 'sold' : mixed % 8 === 1 ? 'pending' : 'available';
    const quantity = (mixed >>> 8) % 20 === 0 ? 0n : BigInt((mixed >>> 3) % 120);
    yield { petId: FIRST_GENERATED + BigInt(i), quantity, status };
  }
}
