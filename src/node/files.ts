/** The Files port over node:fs. */
import fs from 'node:fs';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { errorCode, type FileKind, type Files } from '../ports.ts';

// Without O_NONBLOCK, opening a FIFO would hang. Windows has neither this nor O_NOFOLLOW: undefined counts as 0 in a
// bitwise OR.
const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = fs.constants;

/** Network file systems on Linux: their `f_type` in statfs(2). */
const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x6969, // NFS
  0x517b, // SMB
  0xff534d42, // CIFS
  0xfe534d42, // SMB 2
  0x5346414f, // AFS
  0x00c36400, // Ceph
  0x0bd00bd0, // Lustre
  0x47504653, // GPFS
]);

function kindOf(found: fs.Stats): FileKind {
  if (found.isFile()) return 'file';
  if (found.isDirectory()) return 'directory';
  return found.isSymbolicLink() ? 'symlink' : 'other';
}

/** Works synchronously: most commands need these answers, and the thread pool would cost ten times as much. */
function atOnce<Given extends unknown[], T>(work: (...given: Given) => T): (...given: Given) => Promise<T> {
  return (...given) =>
    new Promise((resolve) => {
      resolve(work(...given));
    });
}

/** Returns the result of `work`, or the fallback if the file does not exist or is a socket. */
async function orIfMissing<T>(fallback: T, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENXIO') return fallback;
    throw error;
  }
}

/**
 * Returns the first bytes of a plain file, or those after `from`. Leaves a database open: when a process closes a file,
 * it loses its locks on it (POSIX), including those of its own SQLite connections; another process, if its SQLite is
 * older than 3.51, would then remove the write-ahead log (sqlite.org/howtocorrupt.html, 2.2).
 * @throws if it is missing
 */
function headOf(path: string, bytes: number, from = 0): Uint8Array | undefined {
  const file = fs.openSync(path, O_RDONLY | O_NONBLOCK);
  const head = Buffer.alloc(bytes);
  try {
    if (!fs.fstatSync(file).isFile()) return undefined;
    return head.subarray(0, fs.readSync(file, head, 0, bytes, from));
  } finally {
    if (head.toString('latin1', 0, 15) !== 'SQLite format 3') fs.closeSync(file);
  }
}

/**
 * Creates the folder and its parents. Node's own recursive mkdir never ends if the system reports a missing entry below
 * a folder that exists, as /proc does.
 */
