import type { Filter } from '../api/select.ts';
import { PET_STATUSES } from '../api/values.ts';
import { type CommandSpec, integerValue, listOf, petIdValue, wordValue } from '../command.ts';
import type { RecordView } from '../view/view.ts';

export const inventoryEdit: CommandSpec<Filter> = {
  path: 'inventory edit',
  summary: 'Change stock in your editor (experimental in the service)',
  description:
    'Opens the stock, or what the filters leave of it, as CSV in $VISUAL or $EDITOR. What you change there is shown, ' +
    'and set if you agree. A pet that somebody else has changed meanwhile is a conflict, and is left alone.',
  examples: [
    { says: 'All of it', command: 'petstore inventory edit' },
    { says: 'What is running out', command: 'petstore inventory edit --status available --max 3' },
  ],
  options: [
    {
      flags: '--status <status...>',
      description: `only pets of this status: ${PET_STATUSES.join(', ')}`,
      parse: listOf(wordValue('--status', PET_STATUSES)),
    },
    { flags: '--pet <id...>', description: 'only these pets', parse: listOf(petIdValue('--pet')) },
    { flags: '--min <quantity>', description: 'only a quantity of at least this', parse: integerValue('--min') },
    { flags: '--max <quantity>', description: 'only a quantity of at most this', parse: integerValue('--max') },
  ],
  async run(input, context): Promise<RecordView> {
    const { edit } = await import('../bulk/edit.ts');
    return edit(context, input);
  },
};
