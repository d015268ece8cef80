import { flag, option } from '../cli/command.ts';
import { defineWrite, FILTER_OPTIONS } from '../cli/shared-options.ts';
import { integerValue } from '../value-parsers.ts';
import { browse } from '../browse/browse.ts';

export const inventoryBrowse = defineWrite({
  path: 'inventory browse',
  summary: 'Search and change stock in a table',
  description:
    'Shows the stock on the whole screen. Type to search by id, name or barcode; Enter types the quantity of the pet ' +
    'at the cursor. Ctrl-X shows all changes and asks before it applies them; ? shows the other keys. Changes that are ' +
    'not applied yet are saved at once: after a crash, or Ctrl-C, the next start offers them. Pets that someone else ' +
    'has changed since are left as they are, and marked.',
  examples: {
    'All of it': 'petstore inventory browse',
    'What is running out': 'petstore inventory browse --status available --max 3',
    'With a screen reader': 'petstore inventory browse --plain',
  },
  options: {
    ...FILTER_OPTIONS,
    low: option('--low <quantity>', integerValue, 'low stock of a pet without a minimum, for Ctrl-L', {
      default: '5',
    }),
    plain: flag('--plain', 'lines of text in place of a full screen'),
  },
  run: (input, context) => browse(context, input),
});
