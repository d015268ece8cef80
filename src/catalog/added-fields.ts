/** Adds the catalog's data to the items of a list: names, how many to order, and sorting by name. */
import type { InventoryItem } from '../api/item.ts';
import { isOneOf, ITEM_FIELDS } from '../api/values.ts';
import { usageFailure } from '../errors.ts';
import type { Catalog } from './local-catalog.ts';

/** How many rows to read before a column that none of them has is refused. */
const MOST_HELD = 10_000;

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
  batches: AsyncIterable<readonly InventoryItem[]>,
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

/**
 * Holds rows back until every column has occurred in one of them, so that nothing is printed for a mistyped name.
 * @throws {Failure} `usage`
 */
export async function* withColumns(
  batches: AsyncIterable<readonly InventoryItem[]>,
  columns: readonly string[],
): AsyncGenerator<readonly InventoryItem[]> {
  const missing = new Set(columns.filter((name) => !isOneOf(ITEM_FIELDS, name)));
  const held: InventoryItem[] = [];
  for await (const items of batches) {
    if (missing.size === 0) {
      yield items;
      continue;
    }
    for (const { extra } of items) for (const name of extra?.keys() ?? []) missing.delete(name);
    held.push(...items);
    if (missing.size > 0 && held.length >= MOST_HELD) break;
    if (missing.size === 0) yield held;
  }
  if (missing.size === 0 || held.length === 0) return;
  const known = [...ITEM_FIELDS, ...new Set(held.flatMap(({ extra }) => [...(extra?.keys() ?? [])]))];
  const names = [...missing].map((name) => JSON.stringify(name)).join(', ');
  throw usageFailure(
    `Unknown column ${names}: the pets have ${known.join(', ')}${missing.has('name') ? '' : ', and name from a catalog'}.`,
    missing.has('name') ? 'Names come from a catalog: petstore catalog import FILE' : undefined,
  );
}
