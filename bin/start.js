'use strict';

const fs = require('node:fs');
const { isAbsolute, join } = require('node:path');
const { Script } = require('node:vm');

const DIST = join(__dirname, '../dist');
/** Length of the comment at the start of each built file, which holds the file's hash. */
const HASH_LENGTH = 20;

/**
 * The files that this process has loaded, with V8's compiled code.
 *
 * V8 compiles a function when it is first called. Node's own compile cache stores what was compiled when a file was
 * loaded: nearly nothing, since nothing has been called yet. This cache stores what a command has called by its end,
 * and adds to it once for every command and exit code.
 *
 * @type {Map<string, { module: { exports: object }, source: string, script: Script, commands: string[] }>}
 */
const loaded = new Map();

/**
 * Loads a file of the build; passes any other name to Node's `require`.
 * @param {string} name
 * @returns {unknown}
 */
function load(name) {
  if (!name.startsWith('./')) return require(name);
  const known = loaded.get(name);
  if (known) return known.module.exports;
  const source = fs.readFileSync(join(DIST, name), 'latin1');
  const { commands, code } = readKept(name, source.slice(0, HASH_LENGTH));
  const script = new Script(`(function (exports, require, module) {${source}\n})`, {
    filename: join(DIST, name),
    cachedData: code,
  });
  const module = { exports: {} };
  loaded.set(name, { module, source, script, commands: script.cachedDataRejected === false ? commands : [] });
  const define = /** @type {(exports: object, require: typeof load, module: { exports: object }) => void} */ (
    script.runInThisContext()
  );
  define(module.exports, load, module);
  return module.exports;
}

/**
 * Returns the user's cache folder. The system's temporary folder is not safe: another user may have put code there
 * under the expected name.
 * @param {NodeJS.ProcessEnv} env
 */
function cacheHome({ XDG_CACHE_HOME, HOME, LOCALAPPDATA }) {
  if (XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME)) return XDG_CACHE_HOME;
  if (process.platform === 'win32') return LOCALAPPDATA;
  return HOME && isAbsolute(HOME) ? join(HOME, '.cache') : undefined;
}

/**
 * Creates a missing folder, one level only: a home that does not exist is not created.
 * @param {string} folder
 */
function isThere(folder) {
  try {
    if (!fs.existsSync(folder)) fs.mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch {
    return false;
  }
}

/**
 * True if this user owns the folder or file and no one else may write to it: code is run from it.
 * @param {fs.Stats} found
 */
function isOurs(found) {
  return process.platform === 'win32' || (found.uid === process.geteuid?.() && (found.mode & 0o022) === 0);
}

/** @param {string} folder */
function isOurFolder(folder) {
  return isThere(folder) && isOurs(fs.statSync(folder));
}

function codeFolder() {
  const home = process.env.NODE_DISABLE_COMPILE_CACHE ? undefined : cacheHome(process.env);
  if (!home || !isThere(home)) return undefined;
  const ours = join(home, 'petstore');
  const folder = join(ours, `code-${process.version}-${process.arch}`);
  try {
    return isOurFolder(ours) && isOurFolder(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

const folder = codeFolder();

/**
 * Reads a file's cache entry: a line with its hash and the commands (with exit codes) it was stored for, then the code
 * twice. V8 does not check the code, and a crash cannot be caught; comparing two copies costs less than a checksum. The
 * second copy begins in the middle, so that the same damage to both is noticed.
 * @param {string} name
 * @param {string} hash
 * @returns {{ commands: string[], code: Buffer | undefined }}
 */
function readKept(name, hash) {
  const nothing = { commands: [], code: undefined };
  if (!folder) return nothing;
  try {
    const kept = readOurs(join(folder, name));
    const start = kept.indexOf(10) + 1;
    const [keptFor, ...commands] = kept.toString('latin1', 0, start - 1).split(' ');
    const half = (kept.length - start) / 2;
    const code = kept.subarray(start, start + half);
    const [second, first] = turned(code);
    const copy = kept.subarray(start + half);
    const isSound = second.equals(copy.subarray(0, second.length)) && first.equals(copy.subarray(second.length));
    return keptFor === hash.trim() && isSound ? { commands, code } : nothing;
  } catch {
    return nothing;
  }
}

/**
 * Returns the code's second half, then its first.
 * @param {Buffer} code
 * @returns {[second: Buffer, first: Buffer]}
 */
function turned(code) {
  const middle = code.length >> 1;
  return [code.subarray(middle), code.subarray(0, middle)];
}

/**
 * Reads a regular file that only this user can write; never waits on a FIFO.
 * @param {string} path
 */
function readOurs(path) {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  const file = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = fs.fstatSync(file);
    if (!found.isFile() || !isOurs(found)) throw new Error(`${path} is not a file of this user's alone`);
    return fs.readFileSync(file);
  } finally {
    fs.closeSync(file);
  }
}

/**
 * Stores V8's compiled code of each file that has none stored for this command.
 * @param {string} folder
 * @param {string} command
 */
function keep(folder, command) {
  for (const [name, { source, script, commands }] of loaded) {
    if (commands.includes(command)) continue;
    const code = script.createCachedData();
    const line = [source.slice(0, HASH_LENGTH).trim(), ...commands, command].join(' ');
    replace(join(folder, name), Buffer.concat([Buffer.from(`${line}\n`), code, ...turned(code)]));
  }
}

/**
 * Replaces the file in one step, so that another process never reads half of it.
 * @param {string} path
 * @param {Buffer} content
 */
function replace(path, content) {
  const temporary = `${path}.${process.pid}`;
  try {
    fs.writeFileSync(temporary, content, { mode: 0o600 });
    fs.renameSync(temporary, path);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

async function run() {
  const main = /** @type {typeof import('../src/main.ts')} */ (load('./main.cjs'));
  process.on('exit', (code) => {
    try {
      // Keyed by exit code too: a run that failed early compiled little.
      if (folder) keep(folder, `${main.commandName}:${code}`);
    } catch {
      // Ignore a full disk or a conflict with another process: the code is compiled again next time.
    }
  });
  await main.finished;
}

run().catch((/** @type {unknown} */ error) => {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  process.stderr.write(
    'petstore is not built, or its installation is not whole: run `npm ci` in a checkout, or install it again.\n',
  );
  process.exitCode = 3;
});
