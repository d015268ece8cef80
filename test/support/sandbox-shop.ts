import { withoutSandboxNames } from './catalog.ts';
import { createHome, fileIn } from './home.ts';
import { runIn } from './in-process.ts';
import { createTestContext, type TestContextOptions } from './test-context.ts';

export const TERMINAL = { terminal: true, env: { NO_COLOR: '1' } } as const;

/**
 * One shop on the built-in sandbox: each command in this process, in a context of its own, all of them with the same
 * home.
 */
export function sandboxShop({ areNamed }: { /** The pets have the sandbox's names. */ readonly areNamed: boolean }) {
  const home = createHome();
  let runs = 0;
  const run = async (args: readonly string[], options: TestContextOptions = {}) => {
    const created = createTestContext({ home, ...options });
    const context = areNamed ? created : await withoutSandboxNames(created);
    const random = new Uint8Array(4).fill(runs++);
    const line = ['--env', 'sandbox', ...args];
    const { code, stdout, stderr } = await runIn({ ...context, randomBytes: () => random }, ...line);
    return { code, stdout, stderr, questions: context.questions.map(({ question }) => question) };
  };
  /** The quantities of these pets. */
  const stock = async (...pets: readonly number[]): Promise<(number | undefined)[]> => {
    const { stdout } = await run(['inventory', 'list', '--json', '--pet', pets.join()]);
    const found = JSON.parse(stdout) as { petId: number; quantity: number }[];
    return pets.map((pet) => found.find(({ petId }) => petId === pet)?.quantity);
  };
  /** Writes a file in the home. */
  const file = (text: string, name = 'stock.csv'): string => fileIn(home, name, text);
  return { home, run, stock, quantity: async (pet: number) => (await stock(pet))[0], file };
}
