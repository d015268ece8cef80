import { type InventoryItem, itemToJsonText, unexpectedIn } from '../api/item.ts';
import { ITEM_FIELDS } from '../api/values.ts';
import { type Filter, isFilter, matcher } from '../api/select.ts';
import { csvTextOfFields, jsonTextOfFields, memberOf, SortedItems, SORTS } from '../api/long-list.ts';
import { type Orders, ordersOf, withColumns, withFields } from '../catalog/added-fields.ts';
import type { Catalog } from '../catalog/local-catalog.ts';
import { listInventory } from '../client/list.ts';
import { defineCommand, flag, type InputOf, option, under } from '../cli/command.ts';
import { FILTER_OPTIONS } from '../cli/shared-options.ts';
import {
  countValue,
  durationValue,
  integerValue,
  listOf,
  nameValue,
  parserOf,
  petNotNameValue,
  textValue,
  wordIn,
  wordValue,
} from '../value-parsers.ts';
import { openCatalog, requireCatalog } from '../session/open-catalog.ts';
import { connect } from '../session/connect.ts';
import { originOf } from '../session/environments.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure, usageFailure } from '../errors.ts';
import { FORMAT_FACTS, jsonCell, type View } from '../view/view.ts';
import { plural } from '../view/words.ts';
import { watch } from '../watch/watch.ts';

const columnValue = parserOf(
  'names of fields, separated by commas',
  (text) => wordIn(ITEM_FIELDS, text) ?? (/^[^\s,]{1,100}$/u.test(text) ? text : undefined),
  { words: ITEM_FIELDS },
);

const OPTIONS = {
  ...FILTER_OPTIONS,
  ...under('Filters', {
    name: option('--name <text>', nameValue, 'only pets whose name in the catalog has these words'),
    low: option(
      '--low [quantity]',
      integerValue,
      'only pets at or below their minimum in the catalog (or this quantity, without one), and how many to order',
    ),
  }),
  ...under('Rows and columns', {
    sort: option(
      '--sort <field>',
      wordValue([...SORTS, 'name', '-name']),
      `sort by ${ITEM_FIELDS.join(', ')}, name; -quantity: the largest first (default: the service's order)`,
    ),
    desc: flag('--desc', 'with --sort: the largest first', { needs: 'sort' }),
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
      { conflicts: ['sort', 'desc', 'limit', 'columns', 'header', 'failIfAny', 'failIfNone'] },
    ),
    onChange: option(
      '--on-change <command>',
      textValue,
      'with --watch: run this command with the changes, as a JSON array on its stdin; no shell, 60s at most',
      { needs: 'watch' },
    ),
  }),
  ...under('Exit code', {
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
    'Shows the stock of every pet, or only those matching the filters. Filters run on this machine: the service ' +
    'always returns the full list in one request. --watch prints a line for each change, or a JSON object with ' +
    '-o ndjson. petstore inventory ls is the same command.',
  examples: {
    'All stock': 'petstore inventory list',
    'What is running out': 'petstore inventory list --status available --max 3 --sort quantity',
    'Cron alarm: exit 13 if anything is sold out': 'petstore inventory list --max 0 --fail-if-any',
    'Two pets': 'petstore inventory list 7 12',
    'By names in the catalog': 'petstore inventory list --name gold',
    'What to order': 'petstore inventory list --low --status available -o csv',
    'Changes as they happen': 'petstore inventory list --watch',
    'For a program': 'petstore inventory list -o ndjson',
  },
  arguments: {
    petId: {
      parser: listOf(petNotNameValue),
      description: 'show only these pets, as with --pet',
      optional: true,
      variadic: true,
    },
  },
  options: OPTIONS,
  more: ['output', 'scripting', 'exit-codes'],
  async run({ petId, ...options }, context): Promise<View> {
    const input = petId.length === 0 ? options : { ...options, pet: [...petId, ...(options.pet ?? [])] };
    const { output } = context.globals;
    const { isJson } = FORMAT_FACTS[output];
    if (input.watch !== undefined && output === 'csv') {
      throw usageFailure('--watch cannot be used with csv.', 'Use -o ndjson.');
    }
    if (!input.header && isJson) {
      throw usageFailure(`--no-header cannot be used with ${output}, which has none.`);
    }
    const catalog = await catalogFor(input, context);
    const orders = ordersOf(input.low, catalog);
    const filter = filterOf(input, catalog, orders);
    if (input.watch !== undefined) {
      // The catalog stays open: each check reads the pets' minimums from it.
      const intervalMs = input.watch === true ? undefined : input.watch;
      return { view: 'stream', events: watch(context, filter, intervalMs, input.onChange, orders) };
    }
    const names = showsNames(input, context) ? catalog : undefined;
    const [name, order] = [names === undefined ? [] : ['name'], orders === undefined ? [] : ['order']];
    const columns = input.columns ?? [ITEM_FIELDS[0], ...name, ...ITEM_FIELDS.slice(1), ...order];
    const fields = input.columns?.filter((each) => ![...name, ...order].includes(each));
    const counts = { read: 0, matched: 0 };
    const all = filtered(input, isFilter(filter) ? matcher(filter) : undefined, fields, context, counts);
    const listed = inOrder(all, input, catalog);
    const roleOf = ({ petId, quantity }: InventoryItem) =>
      quantity > 0n && quantity <= (names?.levelOf(petId).min ?? 0n) ? 'attention' : undefined;
    return {
      view: 'rows',
      columns: columns.map((name) => {
        const of = memberOf(name);
        return {
          name,
          cell: (item: InventoryItem) => jsonCell(of(item) ?? null),
          ...(input.columns !== undefined && { heading: name }),
          ...(name === 'quantity' && { role: roleOf }),
        };
      }),
      rows: catalog === undefined && orders === undefined ? listed : withFields(listed, { catalog, names, orders }),
      jsonText: input.columns === undefined ? itemToJsonText : jsonTextOfFields(columns),
      csvText: csvTextOfFields(columns),
      header: input.header,
      summary: (count) => {
        // With --limit alone, the rest of the list may not have been read.
        const isCut = input.limit !== undefined && input.sort === undefined;
        return count === counts.read || isCut ? plural(count, 'pet') : `${count} of ${plural(counts.read, 'pet')}`;
      },
      empty: isFilter(filter) ? 'No pet matches.' : 'The store tracks no pets.',
      // Pets that have not been read yet may match.
      check: (count) => (count === undefined && counts.matched === 0 ? undefined : check(input, count, counts.matched)),
    };
  },
});

