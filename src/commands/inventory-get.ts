import { itemMembers, itemToJson, warnOfUnexpected } from '../api/item.ts';
import { readPet } from '../client/update.ts';
import { defineCommand } from '../cli/command.ts';
import { PET_ARGUMENT, PET_OPTIONS, petIdOf } from '../cli/shared-options.ts';
import { tableNames } from '../session/open-catalog.ts';
import { connect } from '../session/connect.ts';
import { visible } from '../view/words.ts';
import { type Labelled, labelled } from '../view/view.ts';

export const inventoryGet = defineCommand({
  path: 'inventory get',
  summary: 'Show one pet',
  description: 'Reads the list and shows one pet. Exits 5 if the service does not have it.',
  examples: {
    'Pet 7': 'petstore inventory get 7',
    'By its name in the catalog': 'petstore inventory get --name goldfish',
    'Its quantity, for a script': 'petstore inventory list --pet 7 --columns quantity -o csv --no-header',
  },
  arguments: { petId: PET_ARGUMENT },
  options: PET_OPTIONS,
  async run(input, context) {
    const petId = await petIdOf(context, input.petId, input, "Missing required argument 'petId'.");
    await using session = await connect(context);
    const item = await readPet(session.service, petId, undefined, 'show');
    warnOfUnexpected([item], context.notices);
    const name = (await tableNames(context, session.origin, [item]))?.get(petId);
    const lines: Labelled[] = [
      ['Pet', String(petId)],
      ['Name', name || undefined],
      ['Quantity', String(item.quantity)],
      ['Status', visible(item.status)],
    ];
    return labelled(lines, [...itemToJson(item)], itemMembers(item));
  },
});
