/** Opens the catalog for a command, without a request or a key, and finds pets in it. */
import { barcodeProblem } from '../catalog/barcode.ts';
import type { Catalog } from '../catalog/local-catalog.ts';
import type { ProvidedEntry } from '../catalog/store.ts';
import { type Database, DatabaseFailure } from '../ports.ts';
import { Failure, isFailure, usageFailure } from '../errors.ts';
import { text } from '../state/journal-rows.ts';
import { capital, firstFew, petLabel } from '../view/words.ts';
import { originOf } from './environments.ts';
import type { CommandContext } from './globals.ts';
import { stateFolder, statePath } from './paths.ts';
import { canAsk, requireBaseUrl } from './resolve.ts';
import { FORMAT_FACTS } from '../view/view.ts';

/** Returns the origin of the service. @throws {Failure} `no-base-url`, `base-url` */
export async function catalogOrigin(context: CommandContext): Promise<string> {
  const settings = await context.settings();
  return originOf({ environment: settings.environment.value, baseUrl: requireBaseUrl(settings, context.globals) });
}

/**
 * Opens the catalog of a service, for `using`; undefined if this machine has none, or its state cannot be read. Without
 * a catalog this takes one query, and the catalog's modules are not loaded.
 */
export async function openCatalog(context: CommandContext, origin: string): Promise<Catalog | undefined> {
  let database: Database | undefined;
  try {
    await provideCatalog(context, origin);
    database = await context.openDatabase(statePath(context, 'state.db'), { readOnly: true });
    if (database.get('SELECT 1 FROM catalogPet WHERE origin = ? LIMIT 1', origin) !== undefined) {
      const { Catalog } = await import('../catalog/local-catalog.ts');
      return new Catalog(database, origin);
    }
  } catch (error) {
    const isState = isFailure(error) && (error.is('no-home') || error.is('state') || error.is('file'));
    if (!(error instanceof DatabaseFailure || isState)) throw error;
  }
  database?.close();
  return undefined;
}

/** Stores the sandbox's catalog when it is first needed. @throws {Failure} `state`, `file`, `no-home` */
export async function provideCatalog(context: CommandContext, origin: string): Promise<void> {
  if (origin !== 'sandbox' || (await providedNote(context, origin)) !== undefined) return;
  const { seedCatalog } = await import('../sandbox/seed.ts');
  await storeProvided(context, origin, 'sandbox', seedCatalog());
}

/** Returns the note about a gateway's or the sandbox's catalog; undefined before it is stored. */
export async function providedNote(context: CommandContext, origin: string): Promise<string | undefined> {
  const { readFrom } = await import('../state/pets.ts');
  return readFrom(context, statePath(context, 'state.db'), (database) => {
    const row = database.get("SELECT value FROM meta WHERE name = 'provided ' || ?", origin);
    return row === undefined ? undefined : text(row, 'value');
  });
}

/**
 * Stores a gateway's or the sandbox's catalog with a note, and keeps the user's entries. @param entries undefined to
 * keep the earlier ones
 * @throws {Failure} `state`, `file`, `no-home`
 */
export async function storeProvided(
  context: CommandContext,
  origin: string,
  note: string,
  entries?: readonly ProvidedEntry[],
): Promise<void> {
  const { openState } = await import('../state/database.ts');
  const { provideEntries } = await import('../catalog/store.ts');
  using state = await openState(context, stateFolder(context));
  await state.exclusively(() => {
    if (entries !== undefined) provideEntries(state.database, origin, entries);
    state.database.run("INSERT OR REPLACE INTO meta VALUES ('provided ' || ?, ?)", origin, note);
  });
}

type Pets = readonly { readonly petId: bigint }[];
export type PetNames = ReadonlyMap<bigint, string>;

/** Returns the names of these pets, of those that have one; undefined without a catalog. */
export async function openNames(context: CommandContext, origin: string, pets: Pets): Promise<PetNames | undefined> {
  using catalog = await openCatalog(context, origin);
  return catalog?.namesOf(pets.map(({ petId }) => petId));
}

