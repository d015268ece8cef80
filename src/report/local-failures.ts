/** The part of the table of failures about the call, the config and this machine. */
import { EXIT, type LocalFailures } from '../errors.ts';
import { type FailureTable, stops } from './failure-meaning.ts';

const LOGIN = 'Log in with: petstore login';

export const LOCAL_FAILURES = {
  usage: ({ problem, hint }) => ({ ...stops(EXIT.usage), message: problem, hint: hint ?? 'See petstore --help.' }),
  'invalid-value': ({ name, value, expected, hint }) => ({
    ...stops(EXIT.usage),
    message: `${name} is ${JSON.stringify(value)}, but must be ${expected}.`,
    hint,
  }),
  'production-not-confirmed': ({ command }) => ({
    ...stops(EXIT.usage),
    message: 'Without a terminal, a write to production must be said explicitly; nothing was sent.',
    hint: `Add --env production (or PETSTORE_ENV=production, or --yes): petstore --env production ${command}`,
  }),
  cancelled: ({ action }) => ({
    ...stops(EXIT.usage),
    message: `${action} was not confirmed; nothing was changed.`,
    hint: undefined,
  }),
  'no-terminal': ({ what, instead }) => ({
    ...stops(EXIT.usage),
    message: `${what} cannot be asked for: there is no terminal to ask on.`,
    hint: instead,
  }),

  'config-invalid': ({ path, problem, line, column }) => ({
    ...stops(EXIT.local),
    message: `The config file ${path}${line === undefined ? '' : `:${line}:${column}`} ${problem}; it was left as it is.`,
    hint: 'Mend it in an editor, or move it away and log in again: petstore login',
  }),
  'config-newer': ({ path, version }) => ({
    ...stops(EXIT.local),
    message: `The config file ${path} has version ${version}, which a newer petstore wrote; it was left as it is.`,
    hint: 'Update petstore, or use the version that wrote the file.',
  }),
  'config-not-a-file': ({ path, found }) => ({
    ...stops(EXIT.local),
    message: `The config ${path} is a ${found === 'other' ? 'special file' : found}, not a plain file, and was not touched.`,
    hint: 'Move it away, then log in again: petstore login',
  }),
  'config-unset': ({ key, path }) => ({
    ...stops(EXIT.local),
    message: `The setting ${key} has no value in ${path}.`,
    hint: `Give it one: petstore config set ${key} VALUE`,
  }),
  'no-home': ({ what, variable, problem }) => ({
    ...stops(EXIT.local),
    message: `There is no folder to keep the ${what} in: ${problem}.`,
    hint: `Set HOME, or ${variable} to an absolute path.`,
  }),
  file: ({ operation, path, code }) => ({
    ...stops(EXIT.local),
    message: `Could not ${operation} ${path}: ${systemWords(code)}.`,
    hint: FILE_HINTS[operation],
  }),
  state: (details) => ({
    ...stops(EXIT.local),
    message: describeState(details),
    hint: stateHint(details),
    retryable: details.problem === 'held',
  }),
  port: ({ host, port, code, free }) => ({
    ...stops(EXIT.local),
    message:
      code === 'EADDRINUSE'
        ? `Port ${port} of ${host} is in use.`
        : `The sandbox cannot listen on port ${port} of ${host}: ${systemWords(code)}.`,
    hint:
      free === undefined
        ? 'Choose another with --port, or another address with --host.'
        : `This one is free: petstore sandbox serve --port ${free}`,
  }),
  'base-url': ({ shown, problem, hint }) => ({
    ...stops(EXIT.local),
    message: `The base URL ${shown} ${problem}.`,
    hint,
  }),
  'no-base-url': ({ environment }) => ({
    ...stops(EXIT.local),
    message: `No base URL is known for ${environment}.`,
    hint: `Say it once with petstore login --env ${environment}, or each time with --base-url or PETSTORE_BASE_URL.`,
  }),
  output: ({ code }) => ({
    ...stops(EXIT.local),
    message: `The output could not be written: ${systemWords(code)}.`,
    hint: 'What was written is incomplete; do not use it.',
  }),
  editor: ({ command, problem }) => ({
    ...stops(EXIT.local),
    message: `The editor ${command} ${problem}; nothing was sent.`,
    hint: 'Say which editor to use: EDITOR=nano petstore inventory edit',
  }),

  'no-key': ({ environment }) => ({
    ...stops(EXIT.key),
    message: `There is no API key for ${environment}.`,
    hint: `${LOGIN} (or set PETSTORE_API_KEY). To try petstore without a key: petstore --env sandbox inventory list`,
  }),
  'key-unreadable': ({ path, code }) => ({
    ...stops(EXIT.key),
    message: `The API key could not be read from ${path}: ${systemWords(code)}.`,
    hint: `Make the file readable for yourself (chmod 600 ${path}), or set PETSTORE_API_KEY.`,
  }),
  'key-malformed': ({ source, problem, hint = 'Give the key alone, on one line.' }) => ({
    ...stops(EXIT.key),
    message: `The API key from ${source} ${problem}, so it cannot be sent; its value is not shown.`,
    hint,
  }),
} satisfies FailureTable<keyof LocalFailures>;

