/** What the sandbox commands have in common: the file, the numbers, and pets from a file. */
import type { InventoryItem } from '../api/item.ts';
import { Failure } from '../errors.ts';
import type { Store } from '../sandbox/store.ts';
import { sandboxFile } from './folders.ts';
import type { CommandContext } from './globals.ts';
import { readText } from './read-text.ts';

/** The database file: the one given, or that of `--env sandbox`. @throws {Failure} `usage`, `no-home` */
export function dataFile(context: CommandContext, data: string | undefined): string {
  const { env } = context.globals;
  if (env !== undefined && env !== 'sandbox') {
    throw new Failure('usage', {
      problem: `The sandbox is an environment of its own; --env ${env} does not go with it.`,
    });
  }
  return data ?? sandboxFile(context);
}

/** @throws {Failure} `file`; @throws {DatabaseFailure} */
export async function withStore<T>(
  context: CommandContext,
  file: string,
  work: (store: Store) => T | Promise<T>,
): Promise<T> {
  const { openSandboxStore } = await import('../sandbox/server.ts');
  const store = await openSandboxStore(context, file);
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

/** As many made-up pets, or those of a file. */
export type Pets = InventoryItem[] | { readonly generated: number };

/** @throws {Failure} `file`, `invalid-value` */
export async function readPets(context: CommandContext, path: string): Promise<InventoryItem[]> {
  const { parsePets, SeedError } = await import('../sandbox/seed-file.ts');
  const text = await readText(context, path);
  try {
    return parsePets(text);
  } catch (problem) {
    if (!(problem instanceof SeedError)) throw problem;
    const expected = 'a file of pets: a JSON array, or one object a line, each with petId, quantity and status';
    throw new Failure('invalid-value', { name: 'the file', value: path, expected, hint: `It ${problem.message}.` });
  }
}
