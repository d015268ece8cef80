import { unexpectedIn } from '../api/item.ts';
import { matcher } from '../api/select.ts';
import { isOneOf, PET_STATUSES } from '../api/values.ts';
import { listInventory } from '../client/list.ts';
import { defineCommand } from '../cli/command.ts';
import { FILTER_OPTIONS } from '../cli/shared-options.ts';
import { connect } from '../session/connect.ts';
import { percent } from '../view/words.ts';
import { FORMAT_FACTS, list, type View } from '../view/view.ts';

export const inventorySummary = defineCommand({
  path: 'inventory summary',
  common: 'requests',
  summary: 'Count pets and stock by status',
  description:
    'Shows the number of pets with each status, their total quantity, and how many are out of stock (a quantity of ' +
    '0 or less). Filters run on this machine: the service always returns the full list in one request. The table ' +
    'also has a bar for the share of the pets, and the total; csv, json and ndjson have only the statuses.',
  examples: {
    'All stock': 'petstore inventory summary',
    'What is running out': 'petstore inventory summary --max 3',
    'For a spreadsheet': 'petstore inventory summary -o csv > summary.csv',
  },
  options: FILTER_OPTIONS,
  async run(filter, context): Promise<View> {
    const known = PET_STATUSES.filter((status) => filter.status?.includes(status) !== false);
    const counts = new Map<string, StatusSummary>();
    const total = { status: 'total', ...NONE };
    const countOf = (status: string): StatusSummary => {
      const counted = counts.get(status) ?? { status, ...NONE };
      counts.set(status, counted);
      return counted;
    };
    const oddities = unexpectedIn(filter.pet);
    const matches = matcher(filter);
    await using session = await connect(context);
    for await (const items of listInventory(session.service, 'show')) {
      oddities.see(items);
      for (const { quantity, status } of items.filter(matches)) {
        for (const counted of [countOf(status), total]) {
          counted.pets++;
          counted.quantity += quantity;
          if (quantity <= 0n) counted.outOfStock++;
        }
      }
    }
    for (const warning of oddities.warnings()) context.notices.warning(warning);
    // Statuses of the contract first, then unknown ones alphabetically.
    const others = [...counts.keys()].filter((status) => !isOneOf(PET_STATUSES, status)).sort();
    const rows = [...known, ...others].map(countOf);
    const { isForPeople } = FORMAT_FACTS[context.globals.output];
    const shareOf = ({ pets }: StatusSummary) => [BigInt(pets), BigInt(total.pets)] as const;
    return list<StatusSummary>(
      isForPeople ? [...rows, total] : rows,
      {
        status: ({ status }) => status,
        pets: ({ pets }) => pets,
        ...(isForPeople && {
          share: (row: StatusSummary) => percent(...shareOf(row)).padStart('100 %'.length),
          '': () => '',
        }),
        quantity: ({ quantity }) => quantity,
        outOfStock: ({ outOfStock }) => outOfStock,
      },
      // The total has no bar: it would only be the longest.
      { looks: { '': { bar: (row) => (row === total ? undefined : shareOf(row)), yields: 1 } } },
    );
  },
});

/** Counts of the pets of a status. `outOfStock`: those with a quantity of 0 or less. */
const NONE = { pets: 0, quantity: 0n, outOfStock: 0 };
type StatusSummary = typeof NONE & { readonly status: string };
