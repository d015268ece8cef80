/**
 * Sets one pet's quantity repeatedly: `node updates-worker.ts BASE_URL PET COUNT`. Takes the key from PETSTORE_API_KEY
 * and the state folder from the XDG variables. Uses the same session as every command.
 */
import { updateInventory } from '../../src/client/update.ts';
import { open } from '../../src/session/connect.ts';
import { nodeContext } from '../../src/node/context.ts';
import { commandContext } from './command-context.ts';

const [, , baseUrl = '', pet = '', count = ''] = process.argv;
const ports = nodeContext();
// Otherwise an error would end this process without a message.
ports.uncaught.catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
const context = commandContext(ports, (text) => {
  process.stderr.write(`${text}\n`);
});
await using session = await open(context, {
  environment: 'staging',
  baseUrl: new URL(baseUrl),
  apiKey: process.env.PETSTORE_API_KEY ?? '',
  keySource: 'PETSTORE_API_KEY',
});
for (let quantity = 1; quantity <= Number(count); quantity++) {
  await updateInventory(session.service, { petId: BigInt(pet), quantity: BigInt(quantity) });
}
