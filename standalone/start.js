'use strict';

const { getAsset, getRawAsset } = require('node:sea');
const { Script } = require('node:vm');

/** @type {Map<string, { exports: object }>} */
const loaded = new Map();

/**
 * Loads the build's own files, with what src/build/standalone.ts has let V8 compile of them; Node's `require` loads all
 * else.
 * @param {string} name
 * @returns {unknown}
 */
function load(name) {
  if (!name.startsWith('./')) return require(name);
  const known = loaded.get(name);
  if (known) return known.exports;
  const script = new Script(`(function (exports, require, module) {${getAsset(name, 'latin1')}\n})`, {
    filename: name,
    cachedData: codeOf(name),
  });
  const module = { exports: {} };
  loaded.set(name, module);
  const define = /** @type {(exports: object, require: typeof load, module: { exports: object }) => void} */ (
    script.runInThisContext()
  );
  define(module.exports, load, module);
  return module.exports;
}

/** @param {string} name */
function codeOf(name) {
  try {
    return Buffer.from(getRawAsset(`${name}.code`));
  } catch {
    // Not used by the commands that were run for it.
    return undefined;
  }
}

load('./main.cjs');
