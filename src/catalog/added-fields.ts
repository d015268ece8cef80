/** Adds the catalog's data to the items of a list: names, how many to order, and sorting by name. */
import type { InventoryItem } from '../api/item.ts';
import type { Catalog } from './local-catalog.ts';

type Batches = AsyncIterable<readonly InventoryItem[]>;

/** Returns how many to order of a pet at or below its minimum; undefined for any other. Undefined itself without --low. */
export type Orders = ((item: InventoryItem) => bigint | undefined) | undefined;

/** @param low the minimum of pets without one; true omits such pets */
export function ordersOf(low: bigint | true | undefined, catalog: Catalog | undefined): Orders {
  if (low === undefined) return undefined;
  return ({ petId, quantity }) => {
    const { min, target } = catalog?.levelOf(petId) ?? {};
    const least = min ?? (low === true ? undefined : low);
    if (least === undefined || quantity > least) return undefined;
    const missing = (target ?? least) - quantity;
    return missing > 0n ? missing : 0n;
  };
}

interface Sources {
  readonly catalog: Catalog | undefined;
  /** The catalog, if names are shown. */
  readonly names: Catalog | undefined;
  readonly orders: Orders;
}

/** Yields the items with `name` (may be empty) and `order`, where these are shown. Closes the catalog at the end. */
export async function* withFields(
  batches: Batches,
  { catalog, names, orders }: Sources,
): AsyncGenerator<readonly InventoryItem[]> {
  using _catalog = catalog;
  for await (const items of batches) {
    const known = names?.namesOf(items.map(({ petId }) => petId));
    yield items.map((item) => {
      const { petId, quantity, status } = item;
      const extra = new Map(item.extra);
      if (known !== undefined) extra.set('name', known.get(petId) ?? '');
      if (orders !== undefined) extra.set('order', orders(item) ?? null);
      return { petId, quantity, status, extra };
    });
  }
}

/** Yields all items sorted by name, those without a name last. @param isDown sorts from Z to A */
export async function* sortedByName(
  batches: Batches,
  catalog: Catalog | undefined,
  isDown: boolean,
): AsyncGenerator<readonly InventoryItem[]> {
  const items: InventoryItem[] = [];
  for await (const batch of batches) items.push(...batch);
  yield catalog?.byName(items, isDown) ?? items;
}
