import { labelOf } from '../catalog/barcode.ts';
import type { Catalog, Entry } from '../catalog/local-catalog.ts';
import { type CatalogRow, type Problem, removePet, storeRows } from '../catalog/store.ts';
import { CATALOG_FILE, mappingValue } from '../stock/columns.ts';
import { argument, defineCommand, flag, option } from '../cli/command.ts';
import { listOf, nameValue, parserOf, pathValue, petIdValue, repeated, textValue } from '../value-parsers.ts';
import { catalogOrigin, openCatalog, provideCatalog, SEE_CATALOG } from '../session/open-catalog.ts';
import type { CommandContext } from '../session/globals.ts';
import { jsonObject, stringifyJson } from '../api/json.ts';
import { parseInteger } from '../api/values.ts';
import { Failure, usageFailure } from '../errors.ts';
import type { State } from '../state/database.ts';
import { parseCatalog } from '../stock/file-rows.ts';
import { openJournal, openWritable } from '../stock/open-journal.ts';
import { readSource } from '../stock/source-file.ts';
import { confirmation, FORMAT_FACTS, list, type RecordView } from '../view/view.ts';
import { capital, plural } from '../view/words.ts';

const WHERE =
  'The catalog is stored on this machine, for the address of the environment. It needs no request and no key.';

const FORCE = flag('--force', 'allow a barcode with the digits of a pet id; inventory count reads them as the barcode');

/** Parses a minimum or a target. */
const levelValue = parserOf(
  'a whole number from 0 up, or none',
  (text): bigint | 'none' | undefined => {
    if (text === 'none') return text;
    const level = parseInteger(text);
    return level !== undefined && level >= 0n ? level : undefined;
  },
  { words: ['none'] },
);

export const catalogImport = defineCommand({
  path: 'catalog import',
  summary: 'Read names, barcodes, minimum and target of pets from a CSV file',
  description:
    'The columns are petId, name, barcode, min and target, in any order, separated by commas, semicolons, tabs or ' +
    '|. For a pet with several barcodes, use several rows, or put the codes in one cell, separated by spaces, ";" ' +
    'or "|". For the pets in the file, each column replaces what the catalog has, and an empty cell removes it; ' +
    'other pets are not changed. Stock is low at min or below, and an order fills it up to target. Barcodes are ' +
    `EAN-8, EAN-13 and UPC-A, with a valid check digit. If any row is invalid, nothing is imported. ${WHERE}`,
  examples: {
    'A file with these columns': 'petstore catalog import catalog.csv',
    'Other headings': 'petstore catalog import articles.csv --map "Article=petId" --map "EAN=barcode"',
    'From one environment to another':
      'petstore --env staging catalog list -o csv | petstore --env sandbox catalog import -',
  },
  arguments: { file: argument(pathValue, 'CSV; - for stdin') },
  options: {
    map: option(
      '--map <heading=column>',
      repeated(mappingValue(CATALOG_FILE)),
      'use a column with another heading as one of these columns; repeatable',
    ),
    force: FORCE,
  },
  async run({ file, map, force }, context) {
    const { name: source, text } = await readSource(context, file, CATALOG_FILE);
    const { rows, problems, ignored } = parseCatalog(text, map);
    for (const column of ignored) context.notices.info(`Column ${JSON.stringify(column)} is not used.`);
    await store(context, rows, force, (found) => {
      const all = [...problems, ...found].toSorted((a, b) => a.line - b.line);
      const { unchanged } = CATALOG_FILE;
      if (all.length > 0) throw new Failure('invalid-rows', { source, problems: all, unchanged });
    });
    const imported = new Set(rows.map(({ petId }) => petId)).size;
    return confirmed(context, `${plural(imported, 'pet')} imported into`, { imported });
  },
});

export const catalogList = defineCommand({
  path: 'catalog list',
  summary: 'Show the catalog: names, barcodes, minimum and target',
  description:
    'With -o csv, the output is a file that petstore catalog import reads. source is local for what you entered or ' +
    `imported on this machine, and service for what a gateway (petstore proxy) or the sandbox provides. ${WHERE}`,
  examples: {
    'All of it': 'petstore catalog list',
    'As a file to edit and import again': 'petstore catalog list -o csv > catalog.csv',
  },
  more: ['environments', 'output'],
  async run(_input, context) {
    const catalog = await openCatalog(context, await catalogOrigin(context));
    // One that cannot be read is not empty.
    if (catalog === undefined) await openJournal(context);
    const view = list<Entry>(
      [],
      {
        petId: ({ petId }) => petId,
        name: ({ name }) => name,
        barcode: ({ barcodes }) => barcodes.map(labelOf).join(' '),
        min: ({ min }) => min,
        target: ({ target }) => target,
        ...(FORMAT_FACTS[context.globals.output].isForPeople && { source: sourceOf }),
      },
      {
        jsonText: ({ petId, name, barcodes, isProvided, min = null, target = null }) => {
          const source = sourceOf({ isProvided });
          return stringifyJson(jsonObject({ petId, name, barcodes: barcodes.map(labelOf), min, target, source }));
        },
        empty: `The catalog of ${await environmentOf(context)} is empty. Import one: petstore catalog import FILE`,
      },
    );
    return { ...view, rows: entriesOf(catalog) };
  },
});

