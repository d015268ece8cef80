/**
 * Reads and writes the config file. Our own reader reports the position of an error and never overwrites a broken file;
 * conf writes it atomically, under the state database's lock, so that no concurrent change is lost.
 */
import { openConfigWriter } from '../node/files.ts';
import { type Context, errorCode, type FileFacts } from '../ports.ts';
import { Failure, fileFailure } from '../errors.ts';
import { JsonError, type JsonValue, parseJson } from '../api/json.ts';
import { openState } from '../state/database.ts';
import type { Warned } from '../state/file.ts';
import { isOneOf } from '../api/values.ts';
import { ENVIRONMENTS } from './environments.ts';
import { configFolder, joinPath, stateFolder } from './paths.ts';
import { CONFIG_SETTINGS, inVariable, SETTINGS, type Stored } from './settings.ts';

const CONFIG_VERSION = 1;

export type Config = Stored['config'];

export interface ConfigFile {
  /** Empty without a home folder. */
  readonly path: string;
  readonly config: Config;
  /** False if it does not exist yet. */
  readonly exists: boolean;
  /** System error code if the file exists and cannot be read, so that a key in it is out of reach. */
  readonly unreadable?: string;
  /** True if other users may read the file. */
  readonly exposed: boolean;
  /** True if other users may change the file. */
  readonly isWritableByOthers: boolean;
  /** True if another user (except root) owns the file, and could send the key elsewhere. */
  readonly isForeign: boolean;
}

const NONE = { config: {}, exists: false, exposed: false, isWritableByOthers: false, isForeign: false };

export function configPath(context: Context): string {
  return joinPath(configFolder(context), 'config.json');
}

/**
 * Reads the config. Without a home folder it is empty, and variables may be enough.
 * @throws {Failure} `config-invalid`
 */
export async function readConfigFile(context: Context): Promise<ConfigFile> {
  let path = '';
  try {
    path = configPath(context);
    const facts = await context.files.facts(path);
    if (facts === undefined) return { path, ...NONE };
    const profile = inVariable(SETTINGS.profile, context.env);
    const login = `log in again: petstore ${profile === undefined ? '' : `--profile ${profile} `}login`;
    if (facts.kind !== 'file') {
      const hint = `Move it away and ${login}`;
      throw new Failure('config-invalid', { place: path, problem: 'is not a plain file', hint });
    }
    const config = parseConfig(path, await context.files.read(path), login);
    const modeForOthers = context.machine.platform === 'win32' ? 0 : facts.mode & 0o077;
    return {
      path,
      config,
      exists: true,
      exposed: modeForOthers !== 0,
      isWritableByOthers: (modeForOthers & 0o022) !== 0,
      isForeign: isForeign(context, facts),
    };
  } catch (error) {
    if (error instanceof Failure && error.is('no-home')) return { path, ...NONE };
    const code = errorCode(error);
    if (code === undefined) throw error;
    // A parent of a missing HOME may be a plain file: then there is no config.
    if (code === 'ENOTDIR') return { path, ...NONE };
    return { path, ...NONE, exists: true, unreadable: code };
  }
}

/** True if neither this user nor root owns the file or folder. */
export function isForeign({ machine: { userId } }: Context, { owner }: FileFacts): boolean {
  return userId !== undefined && owner !== userId && owner !== 0;
}

/** Requires that the config could be read. @throws {Failure} `file` */
export function requireReadable(file: ConfigFile): ConfigFile {
  if (file.unreadable === undefined) return file;
  throw new Failure('file', { operation: 'read', path: file.path, code: file.unreadable });
}

/**
 * Reads, changes and writes the config under a lock. @param changes undefined removes a value
 * @throws {Failure} as readConfigFile, and `state`, `file`
 */
export async function changeConfig(
  context: Context & Warned,
  changes: (config: Config) => Readonly<Record<string, string | undefined>>,
): Promise<ConfigFile> {
  // Before the lock is taken.
  const write = await openConfigWriter();
  using state = await openState(context, stateFolder(context));
  return await state.exclusively(async () => {
    const file = requireReadable(await readConfigFile(context));
    const changed = Object.entries({ ...file.config, ...changes(file.config) });
    const config = Object.fromEntries(
      changed.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
    );
    try {
      write(configFolder(context), { version: CONFIG_VERSION, ...config });
    } catch (error) {
      throw errorCode(error) === undefined ? error : fileFailure('write', file.path, error);
    }
    return { ...file, config, exists: true };
  });
}

function parseConfig(path: string, written: string, login: string): Config {
  const text = written.replace(/^\uFEFF/, '');
  const fix = `Correct it in an editor, or move it away and ${login}`;
  const invalid = (problem: string, hint = fix, place = path): Failure =>
    new Failure('config-invalid', { place, problem, hint });
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const before = text.slice(0, error.at);
    const place = `${path}:${before.split('\n').length}:${error.at - before.lastIndexOf('\n')}`;
    // Without the cause, which may quote the text and so a key.
    throw invalid('is not valid JSON', fix, place);
  }
  if (!(value instanceof Map)) throw invalid('is not a JSON object');
  const version = value.get('version');
  if (typeof version !== 'number') throw invalid('has no version number');
  if (version > CONFIG_VERSION) {
    throw invalid(
      `has version ${version}, which a newer petstore wrote`,
      'Update petstore, or use the version that wrote the file.',
    );
  }
  value.delete('version');
  for (const [key, each] of value) {
    if (!CONFIG_SETTINGS.has(key)) throw invalid(`has an unknown setting ${JSON.stringify(key)}`);
    if (typeof each !== 'string') throw invalid(`has ${key}, which is not a string`);
    if (key === SETTINGS.env.key && !isOneOf(ENVIRONMENTS, each)) throw invalid('names an unknown environment');
  }
  return Object.fromEntries(value) as Config;
}
