/** Adds the names of the catalog to a list, and filters by them. */
import type { InventoryItem } from '../api/item.ts';
import type { Filter } from '../api/select.ts';
import type { Catalog } from '../catalog/catalog.ts';

/** The columns of a table where there is a catalog. */
export const NAMED_FIELDS = ['petId', 'name', 'quantity', 'status'] as const;

/** Turns --name into the ids that have it. */
export function filterOf(
  { name, pet, ...filter }: Filter & { readonly name?: string },
  catalog: Catalog | undefined,
): Filter {
  if (name === undefined) return { ...filter, ...(pet !== undefined && { pet }) };
  const found = catalog?.containing(name).map(({ petId }) => petId) ?? [];
  return { ...filter, pet: found.filter((petId) => pet?.includes(petId) !== false) };
}

/** Returns the items with a field `name`; empty for a pet that the catalog does not have. */
export async function* named(
  batches: AsyncIterable<readonly InventoryItem[]>,
  catalog: Catalog,
): AsyncGenerator<readonly InventoryItem[]> {
  for await (const items of batches) {
    yield items.map(({ petId, quantity, status, extra }) => {
      const name = ['name', catalog.nameOf(petId)] as const;
      return { petId, quantity, status, extra: new Map([...(extra ?? []), name]) };
    });
  }
}
