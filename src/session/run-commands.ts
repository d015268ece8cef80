/** Builds commands for messages: to resume or discard a run, and with the environment. */
import type { Run, RunSummary } from '../state/journal.ts';
import { partsOf } from './environments.ts';
import type { CommandContext } from './globals.ts';
import { isProfileName } from './settings.ts';

/** Returns the command that resumes a run, or restores the pet of a smoke test, in any shell. */
export function resumeCommand(run: Pick<Run, 'environment' | 'id'> & Partial<RunSummary>): string {
  const { environment, id, kind, left, source = '-' } = run;
  const inventory = `petstore --env ${environment} inventory`;
  if (kind === 'smoke') return `${inventory} undo --run ${id}`;
  // Only the journal has the rows that came through a pipe.
  const isFile = kind === 'import' && source !== '-' && !source.startsWith('/dev/');
  if (isFile) return `${inventory} import ${shellWord(source)} --resume`;
  // A stocktake that is still counting has no rows yet.
  return `${inventory} ${kind === 'count' && left === 0 ? 'count --resume' : 'runs resume'} ${id}`;
}

/** Returns what the user can do with an unfinished run, each with its command. */
export function nextSteps(run: RunSummary): readonly string[] {
  if (run.kind === 'smoke') return [`put its pet back: ${resumeCommand(run)}`];
  return [`continue: ${resumeCommand(run)}`, `give up: ${discardCommand(run)}`];
}

export function discardCommand({ environment, id }: Pick<Run, 'environment' | 'id'>): string {
  return `petstore --env ${environment} inventory runs discard ${id}`;
}

/** Quotes a word for a POSIX shell if needed. */
export function shellWord(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * Returns the environment for hints: that of --env or a profile, which the next shell may not have. `berlin/` if the
 * profile's config cannot be read.
 */
export async function hintedPlace({ env, globals, settings }: CommandContext): Promise<string | undefined> {
  const profile = env.PETSTORE_PROFILE ?? '';
  if (!isProfileName(profile)) return globals.env;
  return settings().then(
    ({ environment }) => environment.value,
    () => `${profile}/`,
  );
}

/** A word that `shellWord` has quoted, which may contain a command; or `petstore `, before the rest of its clause. */
const QUOTED_OR_COMMAND = /(?<=\s)'(?:[^']|'\\'')*'|\bpetstore (?=([^.,;:(]*))/g;

/** Commands that depend on the environment. */
const IN_ENVIRONMENT = /^(api|catalog|doctor|inventory|limits|login|proxy|smoke|status|wait)\b/;

/** Adds this command's environment to the commands in a hint, since the user's next shell may have another one. */
export function withEnvironment(hint: string, place: string | undefined): string {
  if (place === undefined) return hint;
  const { profile, environment } = partsOf(place);
  return hint.replace(QUOTED_OR_COMMAND, (found, line?: string) => {
    if (line === undefined) return found;
    if (profile !== undefined) {
      // The shop without a profile: in a shell with PETSTORE_PROFILE, --env alone would mean this one.
      if (/^--env (production|staging)\s/.test(line)) return `PETSTORE_PROFILE= ${found}`;
      if (/^(config\b(?! profiles)|login --env (production|staging)\b)/.test(line))
        return `${found}--profile ${profile} `;
    }
    if (!IN_ENVIRONMENT.test(line) || / --(env|help|profile|all-environments)\b/.test(line)) return found;
    // The sandbox has no login.
    if (place === 'sandbox' && line.startsWith('login')) return found;
    return `${found}${environment === '' ? `--profile ${profile}` : `--env ${place}`} `;
  });
}
