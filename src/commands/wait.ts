import { itemMembers, itemToJson, warnOfUnexpected } from '../api/item.ts';
import { matcher } from '../api/select.ts';
import { PET_STATUSES } from '../api/values.ts';
import { defineCommand, flag, option, under } from '../cli/command.ts';
import { petIdOf, PET_OPTIONS } from '../cli/shared-options.ts';
import { durationValue, integerValue, petNotNameValue, textValue, wordValue } from '../value-parsers.ts';
import { onlyFailure, usageFailure } from '../errors.ts';
import { alertsBy, waitFor } from '../watch/watch.ts';
import type { CommandContext } from '../session/globals.ts';
import { catalogOrigin, requireCatalog, tableNames } from '../session/open-catalog.ts';
import { capital, petLabel, visible } from '../view/words.ts';
import { record } from '../view/view.ts';

const DEFAULT_MS = 300_000;

export const wait = defineCommand({
  path: 'wait',
  common: 'requests',
  summary: 'Wait until a pet has a quantity or a status',
  description:
    'Reads the list, as often as the rate limit allows, until all conditions hold, then shows the pet. When time is ' +
    'up, it reads once more, and exits 13 if the conditions still do not hold. If the list does not have the pet, ' +
    'it exits 5 at once; other failures exit as in every command.',
  examples: {
    'Until a delivery has been entered': 'petstore wait --pet 7 --quantity 12 --for 10m',
    'Until it is sold out': 'petstore wait --pet 7 --max 0 --for 1h',
    'Until it has to be ordered': 'petstore wait --pet 7 --low --for 8h',
    'Then run a command': "petstore wait --pet 7 --max 0 --for 8h --exec 'mail -s sold-out me'",
  },
  options: {
    ...under('What to wait for', {
      pet: option('--pet <id>', petNotNameValue, 'the pet'),
      ...PET_OPTIONS,
      quantity: option('--quantity <quantity>', integerValue, 'exactly this quantity'),
      min: option('--min <quantity>', integerValue, 'at least this quantity'),
      max: option('--max <quantity>', integerValue, 'at most this quantity'),
      low: flag('--low', 'at or below its minimum in the catalog', { conflicts: ['max'] }),
      status: option('--status <status>', wordValue(PET_STATUSES), PET_STATUSES.join(', ')),
    }),
    ...under('Then', {
      exec: option(
        '--exec <command>',
        textValue,
        'then run this command, with the pet in a JSON array on its stdin; no shell, 60s at most; exit 3 if it fails',
      ),
    }),
    ...under('How long', {
      for: option('--for <duration>', durationValue(0), 'longest time to wait (default: --timeout if given, else 5m)'),
      interval: option('--interval <duration>', durationValue(100), 'minimum time between two reads of the list', {
        default: '5s',
      }),
    }),
  },
  more: ['scripting', 'rate-limits', 'exit-codes'],
  async run(input, context) {
    const { quantity, min, low, status } = input;
    const pet = await petIdOf(context, input.pet, input, 'Which pet? Use --pet, --name or --barcode.');
    const max = low === true ? await minimumOf(context, pet) : input.max;
    if ([quantity, min, max, status].every((each) => each === undefined)) {
      throw usageFailure('Wait for what? Use --quantity, --min, --max, --low or --status.');
    }
    if (isAbove(min, max) || isAbove(min, quantity) || isAbove(quantity, max)) {
      throw usageFailure('No quantity meets --quantity, --min and --max at once.');
    }
    const alert = input.exec === undefined ? undefined : alertsBy(context, '--exec', input.exec);
    const names = await tableNames(context, await catalogOrigin(context), [{ petId: pet }]);
    const label = capital(petLabel(pet, names?.get(pet)));
    const found = await waitFor(context, {
      pet,
      label,
      for: input.for ?? context.globals.timeout ?? DEFAULT_MS,
      interval: input.interval,
      holds: matcher({ min: quantity ?? min, max: quantity ?? max, status: status && [status] }),
    });
    warnOfUnexpected([found], context.notices);
    const text = `${label}: ${found.quantity} (${visible(found.status)}).`;
    // Shows the pet even if --exec fails.
    const failure = await alert?.run([itemToJson(found)]).then(() => undefined, onlyFailure);
    return record(text, [...itemToJson(found)], { csv: itemMembers(found), ...(failure && { failure }) });
  },
});

/** @throws {Failure} `usage`: the pet has no minimum in the catalog */
async function minimumOf(context: CommandContext, petId: bigint): Promise<bigint> {
  using catalog = await requireCatalog(context, '--low');
  const { min } = catalog.levelOf(petId);
  if (min !== undefined) return min;
  throw usageFailure(`Pet ${petId} has no minimum in the catalog.`, `Set one: petstore catalog set ${petId} --min 5`);
}

function isAbove(least: bigint | undefined, most: bigint | undefined): boolean {
  return least !== undefined && most !== undefined && least > most;
}
