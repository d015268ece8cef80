/**
 * A process that sets one pet's quantity again and again: `node updates-worker.ts BASE_URL PET COUNT`, the key in
 * PETSTORE_API_KEY, the state where the XDG variables say. The session is the one that every command opens.
 */
import { updateInventory } from '../../src/client/update.ts';
import { open } from '../../src/session/connect.ts';
import { nodeContext } from '../../src/node/context.ts';
import { commandContext } from './command-context.ts';

const [, , baseUrl = '', pet = '', count = ''] = process.argv;
const ports = nodeContext();
// Otherwise an error would end this process in silence.
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
