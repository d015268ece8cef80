import { type InventoryItem, itemMembers, itemToJson, warnOfUnexpected } from '../api/item.ts';
import { matcher } from '../api/select.ts';
import { PET_STATUSES } from '../api/values.ts';
import { defineCommand, flag, option, under } from '../cli/command.ts';
import { petIdOf, PET_OPTIONS } from '../cli/shared-options.ts';
import { durationValue, integerValue, petNotNameValue, textValue, wordValue } from '../value-parsers.ts';
import { Failure, onlyFailure, usageFailure } from '../errors.ts';
import { alertBy, pause } from '../watch/watch.ts';
import { connect } from '../session/connect.ts';
import { readStock } from '../stock/runner.ts';
import type { CommandContext } from '../session/globals.ts';
import { requireCatalog, tableNames } from '../session/open-catalog.ts';
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
    const alert = alertBy(context, '--exec', input.exec);
    const holds = matcher({ min: quantity ?? min, max: quantity ?? max, status: status && [status] });
    const { found, label } = await waitFor(context, pet, holds, input);
    warnOfUnexpected([found], context.notices);
    const text = `${label}: ${found.quantity} (${visible(found.status)}).`;
    // Shows the pet even if --exec fails.
    const failure = await alert?.([itemToJson(found)]).then(() => undefined, onlyFailure);
    return record(text, [...itemToJson(found)], { csv: itemMembers(found), ...(failure && { failure }) });
  },
});

/**
 * Resolves with the pet once the condition holds. Checks a last time when the time is up.
 * @throws {Failure} `wait-timeout`, `pet-not-found`, and failures of reading the list
 */
async function waitFor(
  context: CommandContext,
  petId: bigint,
  holds: (pet: InventoryItem) => boolean,
  { for: ms = context.globals.timeout ?? DEFAULT_MS, interval }: { readonly for?: number; readonly interval: number },
) {
  const { clock, notices } = context;
  const giveUp = clock.monotonic() + ms;
  await using session = await connect(context);
  const { environment, origin, service } = session;
  const names = await tableNames(context, origin, [{ petId }]);
  const label = capital(petLabel(petId, names?.get(petId)));
  for (let isFirst = true; ; isFirst = false) {
    const found = (await readStock(service, 'show')).get(petId);
    if (found === undefined) throw new Failure('pet-not-found', { petId, environment });
    if (holds(found)) return { found, label };
    const state = `has a quantity of ${found.quantity} and is ${found.status}`;
    const left = giveUp - clock.monotonic();
    if (left <= 0) throw new Failure('wait-timeout', { petId, ms, found: state });
    if (isFirst) notices.info(`${label} ${state}; waiting.`);
    await pause(context, session, interval, left, ` ${label} ${state}.`);
  }
}

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
