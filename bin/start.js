'use strict';

const { enableCompileCache } = require('node:module');
const { join, isAbsolute } = require('node:path');

/**
 * A folder of the user's own: Node's default is in the system's temporary folder, where anybody may have
 * put code under the expected name. No folder to be had: no cache.
 */
function cacheFolder({ XDG_CACHE_HOME, HOME, LOCALAPPDATA }) {
  if (XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME)) return join(XDG_CACHE_HOME, 'petstore', 'compiled');
  if (process.platform === 'win32') return LOCALAPPDATA && join(LOCALAPPDATA, 'petstore', 'compiled');
  return HOME && isAbsolute(HOME) && join(HOME, '.cache', 'petstore', 'compiled');
}

const folder = cacheFolder(process.env);
// Never throws: where the folder cannot be written, or NODE_DISABLE_COMPILE_CACHE is set, it says so in its result.
if (folder) enableCompileCache(folder);

import('../dist/main.js');
