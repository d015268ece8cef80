import { argument, flag, option } from '../cli/command.ts';
import { defineWrite, PET_ARGUMENT, PET_OPTIONS, petIdOf } from '../cli/shared-options.ts';
import { Failure, usageFailure } from '../errors.ts';
import { changePet } from '../stock/change-pet.ts';
import { integerValue } from '../value-parsers.ts';

export const inventorySet = defineWrite({
  path: 'inventory set',
  summary: 'Set the stock of one pet',
  description:
    'At a terminal, reads the pet first and shows the old and the new quantity; petstore inventory undo takes the ' +
    'change back. Without a terminal, sends a single request, so the history has no old quantity, unless you add ' +
    '--read-first or --expect. The operation is experimental in the service: its request may still change. If an ' +
    'answer is lost, petstore reads the list, and repeats the write only if it was not applied.',
  examples: {
    'Set pet 7 to 12': 'petstore inventory set 7 12',
    'Only if it is still 10': 'petstore inventory set 7 12 --expect 10',
    'By its name in the catalog': 'petstore inventory set --name goldfish 12',
    'Show the request': 'petstore inventory set 7 12 --dry-run',
    'From a script, so that it can be undone': 'petstore --env production inventory set 7 12 --read-first --json',
  },
  arguments: {
    petId: PET_ARGUMENT,
    quantity: argument(integerValue, 'the new quantity'),
  },
  options: {
    ...PET_OPTIONS,
    expect: option(
      '--expect <quantity>',
      integerValue,
      'only if the current quantity is this (else exit 13); a change between check and write is detected only behind petstore proxy',
    ),
    readFirst: flag('--read-first', 'read the old quantity first, so undo works; the default on a terminal', {
      no: 'send a single request; undo is then not possible',
    }),
    allowNegative: flag('--allow-negative', 'allow a quantity below zero'),
  },
  async run(input, context) {
    if (input.readFirst === false && input.expect !== undefined)
      throw usageFailure('--expect and --no-read-first cannot be used together.');
    const petId = await petIdOf(context, input.petId, input, "Missing required argument 'quantity'.");
    if (input.quantity < 0n && input.allowNegative !== true) {
      throw new Failure('invalid-value', {
        name: 'quantity',
        value: String(input.quantity),
        expected: 'zero or more',
        hint:
          'If a count below zero is really meant, add --allow-negative. set stores the count itself; to take away from ' +
          `it: petstore inventory adjust ${petId} ${input.quantity}`,
      });
    }
    return changePet(context, { ...input, petId });
  },
});
