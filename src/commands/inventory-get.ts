import { type InventoryItem, itemMembers, itemToJson, warnOfUnexpected } from '../api/item.ts';
import { listInventory } from '../client/list.ts';
import type { Service } from '../client/service.ts';
import { defineCommand } from '../cli/command.ts';
import { PET_ARGUMENT, PET_OPTIONS, petIdOf } from '../cli/shared-options.ts';
import { tableNames } from '../session/open-catalog.ts';
import { connect } from '../session/connect.ts';
import { Failure } from '../errors.ts';
import { visible } from '../view/words.ts';
import { type Labelled, labelled } from '../view/view.ts';

export const inventoryGet = defineCommand({
  path: 'inventory get',
  summary: 'Show one pet',
  description: 'Reads the list and shows one pet of it; exits 5 if the service does not have the pet.',
  examples: {
    'Pet 7': 'petstore inventory get 7',
    'By its name in the catalog': 'petstore inventory get --name goldfish',
    'Its quantity, for a script': 'petstore inventory list --pet 7 --columns quantity -o csv --no-header',
  },
  arguments: { petId: PET_ARGUMENT },
  options: PET_OPTIONS,
  async run(input, context) {
    const petId = await petIdOf(context, input, "Missing required argument 'petId'.");
    await using session = await connect(context);
    const { environment, origin, service } = session;
    const item = await findInList(service, petId);
    if (item === undefined) throw new Failure('pet-not-found', { petId, environment });
    warnOfUnexpected([item], context.notices);
    const name = (await tableNames(context, origin, [item]))?.get(petId);
    const lines: Labelled[] = [
      ['Pet', String(petId)],
      ['Name', name || undefined],
      ['Quantity', String(item.quantity)],
      ['Status', visible(item.status)],
    ];
    return labelled(lines, [...itemToJson(item)], itemMembers(item));
  },
});

/** Reads the list only until the pet is found. */
async function findInList(service: Service, petId: bigint): Promise<InventoryItem | undefined> {
  for await (const items of listInventory(service)) {
    const found = items.find((item) => item.petId === petId);
    if (found !== undefined) return found;
  }
  return undefined;
}
