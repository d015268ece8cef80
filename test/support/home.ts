/** Creates a separate home folder for each test. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
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
