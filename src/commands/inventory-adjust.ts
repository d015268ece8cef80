import { parseInteger } from '../api/values.ts';
import { argument, flag, option } from '../cli/command.ts';
import { defineWrite, PET_ARGUMENT, PET_OPTIONS, petIdOf } from '../cli/shared-options.ts';
import { integerValue, parserOf } from '../value-parsers.ts';
import { changePet } from '../stock/change-pet.ts';

/** Accepts a plus sign, too. */
const deltaValue = parserOf('a whole number with or without a sign, such as +3 or -1', (text) =>
  parseInteger(text.replace(/^\+(?=\d)/, '')),
);

export const inventoryAdjust = defineWrite({
  path: 'inventory adjust',
  summary: "Add to or take from one pet's stock",
  description:
    'Reads the current quantity, writes the sum, and shows both; petstore inventory undo takes it back. Commands ' +
    'that change the same pet take turns: those of this user and, with PETSTORE_LEDGER, those of all machines that ' +
    'share it. The service can only set a quantity, so a change that another program makes between the read and the ' +
    'write is overwritten, except behind petstore proxy, where the pet is read again.',
  examples: {
    'Add three to pet 7': 'petstore inventory adjust 7 +3',
    'One was sold': 'petstore inventory adjust 7 -1',
    'By its barcode in the catalog': 'petstore inventory adjust --barcode 4006381333931 -1',
    'Only if there are ten': 'petstore inventory adjust 7 -1 --expect 10',
    'Show what would be sent': 'petstore inventory adjust 7 -1 --dry-run',
  },
  arguments: {
    petId: PET_ARGUMENT,
    delta: argument(deltaValue, 'how many to add; negative to take away'),
  },
  options: {
    ...PET_OPTIONS,
    expect: option('--expect <quantity>', integerValue, 'only if the current quantity is this (else exit 13)'),
    allowNegative: flag('--allow-negative', 'allow a result below zero; without it, exit 13'),
  },
  async run(input, context) {
    const petId = await petIdOf(context, input.petId, input, "Missing required argument 'delta'.");
    return changePet(context, { ...input, petId });
  },
});