function showsNames({ columns }: Pick<ListInput, 'columns'>, { globals }: CommandContext): boolean {
  return columns === undefined ? FORMAT_FACTS[globals.output].isForPeople : columns.includes('name');
}

/** Opens the catalog if an option or the table needs it. @throws {Failure} `usage`: no catalog exists */
async function catalogFor(input: ListInput, context: CommandContext): Promise<Catalog | undefined> {
  const { low, name, sort = '', watch } = input;
  const needed = [name !== undefined && '--name', low === true && '--low', sort.endsWith('name') && '--sort name'];
  const option = needed.find((each) => each !== false);
  if (option !== undefined) return requireCatalog(context, option);
  if (low === undefined && (watch !== undefined || !showsNames(input, context))) return undefined;
  return openCatalog(context, originOf(await context.target()));
}

/** Turns --name into the ids of matching pets, and --low into a condition. */
function filterOf({ name, pet, ...filter }: ListInput, catalog: Catalog | undefined, orders: Orders): Filter {
  const found = name === undefined ? pet : catalog?.containing(name).filter((petId) => pet?.includes(petId) !== false);
  return {
    ...filter,
    ...(found !== undefined && { pet: found }),
    ...(orders !== undefined && { where: (item) => orders(item) !== undefined }),
  };
}

/** Applies --sort, --desc and --limit. */
async function* inOrder(
  batches: AsyncGenerator<readonly InventoryItem[]>,
  { sort, desc, limit }: ListInput,
  catalog: Catalog | undefined,
): AsyncGenerator<readonly InventoryItem[]> {
  if (sort === undefined) {
    yield* limited(batches, limit);
    return;
  }
  const isDown = desc === true || sort.startsWith('-');
  const name = ITEM_FIELDS.find((each) => each === sort.replace('-', ''));
  if (name === undefined) {
    // By the name in the catalog, which the option requires.
    const all = (await Array.fromAsync(batches)).flat();
    yield catalog?.byName(all, isDown).slice(0, limit) ?? [];
    return;
  }
  const items = new SortedItems();
  for await (const batch of batches) items.add(batch);
  yield* items.batches(isDown ? `-${name}` : name, limit);
}

/** Yields up to `limit` items, then stops reading. */
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

/** Streams the matching items; the session stays open until the last one. */
async function* filtered(
  input: ListInput,
  matches: ((item: InventoryItem) => boolean) | undefined,
  fields: readonly string[] = [],
  context: CommandContext,
  counts: { read: number; matched: number },
): AsyncGenerator<readonly InventoryItem[]> {
  const oddities = unexpectedIn(input.pet);
  await using session = await connect(context);
  for await (const items of withColumns(listInventory(session.service, 'show'), fields)) {
    oddities.see(items);
    const found = matches === undefined ? items : items.filter(matches);
    counts.read += items.length;
    counts.matched += found.length;
    yield found;
  }
  for (const warning of oddities.warnings()) context.notices.warning(warning);
}

/** @param count of the pets listed; undefined if the reader has gone */
function check(input: ListInput, count: number | undefined, found: number): Failure | undefined {
  const { failIfAny, failIfNone, limit, sort } = input;
  // With --limit alone, the rest of the list was not read.
  const isPart = count === undefined || (count === limit && sort === undefined);
  const matched = isPart ? (count ?? found) : found;
  const isUnwanted = matched > 0 ? failIfAny : failIfNone;
  if (isUnwanted !== true) return undefined;
  const check = matched > 0 ? '--fail-if-any' : '--fail-if-none';
  return new Failure('check-failed', { check, matched, isPart });
}
