/**
 * A process that sets one pet's quantity again and again: `node updates-worker.ts BASE_URL PET COUNT`, the key in
 * PETSTORE_API_KEY, the state where the XDG variables say. The session is the one that every command opens.
 */
import { updateInventory } from '../../src/client/update.ts';
import { open } from '../../src/session/connect.ts';
import type { CommandContext } from '../../src/session/globals.ts';
import { nodeContext } from '../../src/node/context.ts';

const [, , baseUrl = '', pet = '', count = ''] = process.argv;
const nothing = (): void => undefined;
const unused = (): Promise<never> => Promise.reject(new Error('the target is known'));
const context: CommandContext = {
  ...nodeContext(),
  globals: {
    output: 'json',
    color: 'never',
    input: false,
    yes: true,
    quiet: true,
    verbose: false,
    debug: false,
    showLimits: false,
    insecureHttp: false,
    timeout: 30_000,
    timeoutIsExplicit: false,
    maxWait: 75_000,
    reserve: 0,
    maxBody: 1 << 20,
  },
  notices: {
    info: nothing,
    progress: nothing,
    isLive: false,
    waiting: nothing,
    watchLimits: nothing,
    attempt: nothing,
    backoff: nothing,
    debug: nothing,
    warning: (text) => {
      process.stderr.write(`${text}\n`);
    },
  },
  secrets: { add: nothing, redact: (text) => text },
  configFile: unused,
  settings: unused,
  target: unused,
};
await using session = await open(context, {
  environment: 'staging',
  baseUrl: new URL(baseUrl),
  apiKey: process.env.PETSTORE_API_KEY ?? '',
  keySource: 'PETSTORE_API_KEY',
});
for (let quantity = 1; quantity <= Number(count); quantity++) {
  await updateInventory(session.service, { petId: BigInt(pet), quantity: BigInt(quantity) });
}
