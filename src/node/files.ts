/** The Files port over node:fs. */
import { constants, createWriteStream, mkdirSync, statfsSync } from 'node:fs';
import { lstat, open, readdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { dirname } from 'node:path';
import type { FileKind, Files } from '../context.ts';

// Windows has neither: undefined counts as 0 in the sum of bits.
const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** File systems of Linux that several machines may mount at once: the `f_type` of statfs(2). */
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

export const nodeFiles: Files = {
  async facts(path) {
    try {
      const found = await lstat(path);
      const kind: FileKind = found.isFile()
        ? 'file'
        : found.isDirectory()
          ? 'directory'
          : found.isSymbolicLink()
            ? 'symlink'
            : 'other';
      return { kind, mode: found.mode & 0o7777, size: found.size };
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOENT') return undefined;
      throw error;
    }
  },

  async read(path) {
    // O_NONBLOCK: opening a FIFO nobody writes to must not hang.
    const file = await open(path, READ_ONLY);
    try {
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  },

  stream: async (path) => (await open(path)).createReadStream(),

  async append(path, onFailure) {
    const file = createWriteStream(path, { flags: 'a', mode: 0o600 });
    await once(file, 'open');
    file.once('error', (error: NodeJS.ErrnoException) => {
      onFailure(error.code ?? error.message);
    });
    return {
      write: (text) => {
        if (!file.destroyed) file.write(text);
      },
      close: () =>
        new Promise((resolve) => {
          if (file.destroyed) resolve();
          else {
            file.once('close', resolve);
            file.end();
          }
        }),
    };
  },

  // At once, as below: every command asks both, and the thread pool costs ten times the answer.
  makePrivateFolder: (path) =>
    new Promise((resolve) => {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      resolve();
    }),

  async list(folder) {
    try {
      return await readdir(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  },

  async isOnNetwork(path) {
    // Elsewhere the number means something else.
    if (process.platform !== 'linux') return false;
    try {
      return NETWORK_FILE_SYSTEMS.has(statfsSync(path).type >>> 0);
    } catch {
      const parent = dirname(path);
      return parent !== path && nodeFiles.isOnNetwork(parent);
    }
  },

  async replace(path, text) {
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && !found.isFile()) {
      await writeFile(path, text);
      return;
    }
    // A link stays one: what it points to is replaced.
    const target = found === undefined ? path : await realpath(path);
    const temporary = `${target}.${process.pid}.tmp`;
    try {
      await writeFile(temporary, text, { mode: found?.mode ?? 0o644 });
      await rename(temporary, target);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  },

  remove: (path) => rm(path, { force: true }),

  async rename(from, to) {
    try {
      await rename(from, to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  },
};