/** Returns the source of a catalog entry: this machine's user, or the gateway or sandbox that provided it. */
function sourceOf({ isProvided }: Pick<Entry, 'isProvided'>): string {
  return isProvided ? 'service' : 'local';
}

/** Yields the entries of a catalog, then closes it. */
function* entriesOf(catalog: Catalog | undefined): Generator<readonly Entry[]> {
  using _catalog = catalog;
  if (catalog !== undefined) yield* catalog.entries();
}

export const catalogSet = defineCommand({
  path: 'catalog set',
  summary: 'Set name, barcodes, minimum or target of one pet',
  description:
    'Adds the pet to the catalog, or replaces what you name: its name, all of its barcodes, its minimum (stock is ' +
    `low at this quantity or below) or its target (an order fills it up to this quantity). ${WHERE}`,
  examples: {
    'Name pet 7': 'petstore catalog set 7 --name "Goldfish, small"',
    'With two barcodes': 'petstore catalog set 7 --barcode 4006381333931 73513537',
    'Low at five, order up to twenty': 'petstore catalog set 7 --min 5 --target 20',
  },
  arguments: { petId: argument(petIdValue, 'id of the pet, an int64') },
  options: {
    name: option('--name <name>', nameValue, 'its name'),
    barcode: option('--barcode <code...>', listOf(textValue), 'its barcodes, which replace those it has'),
    min: option('--min <quantity>', levelValue, 'the quantity at which its stock is low; none removes it'),
    target: option('--target <quantity>', levelValue, 'the quantity to fill up to; none removes it'),
    force: { ...FORCE, needs: 'barcode' },
  },
  async run({ petId, name, barcode: barcodes, force, min, target }, context) {
    const [least, most] = [min, target].map((level) => (level === 'none' ? null : level));
    const row = { line: 1, petId, name, barcodes, min: least, target: most };
    if ([name, barcodes, min, target].every((each) => each === undefined)) {
      throw usageFailure('Set what? Use --name, --barcode, --min or --target.');
    }
    await store(context, [row], force, ([problem]) => {
      if (problem !== undefined)
        throw usageFailure(`${capital(problem.reason)}; ${CATALOG_FILE.unchanged}.`, SEE_CATALOG);
    });
    return confirmed(context, `Pet ${petId} saved in`, { petId });
  },
});

export const catalogRemove = defineCommand({
  path: 'catalog remove',
  summary: 'Remove one pet from the catalog',
  description: `Removes everything that the catalog has about a pet. Its stock is not changed. ${WHERE}`,
  examples: { 'Pet 7': 'petstore catalog remove 7' },
  arguments: { petId: argument(petIdValue, 'id of the pet, an int64') },
  async run({ petId }, context) {
    if (await update(context, (database, origin) => removePet(database, origin, petId))) {
      return confirmed(context, `Pet ${petId} removed from`, { petId });
    }
    throw usageFailure(`Pet ${petId} is not in the catalog of ${await environmentOf(context)}.`, SEE_CATALOG);
  },
});

async function environmentOf(context: CommandContext): Promise<string> {
  return (await context.settings()).environment.value;
}

async function confirmed(context: CommandContext, done: string, members: object): Promise<RecordView> {
  const environment = await environmentOf(context);
  return confirmation(`${done} the catalog of ${environment}.`, { environment, ...members });
}

/** Stores all of the rows, or none. @param refuse throws if there are problems */
function store(
  context: CommandContext,
  rows: readonly CatalogRow[],
  force = false,
  refuse: (problems: readonly Problem[]) => void,
): Promise<void> {
  const safe = rows.map((row) => ({ ...row, ...(row.name && { name: context.secrets.redact(row.name) }) }));
  const pause = async (): Promise<void> => {
    await context.clock.turn();
    context.signal.throwIfAborted();
  };
  return update(context, async (database, origin) => {
    refuse(await storeRows(database, origin, safe, force, pause));
  });
}

/** Runs the work in one transaction of the state database. */
async function update<T>(
  context: CommandContext,
  work: (database: State['database'], origin: string) => T | Promise<T>,
): Promise<T> {
  const origin = await catalogOrigin(context);
  await provideCatalog(context, origin);
  using state = await openWritable(context);
  return await state.exclusively(() => work(state.database, origin), { durable: true });
}
