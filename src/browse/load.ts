/** Reads the stock for `inventory browse`: each pet in a few bytes, a million of them too. */
import { ItemTable } from '../api/item-table.ts';
import { type Filter, matcher, UnexpectedFields } from '../api/select.ts';
import type { Entry } from '../catalog/catalog.ts';
import { listInventory } from '../client/list.ts';
import { openCatalog } from '../session/catalog.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { visible } from '../view/sanitise.ts';
import { displayWidth, isAscii, prepareWidths } from '../view/width.ts';
import { plural } from '../view/words.ts';
import { idNumberOf, quantityOf, Rows } from './rows.ts';

/**
 * @param isWanted adds pets that the filter leaves out
 * @throws {Failure} what connect throws, and what ends a read of the list
 */
export async function loadRows(
  context: CommandContext,
  filter: Filter,
  isWanted: (petId: bigint) => boolean,
): Promise<Rows> {
  await using session = await connect(context);
  const matches = matcher(filter);
  const oddities = new UnexpectedFields(filter.pet);
  const items = new ItemTable();
  const ids = new Extent();
  const quantities = new Extent();
  for await (const batch of listInventory(session.service)) {
    oddities.see(batch);
    for (const item of batch) {
      if (!matches(item) && !isWanted(item.petId)) continue;
      items.put(item);
      ids.add(idNumberOf(item));
      quantities.add(quantityOf(item));
    }
    context.notices.progress(`Reading the stock: ${plural(items.count, 'pet')}`);
  }
  context.notices.progress(undefined);
  for (const warning of oddities.warnings()) context.notices.warning(warning);
  const catalog = await openCatalog(context, session.origin);
  const name = await longestName(catalog?.entries.values() ?? []);
  return new Rows({ items, catalog, widths: { id: ids.digits, name, quantity: quantities.digits } });
}

async function longestName(entries: Iterable<Entry>): Promise<number> {
  let most = 0;
  const others: string[] = [];
  for (const { name } of entries) {
    if (isAscii(name)) most = Math.max(most, name.length);
    else others.push(visible(name));
  }
  await prepareWidths(others);
  for (const name of others) most = Math.max(most, displayWidth(name));
  return most;
}

/** The smallest and the largest of many integers: one of them is the longest. */
class Extent {
  private least: number | bigint = 0;
  private most: number | bigint = 0;

  add(value: number | bigint): void {
    if (value > this.most) this.most = value;
    if (value < this.least) this.least = value;
  }

  get digits(): number {
    return Math.max(`${this.least}`.length, `${this.most}`.length);
  }
}
