import { flag } from '../cli/command.ts';
import { defineWrite, FILTER_OPTIONS } from '../cli/shared-options.ts';
import { edit } from '../stock/edit.ts';

export const inventoryEdit = defineWrite({
  path: 'inventory edit',
  summary: 'Change stock in your editor',
  description:
    'Opens the stock, or only the pets matching the filters, as CSV in $VISUAL or $EDITOR. Shows your changes and ' +
    'asks before it applies them. Without a terminal, name an editor and add --yes. Other commands may change stock ' +
    'while the editor is open; pets that someone else has changed are reported as conflicts and skipped.',
  examples: {
    'All of it': 'petstore inventory edit',
    'What is running out': 'petstore inventory edit --status available --max 3',
  },
  options: {
    ...FILTER_OPTIONS,
    allowNegative: flag('--allow-negative', 'allow quantities below zero'),
  },
  run: (input, context) => edit(context, input),
});
