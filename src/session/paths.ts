/**
 * Paths of files: XDG base directories (relative values are ignored, empty ones count as unset), on macOS too, as with
 * gh and git. On Windows, APPDATA for the config and LOCALAPPDATA for everything else.
 */
import { posix, win32 } from 'node:path';
import type { Context } from '../ports.ts';
import { Failure } from '../errors.ts';
import { inVariable, SETTINGS } from './settings.ts';

type Places = Pick<Context, 'env' | 'machine'>;

/** Returns the folder of the profile's config. @throws {Failure} `no-home`, `invalid-value` */
export function configFolder(places: Places): string {
  const profile = inVariable(SETTINGS.profile, places.env);
  return profile === undefined ? commonConfigFolder(places) : joinPath(profilesFolder(places), profile);
}

/** Returns the folder that contains a folder for each profile. @throws {Failure} `no-home` */
export function profilesFolder(places: Places): string {
  return joinPath(commonConfigFolder(places), 'profiles');
}

function commonConfigFolder(places: Places): string {
  return folder(places, 'configuration', 'XDG_CONFIG_HOME', '.config', 'APPDATA');
}

/** @throws {Failure} `no-home` */
export function stateFolder(places: Places): string {
  return folder(places, 'state', 'XDG_STATE_HOME', '.local/state', 'LOCALAPPDATA');
}

/** Returns the path of a file or folder in the state folder. @throws {Failure} `no-home` */
export function statePath(places: Places, ...names: readonly string[]): string {
  return joinPath(stateFolder(places), ...names);
}

/** Returns the file of the built-in sandbox. @throws {Failure} `no-home` */
export function sandboxFile(places: Places): string {
  return statePath(places, 'sandbox.db');
}

function folder(places: Places, what: string, variable: string, underHome: string, onWindows: string): string {
  const { env, machine } = places;
  const given = env[variable] ?? '';
  if (pathsOf(machine).isAbsolute(given)) return joinPath(given, 'petstore');
  const windows = machine.platform === 'win32' ? env[onWindows] : undefined;
  if (windows !== undefined && windows !== '') return joinPath(windows, 'petstore');
  if (machine.home === undefined) throw new Failure('no-home', { what, variable, problem: homeProblem(places) });
  return joinPath(machine.home, ...underHome.split('/'), 'petstore');
}

/** Returns why the home folder is unknown, as half a sentence. */
export function homeProblem({ env }: Pick<Context, 'env'>): string {
  return env.HOME === undefined || env.HOME === '' ? 'HOME is not set' : 'HOME is not an absolute path';
}

/** Resolves a path against the current folder: however a file's path is spelled, the result is the same. */
export function absolutePath({ machine }: Pick<Context, 'machine'>, path: string): string {
  return pathsOf(machine).resolve(machine.cwd, path);
}

/** Joins a path with the folder's own separator: cmd.exe does not accept both in one path. */
export function joinPath(folder: string, ...names: readonly string[]): string {
  return [folder, ...names].join(IS_OF_WINDOWS.test(folder) ? '\\' : '/');
}

/** Returns the last name in a path. */
export function fileName(path: string): string {
  return path.replace(IS_OF_WINDOWS.test(path) ? /^.*[\\/]/ : /^.*\//, '');
}

/** A Windows drive or share. */
const IS_OF_WINDOWS = /^([A-Za-z]:[\\/]|\\\\)/;

const pathsOf = ({ platform }: Context['machine']): typeof posix => (platform === 'win32' ? win32 : posix);
