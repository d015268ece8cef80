/**
 * FIFOs, pipes, terminals and devices. A thread that waits in open(2), read(2) or write(2) can be ended by nothing
 * but kill -9, so these are opened without blocking, and pipes and terminals are polled by the event loop.
 */
import fs, { constants } from 'node:fs';
import { Socket } from 'node:net';
import { addAbortSignal, finished, type Readable, type Writable } from 'node:stream';
import { ReadStream, isatty } from 'node:tty';
import { promisify } from 'node:util';
import { reasonOf } from '../ports.ts';

const open = promisify(fs.open);
const stat = promisify(fs.fstat);

// Windows has no O_NONBLOCK: undefined counts as 0 in the sum of bits.
const { O_NONBLOCK, O_RDONLY } = constants;

/** How long a pipe that is full may keep what was written last, once it is to be closed, in ms. */
const LAST_WRITE_MS = 1_000;

/** Reads a stream, or any file, following links; ends with the signal's reason once it aborts. */
export async function* readPieces(source: string | Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  const stream = addAbortSignal(signal, typeof source === 'string' ? await openToRead(source) : source);
  try {
    yield* stream;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

async function openToRead(path: string): Promise<Readable> {
  // Bun polls no pipe that it is given, and waits for no thread as it ends.
  if (process.versions.bun !== undefined) return fs.createReadStream(path);
  const file = await open(path, O_RDONLY | O_NONBLOCK);
  if (isatty(file)) return new ReadStream(file);
  const found = await stat(file);
  // A FIFO that no program has opened for writing yet is silent, not at its end: the poll tells one from the other.
  if (found.isFIFO() || found.isSocket()) return new Socket({ fd: file, readable: true, writable: false });
  return fs.createReadStream(path, { fd: file });
}

/** Names of this process's own outputs. */
const OWN_OUTPUTS: Readonly<Record<string, () => Writable>> = {
  '/dev/stdout': () => process.stdout,
  '/dev/fd/1': () => process.stdout,
  '/proc/self/fd/1': () => process.stdout,
  '/dev/stderr': () => process.stderr,
  '/dev/fd/2': () => process.stderr,
  '/proc/self/fd/2': () => process.stderr,
};

/** True where the path names stdout or stderr of this process. Opened anew, a socket fails and a file is overwritten. */
export function isOwnOutput(path: string): boolean {
  return OWN_OUTPUTS[path] !== undefined;
}

/**
 * Opens any file to write to. `close` resolves when all of it is written, or could not be.
 * @param flags of open(2), on top of O_WRONLY
 * @throws a Node system error: `ENXIO` where no program reads from the FIFO
 */
export async function openSink(path: string, flags: number): Promise<{ stream: Writable; close: () => Promise<void> }> {
  const own = OWN_OUTPUTS[path]?.();
  const stream = own ?? (await openToWrite(path, flags));
  const close = async (): Promise<void> => {
    await new Promise<void>((resolve) => {
      const giveUp = setTimeout(resolve, LAST_WRITE_MS);
      const done = (): void => {
        clearTimeout(giveUp);
        resolve();
      };
      if (own === undefined) finished(stream.end(), done);
      else own.write('', done);
    });
    if (own === undefined) stream.destroy();
  };
  return { stream, close };
}

async function openToWrite(path: string, flags: number): Promise<Writable> {
  const file = await open(path, constants.O_WRONLY | O_NONBLOCK | flags, 0o600);
  const isPipe = (await stat(file)).isFIFO();
  return isPipe ? new Socket({ fd: file, readable: false, writable: true }) : fs.createWriteStream(path, { fd: file });
}

/** Writes the text to a file that is there and is not a plain one. */
export async function writeSpecial(path: string, text: string, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { stream, close } = await openSink(path, 0);
  await new Promise<void>((resolve, reject) => {
    signal?.addEventListener('abort', () => {
      reject(reasonOf(signal));
    });
    stream.once('error', reject).write(text, (error) => {
      if (error == null) resolve();
      else reject(error);
    });
  }).finally(() => void close());
}
