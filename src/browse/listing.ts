/** Reads the stock that `inventory browse` shows. */
import { type InventoryItem, UnexpectedFields } from '../api/item.ts';
import { type Filter, matcher } from '../api/select.ts';
import { listInventory } from '../client/list.ts';
import { openCatalog } from '../session/open-catalog.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { plural, visible } from '../view/words.ts';
import { displayWidth, prepareWidths } from '../view/width.ts';
import type { Listing } from './selection.ts';

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
  const names = catalog?.longestNames(MEASURED).map(visible) ?? [];
  await prepareWidths(names);
  const name = Math.max(0, ...names.map(displayWidth));
  return { items, catalog, widths: { id, name, quantity } };
}

/** How many names are measured, the longest ones. */
const MEASURED = 100;
