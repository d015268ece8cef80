import { type InventoryItem, itemToJson } from '../api/item.ts';
import { parseInteger } from '../api/values.ts';
import { argument, defineCommand, flag, type InputOf, option } from '../cli/command.ts';
import { integerValue, parserOf, petIdValue } from '../cli/values.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { assertWriteAllowed } from '../session/write-policy.ts';
import { Failure } from '../errors.ts';
import { confirmation, type RecordView } from '../view/view.ts';
import { signed } from '../view/words.ts';

/** Of a change a plus is a natural part. */
const deltaValue = parserOf('a whole number with or without a sign: +3, 3 or -1', (text) =>
  parseInteger(text.replace(/^\+(?=[1-9])/, '')),
);

const ARGUMENTS = {
  petId: argument(petIdValue, 'id of the pet, an int64'),
  delta: argument(deltaValue, 'how many to add; negative to take away'),
};

const OPTIONS = {
  expect: option('--expect <quantity>', integerValue, 'only if the current quantity is this (else exit 13)'),
  allowNegative: flag('--allow-negative', 'allow a result below zero; without it, exit 13'),
};

type AdjustInput = InputOf<typeof ARGUMENTS & typeof OPTIONS>;

export const inventoryAdjust = defineCommand({
  path: 'inventory adjust',
  summary: "Add to or take from one pet's stock",
  description:
    'Reads the current quantity, adds, writes, and shows old and new. Commands on this machine that change the same ' +
    'pet take turns. The service can only set a quantity: a change made by another machine between the read ' +
    'and the write is overwritten.',
  examples: [
    { says: 'Add three of pet 7', command: 'petstore inventory adjust 7 +3' },
    { says: 'One was sold', command: 'petstore inventory adjust 7 -1' },
    { says: 'Only if there are ten', command: 'petstore inventory adjust 7 -1 --expect 10' },
  ],
  arguments: ARGUMENTS,
  options: OPTIONS,
  experimental: true,
  more: ['environments', 'rate-limits', 'exit-codes'],
  async run(input, context) {
    await assertWriteAllowed(context, `inventory adjust ${input.petId} ${signed(input.delta)}`);
    const { withPetLock } = await import('../bulk/pet-lock.ts');
    return withPetLock(context, input.petId, () => adjust(input, context));
  },
});

async function adjust(input: AdjustInput, context: CommandContext): Promise<RecordView> {
  const { petId, delta, expect } = input;
  await using session = await connect(context);
  const { environment, service } = session;
  const { findPet, updateInventory } = await import('../client/update.ts');
  const { recorded } = await import('../bulk/record-write.ts');
  context.notices.info(`Adjusting pet ${petId} by ${signed(delta)} in ${environment}.`);
  const found = await findPet(service, petId);
  if (found === undefined) throw new Failure('pet-not-found', { petId, environment });
  const before = found.quantity;
  if (expect !== undefined && before !== expect) {
    throw new Failure('precondition-failed', { petId, expected: expect, found: before });
  }
  const after = before + delta;
  if (after < 0n && input.allowNegative !== true) {
    throw new Failure('below-zero', { petId, found: before, delta });
  }
  if (delta === 0n) return shown(found, before, environment);
  const item = await recorded(context, session, { command: 'inventory adjust', petId, before, after }, () =>
    updateInventory(service, { petId, quantity: after }),
  );
  return shown(item, before, environment);
}

function shown(item: InventoryItem, before: bigint, environment: string): RecordView {
  const { petId, quantity, status } = item;
  const text = `Pet ${petId} in ${environment}: ${before} → ${quantity} (${signed(quantity - before)}, status ${status}).`;
  const csv: [string, bigint | string][] = [
    ['petId', petId],
    ['before', before],
    ['quantity', quantity],
    ['status', status],
  ];
  return confirmation(text, [...itemToJson(item), ['before', before]], { csv });
}
