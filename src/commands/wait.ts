import { itemMembers, itemToJson } from '../api/item.ts';
import { PET_STATUSES } from '../api/values.ts';
import { defineCommand, flag, option, under } from '../cli/command.ts';
import { petIdOf, petOptions } from '../cli/pet-options.ts';
import { durationValue, integerValue, petIdValue, wordValue } from '../cli/values.ts';
import { Failure } from '../errors.ts';
import { record } from '../view/view.ts';

const DEFAULT_MS = 300_000;

export const wait = defineCommand({
  path: 'wait',
  common: 'requests',
  summary: 'Wait until a pet has a quantity or a status',
  description:
    'Reads the list repeatedly, as often as the rate limit allows, until all conditions hold, then shows the pet. ' +
    'It reads a last time when the time is over, and exits 13 if the conditions still do not hold. A pet that the ' +
    'list does not have ends it at once with exit 5, unless --allow-missing is given; other failures exit as in ' +
    'every command.',
  examples: [
    { says: 'Until a delivery has been booked', command: 'petstore wait --pet 7 --quantity 12 --for 10m' },
    { says: 'Until it is sold out', command: 'petstore wait --pet 7 --max 0 --for 1h' },
    { says: 'Until a new pet is listed', command: 'petstore wait --pet 7 --min 0 --allow-missing --for 1h' },
  ],
  options: {
    ...under('What to wait for', {
      pet: option('--pet <id>', petIdValue, 'the pet'),
      ...petOptions(),
      quantity: option('--quantity <quantity>', integerValue, 'exactly this quantity'),
      min: option('--min <quantity>', integerValue, 'at least this quantity'),
      max: option('--max <quantity>', integerValue, 'at most this quantity'),
      status: option('--status <status>', wordValue(PET_STATUSES), PET_STATUSES.join(', ')),
      allowMissing: flag('--allow-missing', 'wait also while the list does not have the pet; without it, exit 5'),
    }),
    ...under('How long', {
      for: option(
        '--for <duration>',
        durationValue(0),
        'how long at most (default: --timeout where it is given, else 5m)',
      ),
      interval: option('--interval <duration>', durationValue(100), 'shortest time between two reads of the list', {
        default: 5_000,
        shownDefault: '5s',
      }),
    }),
  },
  more: ['scripting', 'rate-limits', 'exit-codes'],
  async run(input, context) {
    const { pet: petId, name, barcode, quantity, min, max, status } = input;
    const missing = { problem: 'Which pet? Use --pet, --name or --barcode.' };
    const pet = await petIdOf(context, { petId, name, barcode }, missing);
    if ([quantity, min, max, status].every((each) => each === undefined)) {
      throw new Failure('usage', { problem: 'Wait for what? Use --quantity, --min, --max or --status.' });
    }
    if (isAbove(min, max) || isAbove(min, quantity) || isAbove(quantity, max)) {
      throw new Failure('usage', { problem: 'No quantity can be all of what --quantity, --min and --max say.' });
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

function isAbove(least: bigint | undefined, most: bigint | undefined): boolean {
  return least !== undefined && most !== undefined && least > most;
}
