import { itemMembers, itemToJson } from '../api/item.ts';
import { argument, defineCommand } from '../cli/command.ts';
import { petIdValue } from '../cli/values.ts';
import { connect } from '../session/connect.ts';
import { Failure } from '../errors.ts';
import { record } from '../view/view.ts';

export const inventoryGet = defineCommand({
  path: 'inventory get',
  summary: 'Show one pet',
  description: 'Reads the list and shows one pet of it; exits 5 if the service does not have the pet.',
  examples: [
    { says: 'Pet 7', command: 'petstore inventory get 7' },
    { says: 'Its quantity, for a script', command: 'petstore inventory get 7 --json | jq .quantity' },
  ],
  arguments: { petId: argument(petIdValue, 'id of the pet, an int64') },
  more: ['output', 'exit-codes'],
  async run({ petId }, context) {
    await using session = await connect(context);
    const { environment, service } = session;
    const { findPet } = await import('../client/update.ts');
    const item = await findPet(service, petId);
    if (item === undefined) throw new Failure('pet-not-found', { petId, environment });
    const text = `petId     ${petId}\nquantity  ${item.quantity}\nstatus    ${item.status}`;
    return record(text, [...itemToJson(item)], { csv: itemMembers(item) });
  },
});
