import { type InventoryItem, itemToJson } from '../api/item.ts';
import { type JsonValue, parseJson } from '../api/json.ts';
import { type CommandSpec, integerValue, petIdValue } from '../cli/command.ts';
import { connect, type Session } from '../session/connect.ts';
import { readConfigFile } from '../session/config-file.ts';
import type { CommandContext } from '../session/globals.ts';
import { environmentSource, requireBaseUrl, type ResolvedSettings, resolveSettings } from '../session/resolve.ts';
import { allowQuantity, assertWriteAllowed } from '../session/write-policy.ts';
import { Failure } from '../errors.ts';
import type { RecordView } from '../view/view.ts';

interface SetInput {
  readonly petId: bigint;
  readonly quantity: bigint;
  readonly dryRun?: boolean;
  readonly expect?: bigint;
  readonly allowNegative?: boolean;
}

export const inventorySet: CommandSpec<SetInput> = {
  path: 'inventory set',
  summary: 'Set the stock of one pet',
  description:
    "Sets one pet's quantity and shows the entry as the service stored it. " +
    'The service calls this operation experimental: its request may still change. ' +
    'If an answer is lost, the list is read and the write repeated only if it was not applied.',
  examples: [
    { says: 'Twelve of pet 7 are in the shop', command: 'petstore inventory set 7 12' },
    { says: 'Only if there are still ten', command: 'petstore inventory set 7 12 --expect 10' },
    { says: 'What would be sent', command: 'petstore inventory set 7 12 --dry-run' },
    { says: 'From a script', command: 'petstore --env production inventory set 7 12 --json' },
  ],
  arguments: [
    { name: 'petId', description: 'id of the pet, an int64', parse: petIdValue('petId') },
    { name: 'quantity', description: 'the new count', parse: integerValue('quantity') },
  ],
  options: [
    { flags: '--dry-run', description: 'show the request and send nothing', conflicts: ['expect'] },
    {
      flags: '--expect <quantity>',
      description:
        'read first, and refuse (exit 13) if the quantity is another; a change by another machine in between is not seen',
      parse: integerValue('--expect'),
    },
    { flags: '--allow-negative', description: 'allow a quantity below zero' },
  ],
  experimental: true,
  more: ['environments', 'rate-limits', 'exit-codes'],
  async run(input, context) {
    allowQuantity(input.quantity, { petId: input.petId, allowNegative: input.allowNegative === true });
    const settled = resolveSettings(context.globals, context.env, await readConfigFile(context));
    if (input.dryRun === true) return dryRun(input, settled, context);
    assertWriteAllowed(context, settled, `inventory set ${input.petId} ${input.quantity}`);
    const { withPetLock } = await import('../bulk/pet-lock.ts');
    const work = async (): Promise<RecordView> => {
      const session = await connect(context);
      try {
        return await set(input, session, settled, context);
      } finally {
        await session.close();
      }
    };
    return withPetLock(context, input.petId, work, { isOptional: true });
  },
};

async function set(
  input: SetInput,
  session: Session,
  settled: ResolvedSettings,
  context: CommandContext,
): Promise<RecordView> {
  const { petId, quantity, expect } = input;
  const { environment, service } = session;
  const { notices } = context;
  const { findPet, updateInventory } = await import('../client/update.ts');
  notices.info(`Setting pet ${petId} to ${quantity} in ${environment} (${environmentSource(settled)}).`);
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
  return {
    view: 'record',
    text: `Pet ${item.petId} in ${environment}: quantity set${from} to ${item.quantity} (status ${item.status}).`,
    json: itemToJson(item),
    fields: [
      { name: 'petId', value: item.petId },
      { name: 'quantity', value: item.quantity },
      { name: 'status', value: item.status },
    ],
  };
}

async function dryRun(input: SetInput, settled: ResolvedSettings, context: CommandContext): Promise<RecordView> {
  const { updateCall } = await import('../client/update.ts');
  const { method, path, body } = updateCall(input);
  const environment = settled.environment.value;
  // The sandbox gets its port when it starts, which a dry run does not make it do.
  const base =
    environment === 'sandbox' ? 'http://sandbox.localhost/v1' : requireBaseUrl(settled, context.globals).href;
  const url = `${base.replace(/\/$/, '')}${path}`;
  const members: [string, JsonValue][] = [
    ['dryRun', true],
    ['environment', environment],
    ['method', method],
    ['url', url],
    ['body', parseJson(body)],
  ];
  return {
    view: 'record',
    text: `Dry run in ${environment}: nothing is sent.\n${method} ${url}\n${body}`,
    json: new Map(members),
    fields: [
      { name: 'environment', value: environment },
      { name: 'method', value: method },
      { name: 'url', value: url },
      { name: 'body', value: body },
    ],
  };
}
