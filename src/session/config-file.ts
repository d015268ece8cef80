/**
 * The config file: read by ourselves, so that a broken one is reported with its place and never overwritten;
 * written by conf, whole and atomically, under the state database's lock, so that no concurrent change is lost.
 */
import { type Context, errorCode, type FileFacts } from '../ports.ts';
import { Failure, fileFailure } from '../errors.ts';
import { JsonError, parseJson } from '../api/json.ts';
import { openState } from '../state/database.ts';
import type { Warned } from '../state/file.ts';
import { DEFAULT_NAMES, type Defaults } from './defaults.ts';
import { isEnvironment, isRemoteEnvironment, REMOTE_ENVIRONMENTS, type RemoteEnvironment } from './environments.ts';
import { configFolder, joinPath, stateFolder } from './paths.ts';

const CONFIG_VERSION = 1;
/** No config is near this large. */
const MOST_BYTES = 1 << 20;

export interface EnvironmentSettings {
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** Prints the key; excludes `apiKey`. */
  readonly keyCommand?: string;
}

export interface Config {
  readonly environment?: string;
  readonly environments: Readonly<Partial<Record<RemoteEnvironment, EnvironmentSettings>>>;
  /** Of common options, as the user wrote them. */
  readonly defaults?: Defaults;
}

export interface ConfigFile {
  /** Empty without a home folder. */
  readonly path: string;
  readonly config: Config;
  /** False if it does not exist yet. */
  readonly exists: boolean;
  /** The system's code where there is one that could not be read: a key in it is out of reach. */
  readonly unreadable?: string;
  /** Others than its owner may read the file. */
  readonly exposed: boolean;
  /** Others than its owner may change the file. */
  readonly isWritableByOthers: boolean;
  /** True where another user owns the file, root aside, and may send the key elsewhere. */
  readonly isForeign: boolean;
}

export const NO_CONFIG: Config = { environments: {} };
const NONE = { config: NO_CONFIG, exists: false, exposed: false, isWritableByOthers: false, isForeign: false };

export function configPath(context: Context): string {
  return joinPath(configFolder(context), 'config.json');
}

/**
 * Without a home folder the config is empty, and variables may be enough.
 * @throws {Failure} `config-invalid`, `config-newer`, `config-not-a-file`
 */
export async function readConfigFile(context: Context): Promise<ConfigFile> {
  const path = pathIfAny(context);
  if (path === undefined) return { path: '', ...NONE };
  try {
    const facts = await context.files.facts(path);
    if (facts === undefined) return { path, ...NONE };
    if (facts.kind !== 'file') throw new Failure('config-not-a-file', { path, found: facts.kind });
    if (facts.size > MOST_BYTES) throw new Failure('config-invalid', { path, problem: 'is larger than 1 MiB' });
    const config = parseConfig(path, await context.files.read(path));
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
    const code = errorCode(error);
    if (code === undefined) throw error;
    // Above a missing HOME there may be a plain file: no config then, rather than a broken one.
    if (code === 'ENOTDIR') return { path, ...NONE };
    return { path, ...NONE, exists: true, unreadable: code };
  }
}

/** True where neither this user nor root owns the file or folder. */
export function isForeign({ machine: { userId } }: Context, { owner }: FileFacts): boolean {
  return userId !== undefined && owner !== userId && owner !== 0;
}

function pathIfAny(context: Context): string | undefined {
  try {
    return configPath(context);
  } catch (error) {
    if (error instanceof Failure && error.is('no-home')) return undefined;
    throw error;
  }
}

/** Requires that what is in the config is known. @throws {Failure} `file` */
export function requireReadable(file: ConfigFile): ConfigFile {
  if (file.unreadable === undefined) return file;
  throw new Failure('file', { operation: 'read', path: file.path, code: file.unreadable });
}

/**
 * Reads, changes and writes the config while no other petstore can.
 * @throws {Failure} as readConfigFile, and `state`, `file`
 */
