/** Checks that a change or run belongs to the present service. The address of an environment may have changed since. */
import type { Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure } from '../errors.ts';
import type { Run, Where } from '../state/journal.ts';

type Origin = Pick<Run, 'environment' | 'origin'>;

export function whereOf(
  { machine }: CommandContext,
  session: Pick<Session, 'environment' | 'origin'>,
  command: string,
): Where {
  return { environment: session.environment, origin: session.origin, command, person: machine.user };
}

/**
 * Requires the environment that a run or change was made in.
 * @param command what the user can run in the right environment
 * @throws {Failure} `cannot-resume`
 */
export function assertSameEnvironment(environment: string, made: Origin, what: string, command: string): void {
  if (made.environment === environment) return;
  throw new Failure('cannot-resume', {
    problem: `${what} is for ${made.environment}, and the environment is ${environment}`,
    hint: `Say which: petstore --env ${made.environment} ${command}`,
  });
}

/** Requires the same environment and the same address. @throws {Failure} `cannot-resume` */
export function assertSameOrigin(here: Session, made: Origin, what: string, command: string): void {
  assertSameEnvironment(here.environment, made, what, command);
  if (made.origin === here.origin) return;
  throw new Failure('cannot-resume', {
    problem: `${what} is for ${made.origin}, and ${here.environment} is at ${here.origin} now`,
    hint: 'Give the base URL that it was made with: --base-url',
  });
}
