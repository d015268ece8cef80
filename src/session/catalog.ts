/** Opens the catalog of the service that a command uses, without a request and without a key. */
import type { Catalog } from '../catalog/local-catalog.ts';
import { type Database, DatabaseFailure } from '../ports.ts';
import { isFailure } from '../errors.ts';
import { originOf } from './environments.ts';
import type { CommandContext } from './globals.ts';
import { statePath } from './paths.ts';
import { requireBaseUrl } from './resolve.ts';

/** Returns what tells the service apart from others. @throws {Failure} `no-base-url`, `base-url` */
export async function catalogOrigin(context: CommandContext): Promise<string> {
  const settings = await context.settings();
  return originOf({ environment: settings.environment.value, baseUrl: requireBaseUrl(settings, context.globals) });
}

/** Returns the catalog of an address for names in a table; undefined in other formats. */
export async function tableCatalog(context: CommandContext, origin: string): Promise<Catalog | undefined> {
  return context.globals.output === 'table' ? openCatalog(context, origin) : undefined;
}

/**
 * Returns the catalog of an address; undefined if this machine has none, or its state cannot be read. Without a catalog
 * it takes one query, and the catalog's modules are not loaded.
 */
export function openCatalog(context: CommandContext, origin: string): Promise<Catalog | undefined> {
  return withCatalogs(context, async (database) => {
    if (database.get('SELECT 1 FROM catalogPet WHERE origin = ? LIMIT 1', origin) === undefined) return undefined;
    const { readCatalog } = await import('../catalog/local-catalog.ts');
    return readCatalog(database, origin);
  });
}

/** Names of pets, by the address of their service. */
export type Names = ReadonlyMap<string, ReadonlyMap<bigint, string>>;

/**
 * Returns the names of pets of several services. Without a catalog it takes one query, as `openCatalog` does.
 * @param petsOf returns their ids by address; called only if there is a catalog
 */
export async function openNames(
  context: CommandContext,
  petsOf: () => ReadonlyMap<string, readonly bigint[]>,
): Promise<Names> {
  const found = await withCatalogs(context, async (database) => {
    const { hasCatalog, namesIn } = await import('../state/pets.ts');
    if (!hasCatalog(database)) return [];
    return [...petsOf()].map(([origin, petIds]) => [origin, namesIn(database, origin, petIds)] as const);
  });
  return new Map(found?.filter(([, names]) => names.size > 0));
}

/** Returns undefined if the state of this machine cannot be read. */
async function withCatalogs<T>(
  context: CommandContext,
  work: (database: Database) => Promise<T>,
): Promise<T | undefined> {
  try {
    using database = await context.openDatabase(statePath(context, 'state.db'), { readOnly: true });
    return await work(database);
  } catch (error) {
    if (error instanceof DatabaseFailure || (isFailure(error) && error.is('no-home'))) return undefined;
    throw error;
  }
}
