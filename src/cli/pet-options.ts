/** Options that select pets: one by the catalog, in place of its id, or several by filters. */
import type { CommandContext } from '../session/globals.ts';
import { Failure } from '../errors.ts';
import { option, under } from './command.ts';
import { nameValue, integerValue, listOf, petIdValue, wordValue } from './values.ts';
import { PET_STATUSES } from '../api/values.ts';

/** Returns new specs: each command may put them under a heading of its own. */
export function petOptions() {
  return {
    name: option('--name <text>', nameValue, 'the pet by its name in the catalog, or a part of it'),
    barcode: option('--barcode <code>', nameValue, 'the pet by its barcode in the catalog'),
  };
}

export interface PetChoice {
  readonly petId?: bigint | undefined;
  readonly name?: string | undefined;
  readonly barcode?: string | undefined;
}

/**
 * Returns the id of the one pet that a command line names. Without --name and --barcode, no catalog is opened.
 * @param missing the failure where it names no pet
 * @throws {Failure} `usage`: it names several, or the catalog does not have the pet
 */
export async function petIdOf(
  context: CommandContext,
  { petId, name, barcode }: PetChoice,
  missing: { readonly problem: string; readonly hint?: string },
): Promise<bigint> {
  const given = [petId, name, barcode].filter((each) => each !== undefined).length;
  if (given === 0) throw new Failure('usage', missing);
  if (given > 1) {
    throw new Failure('usage', { problem: 'The pet is named more than once; use its id, --name or --barcode.' });
  }
  if (petId !== undefined) return petId;
  const { petInCatalog } = await import('../session/catalog.ts');
  return petInCatalog(context, name === undefined ? { barcode } : { name });
}

/** Returns the failure of a command without its last argument. */
export function missingArgument(command: string, name: string): { readonly problem: string; readonly hint: string } {
  return { problem: `Missing required argument '${name}'.`, hint: `See: petstore ${command} --help` };
}

/** The filters of api/select.ts, the same in each command that takes them. */
export const FILTER_OPTIONS = under('Filters', {
  status: option(
    '--status <status...>',
    listOf(wordValue(PET_STATUSES)),
    `only pets of this status: ${PET_STATUSES.join(', ')}`,
  ),
  pet: option('--pet <id...>', listOf(petIdValue), 'only these pets'),
  min: option('--min <quantity>', integerValue, 'only a quantity of at least this'),
  max: option('--max <quantity>', integerValue, 'only a quantity of at most this'),
});
