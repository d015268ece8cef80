import { type InventoryItem, itemMembers, itemToJson } from '../api/item.ts';
import { type JsonValue, parseJson } from '../api/json.ts';
import { argument, defineCommand, flag, type InputOf, option } from '../cli/command.ts';
import { integerValue, petIdValue } from '../cli/values.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { environmentSource, requireBaseUrl } from '../session/resolve.ts';
import { allowQuantity, assertWriteAllowed } from '../session/write-policy.ts';
import { Failure } from '../errors.ts';
import { confirmation, record, type RecordView } from '../view/view.ts';

const ARGUMENTS = {
  petId: argument(petIdValue, 'id of the pet, an int64'),
  quantity: argument(integerValue, 'the new count'),
};

const OPTIONS = {
  dryRun: flag('--dry-run', 'show the request and send nothing', { conflicts: ['expect'] }),
  expect: option(
    '--expect <quantity>',
    integerValue,
    'only if the current quantity is this (else exit 13); a change between check and write is not detected',
  ),
  allowNegative: flag('--allow-negative', 'allow a quantity below zero'),
};

type SetInput = InputOf<typeof ARGUMENTS & typeof OPTIONS>;

export const inventorySet = defineCommand({
  path: 'inventory set',
  summary: 'Set the stock of one pet',
  description:
    "Sets one pet's quantity and shows what the service stored. " +
    'The service calls this operation experimental: its request may still change. ' +
    'If an answer is lost, the list is read and the write repeated only if it was not applied.',
  examples: [
    { says: 'Set pet 7 to 12', command: 'petstore inventory set 7 12' },
    { says: 'Only if it is still 10', command: 'petstore inventory set 7 12 --expect 10' },
    { says: 'Show the request', command: 'petstore inventory set 7 12 --dry-run' },
    { says: 'From a script', command: 'petstore --env production inventory set 7 12 --json' },
  ],
  arguments: ARGUMENTS,
  options: OPTIONS,
  experimental: true,
  more: ['environments', 'rate-limits', 'exit-codes'],
  async run(input, context) {
    allowQuantity(input.quantity, { petId: input.petId, allowNegative: input.allowNegative === true });
    if (input.dryRun === true) return dryRun(input, context);
    await assertWriteAllowed(context, `inventory set ${input.petId} ${input.quantity}`);
    const { withPetLock } = await import('../bulk/pet-lock.ts');
    return withPetLock(context, input.petId, () => set(input, context), { isOptional: true });
  },
});

async function set(input: SetInput, context: CommandContext): Promise<RecordView> {
  const { petId, quantity, expect } = input;
  await using session = await connect(context);
  const { environment, service } = session;
  const { notices } = context;
  const { findPet, updateInventory } = await import('../client/update.ts');
  const source = environmentSource(await context.settings());
  notices.info(`Setting pet ${petId} to ${quantity} in ${environment} (${source}).`);
  if (expect !== undefined) {
    const now = await findPet(service, petId);
    if (now === undefined) throw new Failure('pet-not-found', { petId, environment });
    if (now.quantity !== expect)
      throw new Failure('precondition-failed', { petId, expected: expect, found: now.quantity });
    notices.info('The quantity is as expected; a change by another machine before the write is not noticed.');
  }
  const { recorded } = await import('../bulk/record-write.ts');
  const change = { petId, after: quantity, ...(expect !== undefined && { before: expect }) };
  const item = await recorded(context, session, { command: 'inventory set', ...change }, () =>
    updateInventory(service, { petId, quantity }),
  );
  return stored(item, environment, expect);
}

function stored(item: InventoryItem, environment: string, before: bigint | undefined): RecordView {
  const from = before === undefined ? '' : ` from ${before}`;
  const text = `Pet ${item.petId} in ${environment}: quantity set${from} to ${item.quantity} (status ${item.status}).`;
  return confirmation(text, [...itemToJson(item)], { csv: itemMembers(item) });
}

async function dryRun(input: SetInput, context: CommandContext): Promise<RecordView> {
  const { updateCall } = await import('../client/update.ts');
  const { method, path, body } = updateCall(input);
  const settings = await context.settings();
  const environment = settings.environment.value;
  const url = `${requireBaseUrl(settings, context.globals).href}${path}`;
  const members: [string, JsonValue][] = [
    ['environment', environment],
    ['method', method],
    ['url', url],
    ['body', parseJson(body)],
  ];
  return record(
    `Dry run in ${environment}: nothing is sent.\n${method} ${url}\n${body}`,
    [['dryRun', true], ...members],
    { csv: members },
  );
}
