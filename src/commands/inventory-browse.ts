import { flag, option } from '../cli/command.ts';
import { defineWrite, FILTER_OPTIONS } from '../cli/shared-options.ts';
import { integerValue } from '../value-parsers.ts';
import { browse } from '../browse/browse.ts';

export const inventoryBrowse = defineWrite({
  path: 'inventory browse',
  summary: 'Search and change stock in a table',
  description:
    'Shows the stock in full screen. Type to search by id, name or barcode; press Enter to change the quantity of ' +
    'the pet at the cursor. Ctrl-X shows all changes and asks before it applies them; ? lists the other keys. ' +
    'Changes are saved as you make them: after a crash or Ctrl-C, the next start offers them. Pets that someone ' +
    'else has changed in the meantime are left as they are and marked.',
  examples: {
    'All of it': 'petstore inventory browse',
    'What is running out': 'petstore inventory browse --status available --max 3',
    'With a screen reader': 'petstore inventory browse --plain',
  },
  options: {
    ...FILTER_OPTIONS,
    low: option('--low <quantity>', integerValue, 'for Ctrl-L: low stock of pets without a minimum', {
      default: '5',
    }),
    plain: flag('--plain', 'use lines of text instead of the full screen'),
  },
  run: (input, context) => browse(context, input),
});
