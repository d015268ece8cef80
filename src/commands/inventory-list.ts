import {
  type InventoryItem,
  ITEM_FIELDS,
  itemToJson,
  itemToCsvLine,
  itemToJsonText,
  PLAIN_FIELDS,
} from '../api/item.ts';
import { stringifyJson } from '../api/json.ts';
import { comparison, type Filter, isFilter, matcher, UnexpectedFields } from '../api/select.ts';
import { listInventory } from '../client/list.ts';
import { defineCommand, flag, type InputOf, option, under } from '../cli/command.ts';
import { FILTER_OPTIONS } from '../cli/filter-options.ts';
import { durationValue, listOf, parserOf, wordValue } from '../cli/values.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure } from '../errors.ts';
import type { Column, RowsView, View } from '../view/view.ts';

/** `-quantity`: the largest first. */
const SORTS = [...ITEM_FIELDS, ...ITEM_FIELDS.map((field) => `-${field}` as const)];

const columnValue = parserOf(
  'names of fields with commas between them',
  (text) => (/^[^\s,]{1,100}$/u.test(text) ? text : undefined),
  { words: ITEM_FIELDS },
);

const OPTIONS = {
  ...FILTER_OPTIONS,
  ...under('Rows and columns', {
    sort: option(
      '--sort <field>',
      wordValue(SORTS),
      `sort by ${ITEM_FIELDS.join(', ')}; -quantity: the largest first (default: the service's order)`,
    ),
    desc: flag('--desc', 'with --sort: the largest first'),
    columns: option(
      '--columns <fields>',
      listOf(columnValue),
      'which fields to show, in this order, e.g. petId,quantity',
    ),
    header: flag('--no-header', 'omit the header line (table, csv)'),
  }),
  ...under('Watching', {
    watch: option(
      '--watch [interval]',
      durationValue(1_000),
      'keep checking and print changes (default: every 10s, less often if few requests remain)',
      { conflicts: ['sort', 'desc', 'columns', 'failIfAny', 'failIfNone'] },
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
    'Filters run on this machine: the service always returns the full list in one request.',
  examples: [
    { says: 'All stock', command: 'petstore inventory list' },
    { says: 'What is running out', command: 'petstore inventory list --status available --max 3 --sort quantity' },
    { says: 'Cron alarm: exit 13 if anything is sold out', command: 'petstore inventory list --max 0 --fail-if-any' },
    { says: 'Changes as they happen', command: 'petstore inventory list --watch' },
    { says: 'For a program', command: 'petstore inventory list -o ndjson' },
  ],
  options: OPTIONS,
  more: ['output', 'scripting', 'exit-codes'],
  async run(input, context): Promise<View> {
    if (input.watch !== undefined) {
      const { watchView } = await import('../watch/watch.ts');
      return watchView(context, input, input.watch === true ? undefined : input.watch);
    }
    if (!input.header && ['json', 'ndjson'].includes(context.globals.output)) {
      throw new Failure('usage', {
        problem: `--no-header does not go with ${context.globals.output}, which has none.`,
      });
    }
    if (input.desc === true && input.sort === undefined) {
      throw new Failure('usage', {
        problem: '--desc needs --sort.',
        hint: 'Add --sort quantity.',
      });
    }
    const { columns } = input;
    const view: RowsView<InventoryItem> = {
      view: 'rows',
      columns: (columns ?? ITEM_FIELDS).map(column),
      rows: input.sort === undefined ? filtered(input, context) : sorted(input, input.sort, context),
      json: (item) => (columns === undefined ? itemToJson(item) : fieldsOf(item, columns)),
      ...(columns === undefined && { jsonText: itemToJsonText, csvLine: itemToCsvLine }),
      header: input.header,
      empty: isFilter(input) ? 'No pet matches.' : 'The store tracks no pets.',
      check: (count) => check(input, count),
    };
    return view;
  },
});

function column(name: string): Column<InventoryItem> {
  const field = ITEM_FIELDS.find((each) => each === name);
  return { name, cell: (item) => cell(item, name), ...(field !== undefined && { plain: PLAIN_FIELDS[field] }) };
}

function cell(item: InventoryItem, name: string): string | bigint | number {
  if (name === 'petId' || name === 'quantity' || name === 'status') return item[name];
  const value = item.extra?.get(name) ?? null;
  if (value === null) return '';
  return typeof value === 'object' || typeof value === 'boolean' ? stringifyJson(value) : value;
}

function fieldsOf(item: InventoryItem, names: readonly string[]): ReturnType<typeof itemToJson> {
  const all = itemToJson(item);
  return new Map(names.filter((name) => all.has(name)).map((name) => [name, all.get(name)!]));
}

async function* sorted(
  input: ListInput,
  sort: (typeof SORTS)[number],
  context: CommandContext,
): AsyncGenerator<readonly InventoryItem[]> {
  const all: InventoryItem[] = [];
  for await (const items of filtered(input, context)) for (const item of items) all.push(item);
  const field = ITEM_FIELDS.find((each) => sort.endsWith(each)) ?? 'petId';
  yield all.sort(comparison(field, input.desc === true || sort.startsWith('-')));
}

/** Streams. The session lives as long as its rows are read. */
async function* filtered(
  input: Filter & Pick<ListInput, 'columns'>,
  context: CommandContext,
): AsyncGenerator<readonly InventoryItem[]> {
  const oddities = new UnexpectedFields(input.pet, input.columns);
  const matches = matcher(input);
  await using session = await connect(context);
  for await (const items of listInventory(session.service)) {
    oddities.see(items);
    yield isFilter(input) ? items.filter(matches) : items;
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
