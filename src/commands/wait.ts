import { itemMembers, itemToJson } from '../api/item.ts';
import { PET_STATUSES } from '../api/values.ts';
import { defineCommand, option, under } from '../cli/command.ts';
import { durationValue, integerValue, petIdValue, wordValue } from '../cli/values.ts';
import { Failure } from '../errors.ts';
import { record, type RecordView } from '../view/view.ts';

const DEFAULT_MS = 300_000;

export const wait = defineCommand({
  path: 'wait',
  common: 'requests',
  summary: 'Wait until a pet has a quantity or a status',
  description:
    'Checks the list repeatedly, as often as the rate limit allows, until all conditions hold, then shows the pet. ' +
    'Exits 13 if they do not hold in time.',
  examples: [
    { says: 'Until a delivery has been booked', command: 'petstore wait --pet 7 --quantity 12 --for 10m' },
    { says: 'Until it is sold out', command: 'petstore wait --pet 7 --max 0 --for 1h' },
  ],
  options: {
    ...under('What to wait for', {
      pet: option('--pet <id>', petIdValue, 'the pet'),
      quantity: option('--quantity <quantity>', integerValue, 'exactly this quantity'),
      min: option('--min <quantity>', integerValue, 'at least this quantity'),
      max: option('--max <quantity>', integerValue, 'at most this quantity'),
      status: option('--status <status>', wordValue(PET_STATUSES), PET_STATUSES.join(', ')),
    }),
    ...under('How long', {
      for: option(
        '--for <duration>',
        durationValue(0),
        'how long at most (default: --timeout where it is given, else 5m)',
      ),
      interval: option('--interval <duration>', durationValue(100), 'at least so long between two looks', {
        default: 5_000,
        shownDefault: '5s',
      }),
    }),
  },
  more: ['scripting', 'rate-limits', 'exit-codes'],
  async run(input, context): Promise<RecordView> {
    const { pet, quantity, min, max, status } = input;
    if (pet === undefined) throw new Failure('usage', { problem: 'Say which pet: --pet ID.' });
    if ([quantity, min, max, status].every((each) => each === undefined)) {
      throw new Failure('usage', { problem: 'Say what to wait for: --quantity, --min, --max or --status.' });
    }
    const { waitFor } = await import('../watch/watch.ts');
    const { timeoutIsExplicit, timeout } = context.globals;
    const found = await waitFor(context, {
      ...input,
      pet,
      for: input.for ?? (timeoutIsExplicit ? timeout : DEFAULT_MS),
    });
    const text = `Pet ${found.petId}: ${found.quantity} (${found.status}).`;
    return record(text, [...itemToJson(found)], { csv: itemMembers(found) });
  },
});
