/** Which service a change is for. An environment may have got another address since. */
import type { Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure } from '../errors.ts';
import type { Run, Where } from '../state/journal.ts';

type Origin = Pick<Run, 'environment' | 'origin'>;

export function whereOf({ machine }: CommandContext, session: Session, command: string): Where {
  return { environment: session.environment, origin: session.origin, command, person: machine.user };
}

/**
 * @param command how the user goes on, in the right environment
 * @throws {Failure} `cannot-resume`
 */
export function assertSameEnvironment(environment: string, made: Origin, what: string, command: string): void {
  if (made.environment === environment) return;
  throw new Failure('cannot-resume', {
    problem: `${what} is for ${made.environment}, and the environment is ${environment}`,
    hint: `Say which: petstore --env ${made.environment} ${command}`,
  });
}

/** The same, and at the same address. @throws {Failure} `cannot-resume` */
export function assertSameOrigin(here: Session, made: Origin, what: string, command: string): void {
  assertSameEnvironment(here.environment, made, what, command);
  if (made.origin === here.origin) return;
  throw new Failure('cannot-resume', {
    problem: `${what} is for ${made.origin}, and ${here.environment} is at ${here.origin} now`,
    hint: 'Give the base URL that it was made with: --base-url',
  });
}

/** What a user types to go on, wherever the environment of the next shell points to. */
export function resumeCommand({ environment, id }: Pick<Run, 'environment' | 'id'>, journalFile?: string): string {
  const where = journalFile === undefined ? '' : ` --journal ${shellWord(journalFile)}`;
  return `petstore --env ${environment} inventory import --resume ${id}${where}`;
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
