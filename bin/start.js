'use strict';

const { existsSync, mkdirSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { isAbsolute, join } = require('node:path');

/**
 * Where the user's caches are. Node's default is the system's temporary folder, in which anybody may have
 * put code under the expected name.
 */
function cacheHome({ XDG_CACHE_HOME, HOME, LOCALAPPDATA }) {
  if (XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME)) return XDG_CACHE_HOME;
  if (process.platform === 'win32') return LOCALAPPDATA;
  return HOME && isAbsolute(HOME) ? join(HOME, '.cache') : undefined;
}

/** One level at a time: a home that does not exist is not made, and Node's own way never ends on one below /proc. */
function isThere(folder) {
  try {
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch {
    return false;
  }
}

const home = cacheHome(process.env);
const folder = home && join(home, 'petstore');
// Never throws: what cannot be written is not cached.
if (folder && !process.env.NODE_DISABLE_COMPILE_CACHE && isThere(home) && isThere(folder)) enableCompileCache(folder);

import('../dist/main.js').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  process.stderr.write(
    'petstore is not built, or its installation is not whole: run `npm ci` in a checkout, or install it again.\n',
  );
  process.exitCode = 3;
});
