/** An editor of the user's on this terminal. */
import { spawn } from 'node:child_process';
import { Failure } from '../errors.ts';
import { reasonOf } from '../ports.ts';

/** Variables that may hold a secret; an editor and its plugins have no use for them. */
const SECRETS = { PETSTORE_API_KEY: undefined, PETSTORE_LEDGER: undefined };

/** The variable may hold options too, so a shell reads it; the path is never a part of what it reads. */
export async function openEditor(env: NodeJS.ProcessEnv, path: string, signal: AbortSignal): Promise<void> {
  const command = [env.VISUAL, env.EDITOR].find((each) => each !== undefined && each !== '') ?? 'vi';
  await new Promise<void>((resolve, reject) => {
    const fail = (problem: string): void => {
      reject(new Failure('editor', { command, problem }));
    };
    const child = spawn('/bin/sh', ['-c', `${command} "$1"`, 'sh', path], {
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
      else fail(signal === null ? `ended with ${code}` : `was ended by ${signal}`);
    });
  });
}
