/** Failures of the call, the config and this machine: a part of the table of failures. */
import { EXIT } from '../errors.ts';
import { shellWord } from '../session/run-commands.ts';
import { type FailureTable, stops, type Words } from './failure-meaning.ts';

const LOGIN = 'Log in with: petstore login';

export const LOCAL_FAILURES = {
  usage: ({ problem, hint }: { problem: string; hint?: string }) => ({
    ...stops(EXIT.usage),
    message: problem,
    hint: hint ?? 'See: petstore --help',
  }),
  /** `isStored`: the value is from the config or names the shared ledger, so the call itself is right. */
  'invalid-value': (details: { name: string; value: string; expected: string; hint?: string; isStored?: true }) => ({
    ...stops(details.isStored === true ? EXIT.local : EXIT.usage),
    message: `${details.name} must be ${details.expected}, not ${JSON.stringify(details.value)}.`,
    hint: details.hint,
  }),
  'production-not-confirmed': ({ environment, line }: { environment: string; line: string }) => ({
    ...stops(EXIT.usage),
    message: `Writing to production without a terminal needs --env ${environment}, PETSTORE_ENV=${environment} or --yes; nothing was sent.`,
    hint: `Run petstore --env ${environment} ${line}`,
  }),
  /** The user answered no, or ended the question. */
  cancelled: (_: Record<string, never>) => ({
    ...stops(EXIT.usage),
    message: 'Cancelled. Nothing was changed.',
    hint: undefined,
    text: 'plain',
  }),
  'no-terminal': ({ what, instead }: { what: string; instead: string }) => ({
    ...stops(EXIT.usage),
    message: `Cannot ask for ${what} without a terminal or with --no-input.`,
    hint: instead,
  }),

  /** `place`: the path, with line and column where they are known. */
  'config-invalid': ({ place, problem, hint }: { place: string; problem: string; hint: string }) => ({
    ...stops(EXIT.local),
    message: `The config file ${place} ${problem}; it was left as it is.`,
    hint,
  }),
  'ledger-refused': ({ says }: { says: string }) => ({
    ...stops(EXIT.local),
    message: `The Redis server of PETSTORE_LEDGER cannot be used: ${says}.`,
    hint: /WRONGPASS|AUTH|invalid password/.test(says)
      ? 'Correct the user and password in the address (redis://user:password@host), or leave them out if the server has none.'
      : 'Correct the address, or the rights of its user on the server. docs/scale.md lists both.',
  }),
  'config-unset': ({ key, path, command }: { key: string; path: string; command: string }) => ({
    ...stops(EXIT.local),
    message: `The setting ${key} has no value in ${path}.`,
    hint: `Set it: ${command}`,
  }),
  'no-home': ({ what, variable, problem }: { what: string; variable: string; problem: string }) => ({
    ...stops(EXIT.local),
    message: `No folder for the ${what}: ${problem}.`,
    hint: `Set ${[...new Set(['HOME', variable])].join(' or ')} to an absolute path.`,
  }),
  file: ({ operation, path, code }: { operation: keyof typeof FILE_HINTS; path: string; code: string }) => ({
    ...stops(EXIT.local),
    message: `Could not ${operation} ${path}: ${systemWords(code)}.`,
    hint: FILE_HINTS[operation],
  }),
  /** A file that the user named. Its contents are never quoted. */
  'file-unusable': ({ path, line, problem }: { path: string; line?: number; problem: string }) => ({
    ...stops(EXIT.local),
    message: `${path}${line === undefined ? '' : `, line ${line},`} ${problem}.`,
    hint: 'Fix the file, then run the command again.',
  }),
  state: (details: StateDetails) => {
    const [message, hint] = describeState(details);
    return { ...stops(EXIT.local), message, hint, retryable: details.problem === 'held' };
  },
  port: ({ host, port, code }: { host: string; port: number; code: string }) => ({
    ...stops(EXIT.local),
    message:
      code === 'EADDRINUSE'
        ? `Port ${port} of ${host} is in use.`
        : `petstore cannot listen on port ${port} of ${host}: ${systemWords(code)}.`,
    hint: 'Choose another with --port (0 picks a free one), or another address with --host.',
  }),
  'base-url': ({ shown, problem, hint }: { shown: string; problem: string; hint: string }) => ({
    ...stops(EXIT.local),
    message: `The base URL ${shown} ${problem}.`,
    hint,
  }),
  /** It has no config, no address and no changes. */
  'no-profile': ({ profile }: { profile: string }) => ({
    ...stops(EXIT.local),
    message: `There is no profile ${profile}.`,
    hint: 'See the profiles: petstore config profiles',
  }),
  'no-base-url': ({ environment }: { environment: string }) => ({
    ...stops(EXIT.local),
    message: `No base URL is set for ${environment}.`,
    hint: `Log in with petstore login --env ${environment}, or set PETSTORE_BASE_URL.`,
  }),
  output: ({ code, isDone = false }: { code: string; isDone?: boolean }) => ({
    ...stops(EXIT.local),
    message: `The output could not be written: ${systemWords(code)}.`,
    hint: isDone
      ? 'The command has taken effect: do not run it again for its output.'
      : 'The output is incomplete: do not use it.',
    outcome: isDone ? 'applied' : undefined,
  }),
  /** $EDITOR could not be run, or ended with an error. */
  editor: (details: { variable?: 'VISUAL' | 'EDITOR'; command: string; problem: string }) => ({
    ...stops(EXIT.local),
    message: `${details.variable ?? 'The editor'} ${JSON.stringify(details.command)} ${details.problem}.`,
    hint: `Choose another editor: ${details.variable ?? 'EDITOR'}=nano petstore inventory edit`,
  }),

  'alert-command': ({ option, command, problem }: { option: string; command: string; problem: string }) => ({
    ...stops(EXIT.local),
    message: `The command of ${option} ${problem}: ${command}`,
    hint: 'Run it yourself, with an array of rows as JSON on its stdin.',
  }),

  'no-key': ({ environment }: { environment: string }) => ({
    ...stops(EXIT.key),
    message: `No API key is set for ${environment}.`,
    hint: `${LOGIN}${environment.includes('/') ? ` --env ${environment}` : ''} (or set PETSTORE_API_KEY). To try petstore without a key: petstore --env sandbox inventory list`,
  }),
  /** `isLocal`: true if it could not be started. */
  'key-command': (details: { command: string; problem: string; isLocal?: boolean; hint?: string }) => ({
    ...stops(details.isLocal === true ? EXIT.local : EXIT.key),
    message: `The key command ${details.problem}: ${details.command}`,
    hint:
      details.hint ??
      (details.isLocal === true
        ? 'Install the program, or log in again: petstore login'
        : 'Run the command yourself to see what is wrong.'),
  }),
  /** The config cannot be read, so it is unknown whether a key is stored. */
  'key-unreadable': ({ path, code }: { path: string; code: string }) => ({
    ...stops(EXIT.key),
    message: `The API key could not be read from ${path}: ${systemWords(code)}.`,
    hint: `Make the file readable for yourself (chmod 600 ${shellWord(path)}), or set PETSTORE_API_KEY.`,
  }),
  'key-malformed': ({ source, problem }: { source: string; problem: string }) => ({
    ...stops(EXIT.key),
    message:
      source === 'stdin' && problem === 'is empty'
        ? 'No key on stdin.'
        : `The API key from ${source} ${problem}, so it cannot be sent; its value is not shown.`,
    hint: 'Provide the key alone, on one line, in plain ASCII.',
  }),
} satisfies FailureTable;

