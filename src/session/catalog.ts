/** Opens the catalog of the service that a command uses, without a request and without a key, and finds pets in it. */
import { barcodeProblem, parseBarcode } from '../catalog/barcode.ts';
import type { Catalog, Entry } from '../catalog/local-catalog.ts';
import { type Database, DatabaseFailure } from '../ports.ts';
import { Failure, isFailure } from '../errors.ts';
import { capital } from '../view/words.ts';
import { originOf } from './environments.ts';
import type { CommandContext } from './globals.ts';
import { statePath } from './paths.ts';
import { requireBaseUrl } from './resolve.ts';
import { FORMAT_FACTS } from '../view/output-formats.ts';

/** Returns what tells the service apart from others. @throws {Failure} `no-base-url`, `base-url` */
export async function catalogOrigin(context: CommandContext): Promise<string> {
  const settings = await context.settings();
  return originOf({ environment: settings.environment.value, baseUrl: requireBaseUrl(settings, context.globals) });
}

/** Returns the catalog of an address for names in a table; undefined in other formats. */
export async function tableCatalog(context: CommandContext, origin: string): Promise<Catalog | undefined> {
  return FORMAT_FACTS[context.globals.output].isForPeople ? openCatalog(context, origin) : undefined;
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

/** How many pets a message names. */
const SHOWN = 10;
const SEE = 'See the catalog: petstore catalog list';

/** Opens the catalog for an option that needs it. @throws {Failure} `usage`: this machine has none for the service */
export async function requireCatalog(context: CommandContext, option: string): Promise<Catalog> {
  const catalog = await openCatalog(context, await catalogOrigin(context));
  if (catalog !== undefined) return catalog;
  const environment = (await context.settings()).environment.value;
  throw new Failure('usage', {
    problem: `${option} needs a catalog, and ${environment} does not have one on this machine.`,
    hint: 'Import one: petstore catalog import FILE',
  });
}

/** Returns the id of the pet, and prints what was found. @throws {Failure} `usage`: no pet matches, or several */
export async function petInCatalog(
  context: CommandContext,
  { name, barcode = '' }: { readonly name?: string; readonly barcode?: string | undefined },
): Promise<bigint> {
  const catalog = await requireCatalog(context, name === undefined ? '--barcode' : '--name');
  const petId = name === undefined ? withBarcode(catalog, barcode) : withName(catalog, name);
  const found = catalog.nameOf(petId);
  context.notices.info(found === '' ? `Found pet ${petId}.` : `Found pet ${petId} (${found}).`);
  return petId;
}

function withBarcode(catalog: Catalog, barcode: string): bigint {
  const owner = catalog.ownerOf(barcode);
  if (owner !== undefined) return owner.petId;
  const isBarcode = parseBarcode(barcode) !== undefined;
  const problem = isBarcode
    ? `No pet in the catalog has the barcode ${barcode}.`
    : `${capital(barcodeProblem(barcode))}.`;
  throw new Failure('usage', { problem, hint: SEE });
}

function withName(catalog: Catalog, name: string): bigint {
  const [found, ...others] = catalog.named(name);
  const quoted = JSON.stringify(name);
  if (found === undefined)
    throw new Failure('usage', { problem: `No pet in the catalog is named ${quoted}.`, hint: SEE });
  if (others.length === 0) return found.petId;
  throw new Failure('usage', {
    problem: `${quoted} matches ${others.length + 1} pets: ${shown([found, ...others])}.`,
    hint: 'Use the whole name, or the id.',
  });
}

function shown(entries: readonly Entry[]): string {
  const first = entries.slice(0, SHOWN).map(({ petId, name }) => `${petId} (${name})`);
  return first.join(', ') + (entries.length > SHOWN ? ' and more' : '');
}
