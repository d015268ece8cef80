import { option } from '../cli/command.ts';
import { defineWrite } from '../cli/shared-options.ts';
import { instantValue, numberValue, textValue, wordValue } from '../value-parsers.ts';
import { count } from '../stock/count.ts';
import { dueForCount } from '../stock/stocktake.ts';

export const inventoryCount = defineWrite({
  path: 'inventory count',
  summary: 'Take stock with a barcode scanner',
  description:
    'Reads one scan per line: an id or a barcode from the catalog, alone, followed by a quantity (7 12), or after a ' +
    'multiplier (3x 7). Each scan is saved at once. Unknown codes ring the bell and are not counted; in a pipe, ' +
    'they stop the count before it is applied. "-" takes back the last scan; "list" shows the count so far; "done" ' +
    '(or Ctrl-D, or the end of a pipe) ends the stocktake, shows the differences and asks before it applies them; ' +
    '"q" stops, to continue later. After --dry-run, continue with --resume. At the end, pets that were not scanned ' +
    'are listed, and left as they are unless you add --rest zero. The report has the expected and the counted ' +
    'quantity of every pet. Other commands may change stock while you count: a pet that has changed since its first ' +
    'scan is left as it is and reported as a conflict.',
  examples: {
    'At the shelf': 'petstore inventory count',
    'Labels that read PET-7': 'petstore inventory count --prefix PET-',
    'After a crash, or Ctrl-C': 'petstore inventory count --resume',
    'Part of the shop each day: what was not counted for 90 days': 'petstore inventory count --due 90d',
    'Scans from a file': 'petstore inventory count --yes < scans.txt',
  },
  options: {
    prefix: option('--prefix <text>', textValue, 'text before the id on each label'),
    resume: option('--resume [run]', numberValue, 'continue a stocktake: the newest, or the one with this number'),
    rest: option(
      '--rest <what>',
      wordValue(['leave', 'zero']),
      'pets that were not scanned: leave them, or set them to 0',
      { shownDefault: 'leave' },
    ),
    due: option(
      '--due <time>',
      instantValue('its start'),
      'list the pets not counted since this time (90d, 2026-03-01), starting with those never counted',
      { conflicts: ['prefix', 'dryRun', 'resume', 'rest', 'cause', 'note', 'person'] },
    ),
  },
  run: (input, context) =>
    input.due === undefined ? count(context, input) : dueForCount(context, input.due(context.clock.now())),
});
