/** What the sandbox commands have in common: the file, the numbers, and pets from a file. */
import type { InventoryItem } from '../api/item.ts';
import { Failure, isFailure } from '../errors.ts';
import type { Store } from '../sandbox/store.ts';
import type { SandboxFile } from '../sandbox/store-file.ts';
import { isDamage } from '../state/file.ts';
import { failureOf } from '../state/form.ts';
import { sandboxFile } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import { readText } from '../session/read-text.ts';

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

/** The file with what may become of it when it is damaged: the one in the state folder is put aside. */
export function ownFile(context: CommandContext, file: string): SandboxFile & { readonly isOwn: boolean } {
  const isOwn = file === ownFileIfAny(context);
  return { file, isOwn, ...(isOwn && { notices: context.notices }) };
}

function ownFileIfAny(context: CommandContext): string | undefined {
  try {
    return sandboxFile(context);
  } catch (error) {
    // Without a home there is none.
    if (isFailure(error) && error.is('no-home')) return undefined;
    throw error;
  }
}

/** Looks into the store; `toWrite`: a damaged one of our own is put aside. @throws {Failure} `state`, `file` */
export async function withStore<T>(
  context: CommandContext,
  file: string,
  work: (store: Store) => T | Promise<T>,
  { toWrite } = { toWrite: false },
): Promise<T> {
  const { openSandboxStore, placeOf } = await import('../sandbox/store-file.ts');
  const own = ownFile(context, file);
  const given = toWrite ? own : { file, isOwn: own.isOwn };
  const store = await openSandboxStore(context, given);
  const attempt = async (at: Store): Promise<T> => {
    try {
      return await work(at);
    } catch (error) {
      throw failureOf(error, placeOf(own));
    } finally {
      at.close();
    }
  };
  return attempt(store).catch(async (error: unknown) => {
    if (!isDamage(error) || !toWrite || !own.isOwn) throw error;
    return attempt(await openSandboxStore(context, given, store));
  });
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
