/**
 * Reads FIFOs, pipes, terminals and devices. Only kill -9 ends a thread that waits in open(2) or read(2), so these are
 * opened without blocking, and the event loop polls pipes and terminals.
 */
import fs, { constants } from 'node:fs';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { ReadStream, isatty } from 'node:tty';
import { promisify } from 'node:util';
import { BUN } from './bun.ts';

const open = promisify(fs.open);
const stat = promisify(fs.fstat);

// Windows has no O_NONBLOCK: undefined counts as 0 in a bitwise OR.
const { O_NONBLOCK, O_RDONLY } = constants;

/** Reads a stream or any file, following links. Throws the signal's reason once it aborts. */
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
  // Bun cannot poll an open pipe, but it does not wait for threads when it ends.
  if (BUN !== undefined) return fs.createReadStream(path);
  const file = await open(path, O_RDONLY | O_NONBLOCK);
  if (isatty(file)) return new ReadStream(file);
  const found = await stat(file);
  // A FIFO without a writer yet is silent, not at its end. Polling tells the two apart.
  if (found.isFIFO() || found.isSocket()) return new Socket({ fd: file, readable: true, writable: false });
  return fs.createReadStream(path, { fd: file });
}
