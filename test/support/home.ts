/** Creates a separate home folder for each test. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onCleanup } from './cleanup.ts';

export interface Home {
  readonly path: string;
  /** XDG_CONFIG_HOME, XDG_STATE_HOME and XDG_CACHE_HOME: inside the home, not yet created. */
  readonly config: string;
  readonly state: string;
  readonly cache: string;
  /** HOME and the XDG variables. */
  readonly env: Readonly<Record<string, string>>;
}

export function createHome(): Home {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'petstore-home-')));
  onCleanup(() => {
    rmSync(path, { recursive: true, force: true });
  });
  const config = join(path, '.config');
  const state = join(path, '.local', 'state');
  const cache = join(path, '.cache');
  return {
    path,
    config,
    state,
    cache,
    env: { HOME: path, XDG_CONFIG_HOME: config, XDG_STATE_HOME: state, XDG_CACHE_HOME: cache },
  };
}

/** Writes a file of the user's, and returns its path. */
export function fileIn({ path }: Home, name: string, text: string | Uint8Array, mode = 0o666): string {
  const file = join(path, name);
  writeFileSync(file, text, { mode });
  return file;
}

export function configPath(home: Home): string {
  return join(home.config, 'petstore', 'config.json');
}

/** Writes the config file: a text, or settings. */
export function writeConfig(home: Home, config: string | object, mode = 0o600): void {
  mkdirSync(join(home.config, 'petstore'), { recursive: true, mode: 0o700 });
  const text = typeof config === 'string' ? config : JSON.stringify({ version: 1, ...config });
  writeFileSync(configPath(home), text);
  chmodSync(configPath(home), mode);
}
