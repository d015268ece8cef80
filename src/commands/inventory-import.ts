import { argument, flag, option } from '../cli/command.ts';
import { defineWrite } from '../cli/shared-options.ts';
import { mappingValue, STOCK_FILE } from '../stock/columns.ts';
import { dryRun, runImport } from '../stock/import.ts';
import { repeated, pathValue } from '../value-parsers.ts';

export const inventoryImport = defineWrite({
  path: 'inventory import',
  summary: 'Set or add to the stock of many pets from a file',
  description:
    'Reads CSV (separated by commas, semicolons, tabs or |) or JSON (an array, or one object per line). The ' +
    'columns, in any order, are petId (or barcode or name, as in the catalog) and either quantity, which sets the ' +
    'stock, or delta, which adds to it. The optional column current guards a row, which is applied only if the pet ' +
    'has that quantity; cause and note are kept in the history. All rows are checked, then compared with the ' +
    'current stock, and only what differs is sent. Each row is recorded before it is sent, so an interrupted import ' +
    'continues with --resume, and no acknowledged row is sent or added twice. Rows that an earlier import added are ' +
    'refused, unless you add --again; at a terminal, petstore asks.',
  examples: {
    'What would change': 'petstore inventory import stock.csv --dry-run',
    'Add a delivery (columns petId and delta)': 'petstore inventory import delivery.csv',
    'Add a delivery with other headings':
      'petstore inventory import order.csv --add --map "Article=petId" --map "Pieces=quantity"',
    'Ten thousand rows, waiting as often as needed': 'petstore inventory import stock.csv --wait --yes',
    'In a crontab: continue or start': 'petstore --env production inventory import stock.csv --resume --yes --wait',
  },
  arguments: { file: argument(pathValue, 'CSV or JSON; - for stdin') },
  options: {
    exitCode: flag('--exit-code', 'with --dry-run: exit 13 if anything would change or a row cannot be applied', {
      needs: 'dryRun',
    }),
    add: flag('--add', 'add the quantities to the stock instead of setting it'),
    map: option(
      '--map <heading=column>',
      repeated(mappingValue(STOCK_FILE)),
      `use a column with another heading as one of ${STOCK_FILE.columns.join(', ')}; repeatable`,
    ),
    again: flag('--again', 'add rows even if an earlier import has added them'),
    resume: flag('--resume', 'continue the import of this file if it is unfinished or could not add all rows'),
    allowNegative: flag('--allow-negative', 'allow quantities below zero'),
    events: flag('--events', 'print one JSON object for each row as it is done, and one at the end', {
      conflicts: ['dryRun'],
    }),
  },
  run: (input, context) => (input.dryRun === true ? dryRun(context, input) : runImport(context, input)),
});
