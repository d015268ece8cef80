/** An editor of the user's on this terminal. */
import { spawn } from 'node:child_process';
import { Failure } from '../errors.ts';
import { reasonOf } from '../ports.ts';

/** Variables that may hold a secret; programs of the user's have no use for them. */
export const SECRETS = { PETSTORE_API_KEY: undefined, PETSTORE_LEDGER: undefined };

/** The variable may hold options too, so a shell reads it; the path is never a part of what it reads. */
export async function openEditor(env: NodeJS.ProcessEnv, path: string, signal: AbortSignal): Promise<void> {
  const variable = (['VISUAL', 'EDITOR'] as const).find((name) => (env[name] ?? '') !== '');
  const command = (variable && env[variable]) ?? 'vi';
  await new Promise<void>((resolve, reject) => {
    const fail = (problem: string): void => {
      reject(new Failure('editor', { command, problem, ...(variable !== undefined && { variable }) }));
    };
    const child = spawn('/bin/sh', ['-c', `${checkProgram(command)}${command} "$1"`, 'sh', path], {
      stdio: 'inherit',
      env: { ...env, ...SECRETS },
      signal,
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (signal.aborted) reject(reasonOf(signal));
      else fail(`could not be run (${error.code ?? error.message})`);
    });
    child.on('close', (code, signal) => {
      if (code === 0) resolve();
      else if (code === NOT_FOUND) fail('was not found');
      else fail(signal === null ? `ended with ${code}` : `was ended by ${signal}`);
    });
  });
}

/** Exit code of a shell that does not find the program. */
const NOT_FOUND = 127;

/** Returns what keeps the shell's own words about a missing program off the screen, where the name is a plain one. */
function checkProgram(command: string): string {
  const [program = ''] = command.trim().split(/\s+/);
  return /^[\w./+-]+$/.test(program) ? `command -v ${program} >/dev/null || exit ${NOT_FOUND}; ` : '';
}
