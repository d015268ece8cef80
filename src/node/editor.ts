/** An editor of the user's on this terminal. */
import { spawn } from 'node:child_process';
import { Failure } from '../errors.ts';
import { reasonOf } from '../ports.ts';

/** Variables that may hold a secret; programs of the user's have no use for them. */
export const SECRETS = { PETSTORE_API_KEY: undefined, PETSTORE_LEDGER: undefined };

/** How an editor is started: the program to spawn, its arguments and its environment. */
export interface EditorStart {
  /** The variable that names the editor; absent: the usual one of the system. */
  readonly variable?: 'VISUAL' | 'EDITOR';
  readonly command: string;
  readonly spawn: readonly [file: string, args: readonly string[]];
  readonly env: NodeJS.ProcessEnv;
}

/** Where cmd.exe finds the path: a variable is not read again once its value has been put in. */
const PATH_VARIABLE = 'PETSTORE_EDITED_FILE';

/**
 * Returns how to open the file. The variable may hold options too, so a shell reads it: sh, or cmd.exe on Windows. The
 * path is never a part of what it reads.
 */
export function editorStart(platform: string, env: NodeJS.ProcessEnv, path: string): EditorStart {
  const isWindows = platform === 'win32';
  const variable = (['VISUAL', 'EDITOR'] as const).find((name) => (env[name] ?? '') !== '');
  const command = (variable && env[variable]) ?? (isWindows ? 'notepad' : 'vi');
  const start = { command, ...(variable !== undefined && { variable }) };
  const own = { ...env, ...SECRETS };
  if (!isWindows) {
    const line = `${checkProgram(command)}${command} "$1"`;
    return { ...start, spawn: ['/bin/sh', ['-c', line, 'sh', path]], env: own };
  }
  const line = `"${command} "%${PATH_VARIABLE}%""`;
  const args = ['/d', '/s', '/c', line];
  return {
    ...start,
    spawn: [env.ComSpec ?? 'cmd.exe', args],
    env: { ...own, [PATH_VARIABLE]: path.replaceAll('/', '\\') },
  };
}

export async function openEditor(env: NodeJS.ProcessEnv, path: string, signal: AbortSignal): Promise<void> {
  const start = editorStart(process.platform, env, path);
  const { command, variable } = start;
  await new Promise<void>((resolve, reject) => {
    const fail = (problem: string): void => {
      reject(new Failure('editor', { command, problem, ...(variable !== undefined && { variable }) }));
    };
    const child = spawn(...start.spawn, {
      stdio: 'inherit',
      env: start.env,
      signal,
      // cmd.exe reads its line by rules of its own.
      windowsVerbatimArguments: true,
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
