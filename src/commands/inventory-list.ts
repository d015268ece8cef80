import { type InventoryItem, itemToJsonText } from '../api/item.ts';
import { isOneOf, ITEM_FIELDS } from '../api/values.ts';
import { type Filter, isFilter, matcher, UnexpectedFields } from '../api/select.ts';
import { csvTextOfFields, jsonTextOfFields, memberOf, SortedItems, type Sort, SORTS } from '../api/long-list.ts';
import type { Catalog } from '../catalog/local-catalog.ts';
import { listInventory } from '../client/list.ts';
import { defineCommand, flag, type InputOf, option, under } from '../cli/command.ts';
import { FILTER_OPTIONS } from '../cli/pet-options.ts';
import {
  countValue,
  durationValue,
  listOf,
  nameValue,
  parserOf,
  petIdValue,
  wordIn,
  wordValue,
} from '../cli/values.ts';
import { openCatalog, requireCatalog } from '../session/catalog.ts';
import { connect } from '../session/connect.ts';
import { originOf } from '../session/environments.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure } from '../errors.ts';
import { FORMAT_FACTS } from '../view/output-formats.ts';
import { type Column, jsonCell, type View } from '../view/view.ts';

/** The columns of a table where there is a catalog. */
const NAMED_FIELDS = ['petId', 'name', 'quantity', 'status'] as const;
/** Rows to read before a column that none of them has is refused. */
const MOST_HELD = 10_000;

const columnValue = parserOf(
  'names of fields with commas between them',
  (text) => wordIn(ITEM_FIELDS, text) ?? (/^[^\s,]{1,100}$/u.test(text) ? text : undefined),
  { words: ITEM_FIELDS },
);

const OPTIONS = {
  ...FILTER_OPTIONS,
  ...under('Filters', { name: option('--name <text>', nameValue, 'only pets with this in their name in the catalog') }),
  ...under('Rows and columns', {
    sort: option(
      '--sort <field>',
      wordValue(SORTS),
      `sort by ${ITEM_FIELDS.join(', ')}; -quantity: the largest first (default: the service's order)`,
    ),
    desc: flag('--desc', 'with --sort: the largest first'),
    limit: option('-n, --limit <rows>', countValue(1), 'show at most this many pets'),
    columns: option(
      '--columns <fields>',
      listOf(columnValue),
      'which fields to show, in this order, e.g. petId,quantity; name is from the catalog',
    ),
    header: flag('--no-header', 'omit the header line (table, csv)'),
  }),
  ...under('Watching', {
    watch: option(
      '--watch [interval]',
      durationValue(1_000),
      'keep checking and print changes (default: every 10s, less often if few requests remain)',
      { conflicts: ['sort', 'desc', 'limit', 'columns', 'failIfAny', 'failIfNone'] },
    ),
    failIfAny: flag('--fail-if-any', 'exit 13 if any pet is listed', { conflicts: ['failIfNone'] }),
    failIfNone: flag('--fail-if-none', 'exit 13 if no pet is listed'),
  }),
};

type ListInput = InputOf<typeof OPTIONS>;

export const inventoryList = defineCommand({
  path: 'inventory list',
  common: 'requests',
  summary: 'Show stock levels',
  description:
    'Shows the stock of every pet, or only those matching the filters. ' +
    'Filters run on this machine: the service always returns the full list in one request. ' +
    'petstore inventory ls is short for it.',
  examples: [
    { says: 'All stock', command: 'petstore inventory list' },
    { says: 'What is running out', command: 'petstore inventory list --status available --max 3 --sort quantity' },
    { says: 'Cron alarm: exit 13 if anything is sold out', command: 'petstore inventory list --max 0 --fail-if-any' },
    { says: 'Two pets', command: 'petstore inventory list 7 12' },
    { says: 'By names in the catalog', command: 'petstore inventory list --name gold' },
    { says: 'Changes as they happen', command: 'petstore inventory list --watch' },
    { says: 'For a program', command: 'petstore inventory list -o ndjson' },
  ],
  arguments: {
    petId: {
      parser: listOf(petIdValue),
      description: 'show only these pets, as with --pet',
      optional: true,
      variadic: true,
    },
  },
  options: OPTIONS,
  more: ['output', 'scripting', 'exit-codes'],
  async run({ petId, ...options }, context): Promise<View> {
    const input = petId.length === 0 ? options : { ...options, pet: [...petId, ...(options.pet ?? [])] };
    if (input.watch !== undefined) {
      const { watchView } = await import('../watch/watch.ts');
      const filter = filterOf(input, await catalogFor(input, context));
      return watchView(context, filter, input.watch === true ? undefined : input.watch);
    }
    if (!input.header && !FORMAT_FACTS[context.globals.output].hasHeader) {
      throw new Failure('usage', {
        problem: `--no-header does not go with ${context.globals.output}, which has none.`,
      });
    }
    if (input.desc === true && input.sort === undefined) {
      throw new Failure('usage', { problem: '--desc needs --sort.', hint: 'Add --sort quantity.' });
    }
    const catalog = await catalogFor(input, context);
    const filter = filterOf(input, catalog);
    const { columns } = input;
    const names = catalog !== undefined && showsNames(input, context) ? catalog : undefined;
    const fields = columns?.filter((name) => names === undefined || name !== 'name');
    const rows = filtered(input, filter, fields, context);
    const sort = (input.desc === true && SORTS.find((each) => each === `-${input.sort}`)) || input.sort;
    const ordered = sort === undefined ? limited(rows, input.limit) : sorted(rows, sort, input.limit);
    return {
      view: 'rows',
      columns: (columns ?? (names === undefined ? ITEM_FIELDS : NAMED_FIELDS)).map(column),
      rows: names === undefined ? ordered : named(ordered, names),
      jsonText: columns === undefined ? itemToJsonText : jsonTextOfFields(columns),
      csvText: csvTextOfFields(columns ?? ITEM_FIELDS),
      header: input.header,
      empty: isFilter(filter) ? 'No pet matches.' : 'The store tracks no pets.',
      check: (count) => check(input, count),
    };
  },
});

