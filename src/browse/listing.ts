/** Reads the stock that `inventory browse` shows. */
import type { InventoryItem } from '../api/item.ts';
import { type Filter, matcher, UnexpectedFields } from '../api/select.ts';
import type { Catalog } from '../catalog/local-catalog.ts';
import { listInventory } from '../client/list.ts';
import { openCatalog } from '../session/catalog.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { visible } from '../view/sanitise.ts';
import { displayWidth, prepareWidths } from '../view/width.ts';
import { plural } from '../view/words.ts';

/** The stock as it was read. */
export interface Listing {
  readonly items: readonly InventoryItem[];
  readonly catalog: Catalog | undefined;
  /** The longest text of each column, in columns of the terminal. */
  readonly widths: Readonly<Record<'id' | 'name' | 'quantity', number>>;
}

/**
 * Reads the stock.
 * @param isWanted adds pets that the filter leaves out
 * @throws {Failure} what connect throws, and what ends a read of the list
 */
export async function readListing(
  context: CommandContext,
  filter: Filter,
  isWanted: (petId: bigint) => boolean,
): Promise<Listing> {
  await using session = await connect(context);
  const matches = matcher(filter);
  const oddities = new UnexpectedFields(filter.pet);
  const items: InventoryItem[] = [];
  let id = 0;
  let quantity = 0;
  for await (const batch of listInventory(session.service)) {
    oddities.see(batch);
    for (const item of batch) {
      if (!matches(item) && !isWanted(item.petId)) continue;
      items.push(item);
      id = Math.max(id, String(item.petId).length);
      quantity = Math.max(quantity, String(item.quantity).length);
    }
    context.notices.progress(`Reading the stock: ${plural(items.length, 'pet')}`);
  }
  context.notices.progress(undefined);
  for (const warning of oddities.warnings()) context.notices.warning(warning);
  const catalog = await openCatalog(context, session.origin);
  const name = await widest(catalog?.longestNames(MEASURED) ?? []);
  return { items, catalog, widths: { id, name, quantity } };
}

/** How many names are measured, those of the most characters. */
const MEASURED = 100;

async function widest(texts: readonly string[]): Promise<number> {
  const names = texts.map(visible);
  await prepareWidths(names);
  return names.reduce((most, name) => Math.max(most, displayWidth(name)), 0);
}
