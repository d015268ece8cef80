/** Finds one pet by its name or barcode. */
import { barcodeProblem, parseBarcode } from '../catalog/barcode.ts';
import type { Catalog, Entry } from '../catalog/local-catalog.ts';
import { Failure } from '../errors.ts';
import { capital } from '../view/words.ts';
import { catalogOrigin, openCatalog } from './catalog.ts';
import type { CommandContext } from './globals.ts';

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