function showsNames({ columns }: Pick<ListInput, 'columns'>, { globals }: CommandContext): boolean {
  return columns === undefined ? FORMAT_FACTS[globals.output].isForPeople : columns.includes('name');
}

/** Opens the catalog where names are shown or filtered by. @throws {Failure} `usage`: --name without a catalog */
async function catalogFor(input: ListInput, context: CommandContext): Promise<Catalog | undefined> {
  if (input.name !== undefined) {
    return requireCatalog(context, '--name');
  }
  if (input.watch !== undefined || !showsNames(input, context)) return undefined;
  return openCatalog(context, originOf(await context.target()));
}

/** Turns --name into the ids that have it. */
function filterOf({ name, pet, ...filter }: ListInput, catalog: Catalog | undefined): Filter {
  if (name === undefined) return { ...filter, ...(pet !== undefined && { pet }) };
  const found = catalog?.containing(name).map(({ petId }) => petId) ?? [];
  return { ...filter, pet: found.filter((petId) => pet?.includes(petId) !== false) };
}

/** Returns the items with a field `name`; empty for a pet that the catalog does not have. */
async function* named(
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

function column(name: string): Column<InventoryItem> {
  const of = memberOf(name);
  return { name, cell: (item) => jsonCell(of(item) ?? null) };
}

async function* sorted(
  batches: AsyncGenerator<readonly InventoryItem[]>,
  sort: Sort,
  limit: number | undefined,
): AsyncGenerator<readonly InventoryItem[]> {
  const items = new SortedItems();
  for await (const batch of batches) items.add(batch);
  yield* items.batches(sort, limit);
}

/** Stops reading once there are enough. */
async function* limited(
  batches: AsyncGenerator<readonly InventoryItem[]>,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly InventoryItem[]> {
  let left = limit;
  for await (const items of batches) {
    yield items.length <= left ? items : items.slice(0, left);
    left -= items.length;
    if (left <= 0) return;
  }
}

/**
 * Holds rows back until every column has been seen in one of them, so that a mistyped name prints nothing.
 * @throws {Failure} `usage`
 */
async function* withColumns(
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
  throw new Failure('usage', {
    problem: `Unknown column ${[...missing].map((name) => JSON.stringify(name)).join(', ')}: the pets have ${known.join(', ')}.`,
    ...(missing.has('name') && { hint: 'Names come from a catalog: petstore catalog import FILE' }),
  });
}

/** Streams. The session lives as long as its rows are read. */
async function* filtered(
  input: ListInput,
  filter: Filter,
  fields: readonly string[] = [],
  context: CommandContext,
): AsyncGenerator<readonly InventoryItem[]> {
  const oddities = new UnexpectedFields(input.pet);
  const matches = matcher(filter);
  await using session = await connect(context);
  for await (const items of withColumns(listInventory(session.service), fields)) {
    oddities.see(items);
    yield isFilter(filter) ? items.filter(matches) : items;
  }
  for (const warning of oddities.warnings()) context.notices.warning(warning);
}

function check(input: ListInput, count: number): Failure | undefined {
  if (input.failIfAny === true && count > 0) {
    return new Failure('check-failed', { check: '--fail-if-any', matched: count });
  }
  if (input.failIfNone === true && count === 0) {
    return new Failure('check-failed', { check: '--fail-if-none', matched: count });
  }
  return undefined;
}