export async function changeConfig(context: Context & Warned, change: (config: Config) => Config): Promise<ConfigFile> {
  await context.configWriter.prepare();
  using state = await openState(context, stateFolder(context));
  return await state.exclusively(async () => {
    const file = requireReadable(await readConfigFile(context));
    const config = change(file.config);
    await writeConfig(context, file.path, config);
    return { ...file, config, exists: true };
  });
}

async function writeConfig(context: Context, path: string, config: Config): Promise<void> {
  const folder = configFolder(context);
  try {
    await context.files.makePrivateFolder(folder);
    await context.configWriter.write(folder, 'config', { version: CONFIG_VERSION, ...config });
    // A killed writer leaves its unfinished file behind, with a key in it. The lock keeps other writers out.
    const left = (await context.files.list(folder)).filter((name) => name.startsWith('config.json.tmp'));
    for (const name of left) await context.files.remove(`${folder}/${name}`);
  } catch (error) {
    throw errorCode(error) === undefined ? error : fileFailure('write', path, error);
  }
}

function parseConfig(path: string, text: string): Config {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // Not kept as the cause: its message quotes the text, and with it perhaps a key.
    throw new Failure('config-invalid', { path, problem: 'is not valid JSON', ...jsonPosition(text) });
  }
  const invalid = (problem: string): Failure => new Failure('config-invalid', { path, problem });
  if (!isObject(value)) throw invalid('holds no JSON object');
  if (typeof value.version !== 'number') throw invalid('has no version number');
  if (value.version > CONFIG_VERSION) throw new Failure('config-newer', { path, version: value.version });
  const { environment, environments = {}, defaults = {} } = value;
  if (environment !== undefined && (typeof environment !== 'string' || !isEnvironment(environment))) {
    throw invalid('names an unknown environment');
  }
  if (!isObject(environments)) throw invalid('has no object as its "environments"');
  const settings = Object.entries(environments).map(([name, each]) => {
    if (!isRemoteEnvironment(name)) throw invalid(`holds settings of an unknown environment "${name}"`);
    return [name, parseSettings(each, () => invalid(`has settings of ${name} that are not texts`))] as const;
  });
  if (!isObject(defaults)) throw invalid('has no object as its "defaults"');
  return {
    ...(environment !== undefined && { environment }),
    environments: Object.fromEntries(settings),
    ...withDefaults(defaults),
  };
}

/** Keeps the defaults that are texts; their form is checked where they are used. */
function withDefaults(value: Readonly<Record<string, unknown>>): Pick<Config, 'defaults'> {
  const known = DEFAULT_NAMES.flatMap((name) => {
    const text = value[name];
    return typeof text === 'string' ? [[name, text] as const] : [];
  });
  return known.length === 0 ? {} : { defaults: Object.fromEntries(known) };
}

/** Returns where a text stops being JSON: line and column, both from 1. */
function jsonPosition(text: string): { line: number; column: number } {
  let at = text.length;
  try {
    parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) at = error.at;
  }
  const before = text.slice(0, at);
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') };
}

function parseSettings(value: unknown, invalid: () => Failure): EnvironmentSettings {
  if (!isObject(value)) throw invalid();
  for (const name of ['baseUrl', 'apiKey', 'keyCommand']) {
    if (value[name] !== undefined && typeof value[name] !== 'string') throw invalid();
  }
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Settings to put in place of the kept ones; undefined removes one. */
export type SettingsChange = { readonly [Name in keyof EnvironmentSettings]: EnvironmentSettings[Name] | undefined };

/** The config with one environment's settings changed; empty settings disappear. */
export function withSettings(config: Config, name: RemoteEnvironment, change: SettingsChange): Config {
  const merged = Object.entries<string | undefined>({ ...config.environments[name], ...change }).filter(
    ([, value]) => value !== undefined,
  );
  const environments = { ...config.environments, [name]: Object.fromEntries(merged) };
  const kept = REMOTE_ENVIRONMENTS.filter((each) => Object.keys(environments[each] ?? {}).length > 0);
  return { ...config, environments: Object.fromEntries(kept.map((each) => [each, environments[each]])) };
}
