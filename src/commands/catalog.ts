import { labelOf } from '../catalog/barcode.ts';
import { type CatalogRow, type Changes, checkRows } from '../catalog/changes.ts';
import { readCatalog, removePet, writeChanges } from '../catalog/local-catalog.ts';
import { CATALOG_FILE, parseMapping } from '../stock/columns.ts';
import { argument, defineCommand, flag, option } from '../cli/command.ts';
import { listOf, nameValue, parserOf, petIdValue, repeated, textValue } from '../cli/values.ts';
import { catalogOrigin, openCatalog } from '../session/catalog.ts';
import type { CommandContext } from '../session/globals.ts';
import { stateFolder } from '../session/paths.ts';
import { jsonObject, stringifyJson } from '../api/json.ts';
import { Failure } from '../errors.ts';
import { openState, type State } from '../state/database.ts';
import { confirmation, list, type RecordView } from '../view/view.ts';
import { capital, plural } from '../view/words.ts';

const WHERE =
  'The catalog is kept on this machine, for the address of the environment. No request is sent, and no key is needed.';

const FORCE = flag('--force', 'allow a barcode with the digits of a pet id; inventory count takes it for the barcode');

const mappingValue = parserOf('HEADING=COLUMN, where COLUMN is petId, name or barcode', (text) =>
  parseMapping(text, CATALOG_FILE),
);

export const catalogImport = defineCommand({
  path: 'catalog import',
  common: 'environment',
  summary: 'Read names and barcodes of pets from a CSV file',
  description:
    'The columns are petId, name and barcode, in any order and with any delimiter. A pet with several barcodes has ' +
    'several rows, or several codes in one cell with spaces, ";" or "|" between them. What the file has replaces the ' +
    'name or the barcodes of the pets in it; other pets are not changed. Barcodes are EAN-8, EAN-13 and UPC-A, and ' +
    `their check digits are checked. If any row is bad, nothing is imported. ${WHERE}`,
  examples: [
    { says: 'Columns petId, name and barcode', command: 'petstore catalog import catalog.csv' },
    {
      says: 'Other headings',
      command: 'petstore catalog import articles.csv --map "Article=petId" --map "EAN=barcode"',
    },
    {
      says: 'From one environment to another',
      command: 'petstore --env staging catalog list -o csv | petstore --env sandbox catalog import -',
    },
  ],
  arguments: { file: argument(textValue, 'CSV; - for stdin') },
  options: {
    map: option(
      '--map <heading=column>',
      repeated(mappingValue),
      'use a column with another heading as petId, name or barcode; repeatable',
    ),
    force: FORCE,
  },
  more: ['environments', 'exit-codes'],
  async run({ file, map, force }, context) {
    const { readSource } = await import('../stock/source-file.ts');
    const { parseCatalog } = await import('../stock/file-rows.ts');
    const { name: source, text } = await readSource(context, file, CATALOG_FILE);
    const { rows, problems, ignored } = parseCatalog(text, map);
    if (ignored.length > 0) context.notices.info(`Not used: ${ignored.slice(0, 10).join(', ')}.`);
    const pets = await store(context, rows, force, (found) => {
      const all = [...problems, ...found].toSorted((a, b) => a.line - b.line);
      const { unchanged } = CATALOG_FILE;
      if (all.length > 0) throw new Failure('invalid-rows', { source, problems: all, unchanged });
    });
    const environment = await environmentOf(context);
    return confirmation(`${plural(pets.size, 'pet')} imported into the catalog of ${environment}.`, [
      ['environment', environment],
      ['imported', pets.size],
    ]);
  },
});