/** Returns the same as `openNames` for a table; undefined in other formats. */
export async function tableNames(context: CommandContext, origin: string, pets: Pets): Promise<PetNames | undefined> {
  return FORMAT_FACTS[context.globals.output].isForPeople ? openNames(context, origin, pets) : undefined;
}

/** Most pets that a message lists. */
const SHOWN = 10;
export const SEE_CATALOG = 'See the catalog: petstore catalog list';

/** Opens the catalog for an option that needs it, for `using`. @throws {Failure} `usage`: there is none for the service */
export async function requireCatalog(context: CommandContext, option: string): Promise<Catalog> {
  const catalog = await openCatalog(context, await catalogOrigin(context));
  if (catalog !== undefined) return catalog;
  throw noCatalog(option, (await context.settings()).environment.value);
}

export function noCatalog(option: string, environment: string): Failure {
  const problem = `${option} needs a catalog, and ${environment} does not have one on this machine.`;
  return usageFailure(
    problem,
    'Import one: petstore catalog import FILE. Behind a gateway, petstore inventory list gets its catalog.',
  );
}

/** Finds one pet by name or barcode, prints it, and returns its id. @throws {Failure} `usage`: no pet or several match */
export async function petInCatalog(context: CommandContext, name: string | undefined, barcode = ''): Promise<bigint> {
  using catalog = await requireCatalog(context, name === undefined ? '--barcode' : '--name');
  const petId = name === undefined ? petOfRow(catalog, 'barcode', barcode) : await withName(context, catalog, name);
  if (typeof petId === 'string') throw usageFailure(`${capital(petId)}.`, SEE_CATALOG);
  context.notices.info(`Found ${petLabel(petId, catalog.nameOf(petId))}.`);
  return petId;
}

/** Returns the pet that a row of a file names, or why the row does not name exactly one. */
export function petOfRow(catalog: Catalog, column: 'name' | 'barcode', code: string): bigint | string {
  if (column === 'barcode') {
    return catalog.ownerOf(code)?.petId ?? barcodeProblem(code) ?? `no pet in the catalog has the barcode ${code}`;
  }
  const found = catalog.called(code);
  if (found.length === 1) return found[0]!.petId;
  const quoted = JSON.stringify(code);
  return found.length === 0
    ? `no pet in the catalog is named ${quoted}`
    : `${quoted} is the name of ${found.length} pets: ${shown(found)}`;
}

/** Returns the pet that the user means by a name or a part of it, or why none is found. */
async function withName(context: CommandContext, catalog: Catalog, name: string): Promise<bigint | string> {
  const [found, ...others] = catalog.named(name);
  const quoted = JSON.stringify(name);
  if (found === undefined) return `no pet in the catalog is named ${quoted}`;
  if (others.length === 0) return found.petId;
  if (canAsk(context) && !context.globals.yes) return choose(context, quoted, [found, ...others]);
  const problem = `${quoted} matches ${others.length + 1} pets: ${shown([found, ...others])}.`;
  throw usageFailure(problem, 'Use the whole name, or the id.');
}

/** @throws {Failure} `cancelled`: the user chooses none */
async function choose({ prompt, signal }: CommandContext, quoted: string, found: Found): Promise<bigint> {
  const lines = found.slice(0, SHOWN).map(({ petId, name }, i) => `${i + 1}`.padStart(4) + `  ${name} (pet ${petId})`);
  const more = found.length > SHOWN ? [`      and ${found.length - SHOWN} more: type more of the name`] : [];
  const question = [`${quoted} matches ${found.length} pets:`, ...lines, ...more, 'Which one? (Enter cancels)'].join(
    '\n',
  );
  const find = (answer: string) => (/^\d+$/.test(answer) ? found.slice(0, SHOWN)[Number(answer) - 1] : undefined);
  const problemOf = (answer: string): string | undefined =>
    answer === '' || find(answer) !== undefined ? undefined : 'Type a number from the list.';
  const pet = find(await prompt.text(question, undefined, signal, problemOf));
  if (pet === undefined) throw new Failure('cancelled', {});
  return pet.petId;
}

type Found = ReturnType<Catalog['named']>;

function shown(entries: Found): string {
  return firstFew(entries.map(({ petId, name }) => `${petId} (${name})`));
}
