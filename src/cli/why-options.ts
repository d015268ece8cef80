/** The options of every command that changes stock: why, and who. */
import type { CommandContext, Why } from '../session/globals.ts';
import { find, SETTINGS } from '../session/settings.ts';
import { CAUSES } from '../state/journal-rows.ts';
import { option, under } from './command.ts';
import { noteValue, wordValue } from './values.ts';

const { flags, parser, about } = SETTINGS.person;

export const WHY_OPTIONS = under('For the history', {
  cause: option('--cause <cause>', wordValue(CAUSES), `why: ${CAUSES.join(', ')}`),
  note: option('--note <text>', noteValue, 'a remark of at most 200 characters'),
  person: option(flags, parser, about),
});

/**
 * Returns the context of a command that changes stock: its history notes what those options say.
 * @throws {Failure} `invalid-value`: the variable has no name of a person
 */
export function withWhy(context: CommandContext, { cause, note, person: option }: Why): CommandContext {
  const found = find(SETTINGS.person, { option, env: context.env, config: {} });
  if (found !== undefined) parser.parse(found.value, found.source.name);
  return { ...context, why: { cause, note, person: found?.value } };
}
