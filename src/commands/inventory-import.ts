import { argument, defineCommand, flag, option, under } from '../cli/command.ts';
import { parseMapping } from '../stock/columns.ts';
import { parserOf, repeated, textValue } from '../cli/values.ts';
import { WHY_OPTIONS, withWhy } from '../cli/why-options.ts';
import { Failure } from '../errors.ts';

const mappingValue = parserOf(
  'HEADING=COLUMN, where COLUMN is petId, barcode, name, quantity, delta or current',
  (text) => parseMapping(text),
);

export const inventoryImport = defineCommand({
  path: 'inventory import',
  summary: 'Set or add to the stock of many pets from a file',
  description:
    'Reads CSV (any order, any delimiter) or JSON (an array, or one object per line). The columns are petId (or barcode ' +
    'or name, as in the catalog) and either quantity, which sets the stock, or delta, which adds to it. A column ' +
    'current guards a row: it is applied only if the pet has that quantity; cause and note are kept in the ' +
    'history. All rows are checked, then compared with the current stock, and only what differs is sent. Each row is ' +
    'recorded before it is sent, so an interrupted import continues with --resume, and no acknowledged row is sent or ' +
    'added twice. A file that adds the rows of an earlier one is added only if you say so.',
  examples: [
    { says: 'What would change', command: 'petstore inventory import stock.csv --dry-run' },
    { says: 'Add a delivery (columns petId and delta)', command: 'petstore inventory import delivery.csv' },
    {
      says: 'Add a delivery with other headings',
      command: 'petstore inventory import order.csv --add --map "Article=petId" --map "Pieces=quantity"',
    },
    {
      says: 'Ten thousand rows, waiting as often as needed',
      command: 'petstore inventory import stock.csv --wait --yes',
    },
    {
      says: 'In a crontab: continue what was interrupted, or begin',
      command: 'petstore --env production inventory import stock.csv --resume --yes --wait',
    },
  ],
  arguments: { file: argument(textValue, 'CSV or JSON; - for stdin') },
  options: {
    ...under('Before', {
      dryRun: flag('--dry-run', 'show what would change and send nothing'),
      exitCode: flag('--exit-code', 'with --dry-run: exit 13 if anything would change or a row cannot be applied'),
      add: flag('--add', 'add the quantities to the stock instead of setting it'),
      map: option(
        '--map <heading=column>',
        repeated(mappingValue),
        'use a column with another heading as petId, barcode, name, quantity, delta or current; repeatable',
      ),
      again: flag('--again', 'add rows that an earlier import has added already'),
      resume: flag('--resume', 'continue the import of this file, if one is unfinished or could not add all rows'),
      allowNegative: flag('--allow-negative', 'allow quantities below zero'),
    }),
    ...WHY_OPTIONS,
    ...under('While it runs', {
      events: flag('--events', 'print one JSON object for each row as it is done, and one at the end', {
        conflicts: ['dryRun'],
      }),
    }),
  },
  experimental: true,
  more: ['environments', 'rate-limits', 'exit-codes'],
  async run(input, context) {
    if (input.exitCode === true && input.dryRun !== true) {
      throw new Failure('usage', {
        problem: '--exit-code needs --dry-run; nothing was sent.',
        hint: 'Add --dry-run to check without changing anything.',
      });
    }
    const { dryRun, runImport } = await import('../stock/import.ts');
    return input.dryRun === true ? dryRun(context, input) : runImport(withWhy(context, input), input);
  },
});