const FILE_HINTS = {
  create: 'Set XDG_STATE_HOME to a folder that you can write to.',
  find: 'Use a folder that exists, then run the command again.',
  open: 'Close some files or raise the limit, then run the command again.',
  read: 'Check the path and its permissions, then run the command again.',
  write: 'Check the path, its permissions and the free space, then run the command again.',
};

/** One of petstore's database files, or a lock. */
interface StateDetails {
  path: string;
  problem: 'held' | 'newer' | 'foreign' | 'damaged' | 'replaced' | 'full' | 'readonly' | 'lock' | 'unusable';
  what?: 'state database' | 'sandbox';
  detail?: string;
}

function describeState({ path, problem, what, detail }: StateDetails): Words {
  const file = what === undefined ? `state in ${path}` : `${what} ${path}`;
  const because = detail === undefined ? '' : `: ${systemWords(detail)}`;
  const check = 'Check the file, its folder and the disk, then run the command again.';
  const isSandbox = what === 'sandbox';
  const texts: Readonly<Record<typeof problem, Words>> = {
    held: [`The ${file} is held by another petstore.`, 'Wait until it has finished, then run the command again.'],
    newer: [
      `The ${file} was written by a newer petstore (${detail}); it was left as it is.`,
      'Update petstore, or use the version that wrote the file.',
    ],
    foreign: [
      `${path} is not a petstore ${what}${because}; it was left as it is.`,
      isSandbox ? 'Name another file with --data.' : 'Move the file elsewhere, then run the command again.',
    ],
    damaged: [
      `The ${file} is damaged${because}; it was left as it is.`,
      isSandbox
        ? 'Restore the file from a copy, or name another.'
        : 'The next command that writes moves it aside and starts a new one.',
    ],
    replaced: [
      `The ${file} no longer holds this run: it was moved or replaced in the meantime.`,
      'Check the stock before you run the command again: what it has applied is not in the history.',
    ],
    full: [`The ${file} cannot be used: the disk is full.`, 'Free some space, then run the command again.'],
    readonly: [
      `The ${file} cannot be used: it is read-only.`,
      'Make the file and its folder writable, then run the command again.',
    ],
    lock: [
      `The lock file ${path} cannot be used${because}.`,
      detail !== undefined && detail in SYSTEM_WORDS
        ? check
        : `Remove it, once no petstore is running: rm ${shellWord(path)}`,
    ],
    unusable: [`The ${file} cannot be used${because}.`, check],
  };
  return texts[problem];
}

const SYSTEM_WORDS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an error',
  ENOENT: 'it does not exist',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'the host does not exist',
  EFBIG: 'the file would be too large',
  EMFILE: 'this process may not open more files; see ulimit -n',
  ENFILE: 'this machine has too many files open',
  ENXIO: 'no program reads from it',
  EEXIST: 'a file is in the place of a folder',
  EBADF: 'it is closed',
  ELOOP: 'a link in its path cannot be followed',
};

function systemWords(code: string): string {
  const words = SYSTEM_WORDS[code];
  return words === undefined ? code : `${words} (${code})`;
}