const FILE_HINTS: Readonly<Record<LocalFailures['file']['operation'], string>> = {
  create: 'What was there before is unchanged; mend the cause and run the command again.',
  find: 'Change to a folder that exists, then run the command again.',
  open: 'Close some files or raise the limit, then run the command again.',
  read: 'Check the path and its permissions, then run the command again.',
  write: 'What was there before is unchanged; mend the cause and run the command again.',
};

function describeState({ path, problem, what, detail }: LocalFailures['state']): string {
  const file = what === undefined ? `state in ${path}` : `${what} ${path}`;
  const because = detail === undefined ? '' : `: ${detail}`;
  switch (problem) {
    case 'held':
      return `The state in ${path} is held by another petstore.`;
    case 'newer':
      return `The ${file} was written by a newer petstore (${detail}); it was left as it is.`;
    case 'foreign':
      return `${path} is not a petstore ${what}${because}; it was left as it is.`;
    case 'damaged':
      return `The ${file} is damaged${because}; it was left as it is.`;
    case 'replaced':
      return `The ${file} no longer holds this run: it was moved or replaced meanwhile.`;
    case 'row':
      return `A row in the ${file} cannot be used${because}.`;
    case 'full':
      return `The ${file} cannot be used: the disk is full.`;
    case 'readonly':
      return `The ${file} cannot be used: it is read-only.`;
    case 'lock':
      return `The lock file ${path} cannot be used${because}.`;
    case 'unusable':
      return `The ${file} cannot be used${because}.`;
  }
}

function stateHint({ path, problem, what }: LocalFailures['state']): string {
  switch (problem) {
    case 'held':
      return 'Let it finish, or end it; then run the command again.';
    case 'newer':
      return 'Update petstore, or use the version that wrote the file.';
    case 'foreign':
      if (what === 'state database') return 'Move the file elsewhere, then run the command again.';
      return `Name another file with ${what === 'sandbox' ? '--data' : '--journal'}.`;
    case 'damaged':
      if (what === 'state database')
        return 'The next command that writes or sends moves it aside and begins a new one.';
      return 'Restore the file from a copy, or name another.';
    case 'replaced':
      return 'Run the command again from the start: what is done already is not sent again.';
    case 'row':
      return 'See the rest with petstore inventory history; what is still to be done, do with a new command.';
    case 'full':
      return 'Free some space, then run the command again.';
    case 'readonly':
      return 'Make the file and its folder writable, then run the command again.';
    case 'lock':
      return `Remove it, once no petstore is running: rm ${path}`;
    case 'unusable':
      return 'Check the file, its folder and the disk, then run the command again.';
  }
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
  ENOTFOUND: 'there is no such host',
  EFBIG: 'the file would be too large',
  EMFILE: 'this process may not open more files; see ulimit -n',
  ENFILE: 'this machine has too many files open',
  ENXIO: 'no program reads from it',
  EEXIST: 'there is a file of that name',
  EBADF: 'it is closed',
};

function systemWords(code: string): string {
  const words = SYSTEM_WORDS[code];
  return words === undefined ? code : `${words} (${code})`;
}