function makeFolder(path: string): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  try {
    fs.mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** True for a file whose last line was cut, as by a full disk; false for one that cannot be read. */
function isCut(path: string, size: number): boolean {
  try {
    return size > 0 && headOf(path, 1, size - 1)?.[0] !== 0x0a;
  } catch {
    return false;
  }
}

/** Returns our own stdout or stderr if the path names it: reopening fails for a socket and overwrites a file. */
function ownOutput(path: string): Writable | undefined {
  const [, name] = /^\/(?:dev\/(?:fd\/)?|proc\/self\/fd\/)(1|2|stdout|stderr)$/.exec(path) ?? [];
  if (name === undefined) return undefined;
  return name === '1' || name === 'stdout' ? process.stdout : process.stderr;
}

export const nodeFiles: Files = {
  facts: atOnce((path) => {
    const found = fs.lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    const { mode, size, uid: owner, atimeMs: accessedAt, mtimeMs: modifiedAt } = found;
    return { kind: kindOf(found), mode: mode & 0o7777, size, owner, accessedAt, modifiedAt };
  }),

  read: atOnce((path) =>
    // The types know no number here.
    fs.readFileSync(path, { encoding: 'utf8', flag: (O_RDONLY | O_NOFOLLOW | O_NONBLOCK) as never }),
  ),

  head: (path, bytes) => orIfMissing(undefined, () => headOf(path, bytes)),

  makePrivateFolder: atOnce(makeFolder),

  // Loads node:net and node:tty, which most commands do not need.
  stream: async (path, signal) => (await import('./special-files.ts')).readPieces(path, signal),

  append: atOnce((path, onFailure) => {
    const own = ownOutput(path);
    let file: number | undefined;
    const report = (error: unknown): void => {
      onFailure(errorCode(error) ?? String(error));
      onFailure = () => undefined;
    };
    const open = (): Writable => {
      const fd = fs.openSync(path, O_WRONLY | O_NONBLOCK | O_APPEND | O_CREAT, 0o600);
      const { ino, size } = fs.fstatSync(fd);
      file = ino;
      const opened = fs.createWriteStream('', { fd }).once('error', report);
      if (isCut(path, size)) opened.write('\n');
      return opened;
    };
    let stream = own?.once('error', report) ?? open();
    return {
      write(text) {
        try {
          // A log rotation has moved it, or a write has failed, as on a full disk.
          if (own === undefined && !(stream.writable && fs.statSync(path, { throwIfNoEntry: false })?.ino === file)) {
            const next = open();
            stream.end();
            stream = next;
          }
        } catch (error) {
          report(error);
        }
        if (stream.writable) stream.write(text);
      },
      async close() {
        // Our own stdout or stderr stays open for other output.
        if (own === undefined) await finished(stream.end()).catch(report);
      },
    };
  }),

  list: (folder) => orIfMissing([], () => fs.readdirSync(folder)),

  async isOnNetwork(path) {
    // On other systems the number means something else.
    if (process.platform !== 'linux') return false;
    try {
      return NETWORK_FILE_SYSTEMS.has(fs.statfsSync(path).type >>> 0);
    } catch {
      const parent = dirname(path);
      return parent !== path && nodeFiles.isOnNetwork(parent);
    }
  },

  async replace(path, text, { mode = 0o644 } = {}) {
    const own = ownOutput(path);
    if (own !== undefined) {
      await new Promise<void>((resolve, reject) => {
        own.once('error', reject).write(text, (error) => {
          if (error == null) resolve();
          else reject(error);
        });
      });
      return;
    }
    const found = await fs.promises.stat(path).catch(() => undefined);
    if (found?.isFile() === false) {
      await fs.promises.writeFile(path, text, { flag: O_WRONLY | O_NONBLOCK });
      return;
    }
    // Replaces the target of a link, so that the link stays, unless its target is missing.
    const target = found === undefined ? path : await fs.promises.realpath(path);
    const temporary = `${target}.${process.pid}.tmp`;
    try {
      await fs.promises.writeFile(temporary, text, { mode: found?.mode ?? mode });
      if (found !== undefined) {
        // If root replaces a file, its owner can still read it. Other users may not give files away.
        await fs.promises.chown(temporary, found.uid, found.gid).catch(() => undefined);
        await fs.promises.chmod(temporary, found.mode);
      }
      await fs.promises.rename(temporary, target);
    } catch (error) {
      await fs.promises.rm(temporary, { force: true });
      throw error;
    }
  },

  setTimes: atOnce((path, { accessedAt, modifiedAt }) => {
    fs.utimesSync(path, accessedAt / 1_000, modifiedAt / 1_000);
  }),

  remove: (path) => fs.promises.rm(path, { force: true }),

  rename: (from, to) => orIfMissing(undefined, () => fs.promises.rename(from, to)),
};

/** Loads conf, and returns a function that replaces the config file in a folder, with mode 0600. */
export async function openConfigWriter() {
  const { default: Conf } = await import('conf');
  return (cwd: string, content: Readonly<Record<string, unknown>>): void => {
    makeFolder(cwd);
    try {
      const conf = new Conf<Record<string, unknown>>({
        cwd,
        projectName: 'petstore',
        projectSuffix: '',
        configFileMode: 0o600,
        clearInvalidConfig: false,
      });
      conf.store = { ...content };
    } finally {
      // A writer that failed or was killed leaves a temporary file that may contain a key. The lock keeps others out; conf
      // itself may be about to remove its own.
      const left = fs.readdirSync(cwd).filter((name) => name.startsWith('config.json.tmp'));
      for (const name of left) fs.rmSync(`${cwd}/${name}`, { force: true });
    }
  };
}