export const catalogList = defineCommand({
  path: 'catalog list',
  common: 'environment',
  summary: 'Show the names and barcodes of the catalog',
  description: `With -o csv, the output is a file that petstore catalog import reads. ${WHERE}`,
  examples: [
    { says: 'All of it', command: 'petstore catalog list' },
    { says: 'As a file to edit and import again', command: 'petstore catalog list -o csv > catalog.csv' },
  ],
  more: ['environments', 'output'],
  async run(_input, context) {
    const catalog = await openCatalog(context, await catalogOrigin(context));
    return list(
      [...(catalog?.entries.values() ?? [])],
      {
        petId: ({ petId }) => petId,
        name: ({ name }) => name,
        barcode: ({ barcodes }) => barcodes.map(labelOf).join(' '),
      },
      {
        jsonText: ({ petId, name, barcodes }) =>
          stringifyJson(jsonObject({ petId, name, barcodes: barcodes.map(labelOf) })),
        empty: `The catalog of ${await environmentOf(context)} is empty. Import one: petstore catalog import FILE`,
      },
    );
  },
});

export const catalogSet = defineCommand({
  path: 'catalog set',
  common: 'environment',
  summary: 'Set the name or the barcodes of one pet',
  description: `Adds the pet to the catalog, or replaces what is given: its name, or all of its barcodes. ${WHERE}`,
  examples: [
    { says: 'Name pet 7', command: 'petstore catalog set 7 --name "Goldfish, small"' },
    { says: 'With two barcodes', command: 'petstore catalog set 7 --barcode 4006381333931 73513537' },
  ],
  arguments: { petId: argument(petIdValue, 'id of the pet, an int64') },
  options: {
    name: option('--name <name>', nameValue, 'its name'),
    barcode: option('--barcode <code...>', listOf(textValue), 'its barcodes, in place of those it has'),
    force: FORCE,
  },
  more: ['environments', 'exit-codes'],
  async run({ petId, name, barcode: barcodes, force }, context) {
    if (name === undefined && barcodes === undefined) {
      throw new Failure('usage', { problem: 'Set what? Use --name or --barcode.' });
    }
    await store(context, [{ line: 1, petId, name, barcodes }], force, ([problem]) => {
      if (problem === undefined) return;
      throw new Failure('usage', { problem: `${capital(problem.reason)}; ${CATALOG_FILE.unchanged}.`, hint: SEE });
    });
    return confirmed(context, petId, 'saved in');
  },
});

export const catalogRemove = defineCommand({
  path: 'catalog remove',
  common: 'environment',
  summary: 'Remove one pet from the catalog',
  description: `Removes the name and the barcodes of a pet. Its stock is not changed. ${WHERE}`,
  examples: [{ says: 'Pet 7', command: 'petstore catalog remove 7' }],
  arguments: { petId: argument(petIdValue, 'id of the pet, an int64') },
  more: ['environments', 'exit-codes'],
  async run({ petId }, context) {
    if (await update(context, (database, origin) => removePet(database, origin, petId))) {
      return confirmed(context, petId, 'removed from');
    }
    const environment = await environmentOf(context);
    throw new Failure('usage', { problem: `Pet ${petId} is not in the catalog of ${environment}.`, hint: SEE });
  },
});

const SEE = 'See the catalog: petstore catalog list';

async function environmentOf(context: CommandContext): Promise<string> {
  return (await context.settings()).environment.value;
}

async function confirmed(context: CommandContext, petId: bigint, what: string): Promise<RecordView> {
  const environment = await environmentOf(context);
  return confirmation(`Pet ${petId} ${what} the catalog of ${environment}.`, [
    ['environment', environment],
    ['petId', petId],
  ]);
}

/** Stores rows, all of them or none. @param refuse throws if there are problems */
function store(
  context: CommandContext,
  rows: readonly CatalogRow[],
  force: boolean | undefined,
  refuse: (problems: Changes['problems']) => void,
): Promise<Changes['pets']> {
  const safe = rows.map((row) => ({ ...row, ...(row.name && { name: context.secrets.redact(row.name) }) }));
  return update(context, (database, origin) => {
    const { pets, problems } = checkRows(safe, readCatalog(database, origin), { force });
    refuse(problems);
    writeChanges(database, origin, pets, force === true);
    return pets;
  });
}

/** Runs the work in one transaction of the state database. */
async function update<T>(
  context: CommandContext,
  work: (database: State['database'], origin: string) => T,
): Promise<T> {
  const origin = await catalogOrigin(context);
  using state = await openState(context, stateFolder(context));
  return await state.exclusively(() => work(state.database, origin), { durable: true });
}
