/** Options of several commands: to choose pets, for every change of stock, and for servers. */
import type { CommandContext, Why } from '../session/globals.ts';
import { inVariable, SETTINGS } from '../session/settings.ts';
import { CAUSES } from '../state/journal-rows.ts';
import { usageFailure } from '../errors.ts';
import { type CommandSpec, defineCommand, flag, type InputOf, option, optionalArgument, under } from './command.ts';
import {
  countValue,
  integerValue,
  listOf,
  nameValue,
  noteValue,
  parserOf,
  pathValue,
  petIdValue,
  petNotNameValue,
  repeated,
  wordValue,
} from '../value-parsers.ts';
import { PET_STATUSES } from '../api/values.ts';

export const PET_ARGUMENT = optionalArgument(petNotNameValue, 'id of the pet, an int64 (or --name, --barcode)');

/** Options that name one pet in place of its id. */
export const PET_OPTIONS = {
  name: option('--name <text>', nameValue, 'the pet, by its name in the catalog or part of it'),
  barcode: option('--barcode <code>', nameValue, 'the pet, by its barcode in the catalog'),
};

/**
 * Returns the id of the one pet that a command line names. Opens the catalog only for --name and --barcode.
 * @param missing what is wrong if it names no pet
 * @throws {Failure} `usage`: it names several, or the catalog does not have the pet
 */
export async function petIdOf(
  context: CommandContext,
  petId: bigint | undefined,
  { name, barcode }: InputOf<typeof PET_OPTIONS>,
  missing: string,
): Promise<bigint> {
  const given = [petId, name, barcode].filter((each) => each !== undefined).length;
  if (given === 0) throw usageFailure(missing);
  if (given > 1) throw usageFailure('The pet is named more than once; use its id, --name or --barcode.');
  if (petId !== undefined) return petId;
  const { petInCatalog } = await import('../session/open-catalog.ts');
  return petInCatalog(context, name, barcode);
}

/** The filters of api/select.ts, the same in every command that has them. */
export const FILTER_OPTIONS = under('Filters', {
  status: option(
    '--status <status...>',
    listOf(wordValue(PET_STATUSES)),
    `only pets of this status: ${PET_STATUSES.join(', ')}`,
  ),
  pet: option('--pet <id...>', listOf(petIdValue), 'only these pets'),
  min: option('--min <quantity>', integerValue, 'only quantities of at least this'),
  max: option('--max <quantity>', integerValue, 'only quantities of at most this'),
});

export const WHY_OPTIONS = under('For the history', {
  cause: option('--cause <cause>', wordValue(CAUSES), `why: ${CAUSES.join(', ')}`),
  note: option('--note <text>', noteValue, 'a remark of at most 200 characters'),
  person: option(SETTINGS.person.flags, SETTINGS.person.parser, SETTINGS.person.about),
});

/**
 * Adds cause, note and person to the context of a command that changes stock.
 * @throws {Failure} `invalid-value`: the variable is not the name of a person
 */
export function withWhy(context: CommandContext, { cause, note, person: option }: Why): CommandContext {
  return { ...context, why: { cause, note, person: option ?? inVariable(SETTINGS.person, context.env) } };
}

const WRITE_OPTIONS = { dryRun: flag('--dry-run', 'show what would change without sending a write'), ...WHY_OPTIONS };

/** Declares a command that changes stock: adds --dry-run, and the options for cause, note and person. */
export function defineWrite<Arguments extends object = object, Options extends object = object>(
  spec: CommandSpec<Arguments, Options, typeof WRITE_OPTIONS>,
) {
  return defineCommand({
    more: ['environments', 'rate-limits', 'exit-codes'],
    ...spec,
    experimental: true,
    options: { ...spec.options, ...WRITE_OPTIONS },
    run: (input: object, context) => spec.run(input as Parameters<typeof spec.run>[0], withWhy(context, input)),
  });
}

const hostNameValue = parserOf('a host name such as shop.example, without a port', (text) =>
  /^[a-z0-9._-]+$/i.test(text) ? text.toLowerCase().replace(/\.$/, '') : undefined,
);

const addressValue = parserOf('an address', (text) => (text === '' ? undefined : text));

/** Returns the options of a server. @param beyond what it needs to serve other machines, for the help */
export function listenOptions(port: string, beyond: string) {
  return under('Server', {
    port: option('--port <port>', countValue(0, 65_535), 'port; 0 picks a free one', { default: port }),
    host: option('--host <address>', addressValue, `address; any but loopback needs ${beyond}`, {
      default: '127.0.0.1',
    }),
    allowHost: option('--allow-host <name...>', repeated(hostNameValue), 'additional host names that clients may use'),
    log: option('--log <file>', pathValue, 'log each request to a file as a JSON object, instead of on stderr'),
  });
}
