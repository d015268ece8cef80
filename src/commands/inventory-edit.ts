import { defineCommand, flag } from '../cli/command.ts';
import { FILTER_OPTIONS } from '../cli/filter-options.ts';
import type { RecordView } from '../view/view.ts';

export const inventoryEdit = defineCommand({
  path: 'inventory edit',
  summary: 'Change stock in your editor',
  description:
    'Opens the stock, or what the filters leave of it, as CSV in $VISUAL or $EDITOR. What you change there is shown, ' +
    'and set if you agree; without a terminal the editor that these name does its work, and nothing is asked. A pet that somebody else has changed meanwhile is a conflict, and is left alone.',
  examples: [
    { says: 'All of it', command: 'petstore inventory edit' },
    { says: 'What is running out', command: 'petstore inventory edit --status available --max 3' },
  ],
  options: { ...FILTER_OPTIONS, allowNegative: flag('--allow-negative', 'allow quantities below zero') },
  experimental: true,
  more: ['environments', 'rate-limits', 'exit-codes'],
  async run(input, context): Promise<RecordView> {
    const { edit } = await import('../bulk/edit.ts');
    return edit(context, input);
  },
});
