/**
 * The pets that `inventory browse` shows, each in a few bytes, a million of them too: reads them, and finds those that
 * match what is typed, in the order that is chosen.
 */
import { type InventoryItem, PlainItem } from '../api/item.ts';
import { ItemTable } from '../api/item-table.ts';
import { type Filter, matcher, UnexpectedFields } from '../api/select.ts';
import type { PetStatus } from '../api/values.ts';
import type { Catalog, Entry } from '../catalog/local-catalog.ts';
import { listInventory } from '../client/list.ts';
import { openCatalog } from '../session/catalog.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { visible } from '../view/sanitise.ts';
import { displayWidth, isAscii, prepareWidths } from '../view/width.ts';
import { plural } from '../view/words.ts';

export const ORDERS = ['as listed', 'petId', 'name', 'quantity', 'quantity, largest first', 'status'] as const;
export type Order = (typeof ORDERS)[number];

interface Wanted {
  /** A part of the id or the name, or a barcode. Empty: all. */
  readonly text: string;
  readonly status?: PetStatus | undefined;
  /** The largest quantity. */
  readonly most?: bigint | undefined;
  readonly order: Order;
  /** Only pets with these ids. */
  readonly among?: ReadonlySet<string> | undefined;
}

export class Rows {
  readonly catalog: Catalog | undefined;
  /** The longest text of each column, in columns of the terminal. */
  readonly widths: Readonly<Record<'id' | 'name' | 'quantity', number>>;
  private readonly items: ItemTable;
  private readonly orders = new Map<Order, Uint32Array>();
  private last: { readonly wanted: Wanted; readonly found: Uint32Array } | undefined;

  constructor({ items, catalog, widths }: Pick<Rows, 'catalog' | 'widths'> & { readonly items: ItemTable }) {
    this.items = items;
    this.catalog = catalog;
    this.widths = widths;
  }

  static readonly none = new Rows({
    items: new ItemTable(),
    catalog: undefined,
    widths: { id: 0, name: 0, quantity: 0 },
  });

  get count(): number {
    return this.items.count;
  }

  at(index: number): InventoryItem {
    return this.items.at(index);
  }

  /** Returns the pet with this id. */
  get(petId: bigint): InventoryItem | undefined {
    const id = String(petId);
    for (let index = 0; index < this.count; index++) if (idOf(this.at(index)) === id) return this.at(index);
    return undefined;
  }

  /** Returns the indexes of the pets that match, in their order. */
  find(wanted: Wanted): Uint32Array {
    const { last } = this;
    // One more letter leaves less of what was found; but é may be an e and an accent.
    const isNarrower =
      last !== undefined &&
      isAscii(wanted.text) &&
      wanted.text.startsWith(last.wanted.text) &&
      this.catalog?.ownerOf(wanted.text) === undefined &&
      wanted.among === undefined &&
      last.wanted.among === undefined &&
      (['order', 'most', 'status'] as const).every((name) => last.wanted[name] === wanted[name]);
    const found = (isNarrower ? last.found : this.ordered(wanted.order)).filter(this.test(wanted));
    this.last = { wanted, found };
    return found;
  }

  private test({ text, status, most, among }: Wanted): (index: number) => boolean {
    const matches = matcherOf(text, this.catalog);
    return (index) => {
      const item = this.items.at(index);
      if (status !== undefined && item.status !== status) return false;
      if (most !== undefined && quantityOf(item) > most) return false;
      if (matches === undefined && among === undefined) return true;
      const id = idOf(item);
      return among?.has(id) !== false && matches?.(id) !== false;
    };
  }

  private ordered(order: Order): Uint32Array {
    let found = this.orders.get(order);
    if (found === undefined) this.orders.set(order, (found = this.sorted(order)));
    return found;
  }

  private sorted(order: Order): Uint32Array {
    const { items } = this;
    switch (order) {
      case 'as listed':
        return Uint32Array.from({ length: items.count }, (_, index) => index);
      case 'name':
        return this.byName();
      case 'quantity, largest first':
        return items.order('quantity', -1);
      default:
        return items.order(order, 1);
    }
  }

  /** Returns pets without a name last. */
  private byName(): Uint32Array {
    const entries = [...(this.catalog?.entries.values() ?? [])].filter(({ name }) => name !== '');
    const { compare } = new Intl.Collator(undefined, { numeric: true });
    const places = new Map(
      entries.toSorted((a, b) => compare(a.name, b.name)).map(({ petId }, place) => [String(petId), place]),
    );
    const named = new Array<number | undefined>(places.size);
    const others: number[] = [];
    for (let index = 0; index < this.items.count; index++) {
      const place = places.get(idOf(this.items.at(index)));
      // A list may have a pet twice.
      if (place === undefined || named[place] !== undefined) others.push(index);
      else named[place] = index;
    }
    return Uint32Array.from([...named.filter((index) => index !== undefined), ...others]);
  }
}

/** Returns a test of a pet's id; undefined where all match. */
function matcherOf(text: string, catalog: Catalog | undefined): ((id: string) => boolean) | undefined {
  if (text === '') return undefined;
  const ids = new Set((catalog?.containing(text) ?? []).map(({ petId }) => String(petId)));
  const owner = catalog?.ownerOf(text);
  if (owner !== undefined) ids.add(String(owner.petId));
  const mayBeId = /^-?[0-9]*$/.test(text);
  return (id) => ids.has(id) || (mayBeId && id.includes(text));
}

/** Returns the digits of the id. */
export function idOf(item: InventoryItem): string {
  return item instanceof PlainItem ? item.textOf('petId') : item.petId.toString();
}

/** Returns the quantity as a number where it is exact. */
function quantityOf(item: InventoryItem): number | bigint {
  return item instanceof PlainItem ? item.numberOf('quantity') : item.quantity;
}

/**
 * Reads the stock.
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
      ids.add(item instanceof PlainItem ? item.numberOf('petId') : item.petId);
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
