/**
 * Reads FIFOs, pipes, terminals and devices. A thread that waits in open(2) or read(2) can be ended by nothing but
 * kill -9, so these are opened without blocking, and pipes and terminals are polled by the event loop.
 */
import fs, { constants } from 'node:fs';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { ReadStream, isatty } from 'node:tty';
import { promisify } from 'node:util';
import { BUN } from './bun.ts';

const open = promisify(fs.open);
const stat = promisify(fs.fstat);

// Windows has no O_NONBLOCK: undefined counts as 0 in the sum of bits.
const { O_NONBLOCK, O_RDONLY } = constants;

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
  if (BUN !== undefined) return fs.createReadStream(path);
  const file = await open(path, O_RDONLY | O_NONBLOCK);
  if (isatty(file)) return new ReadStream(file);
  const found = await stat(file);
  // A FIFO that no program has opened for writing yet is silent, not at its end: the poll tells one from the other.
  if (found.isFIFO() || found.isSocket()) return new Socket({ fd: file, readable: true, writable: false });
  return fs.createReadStream(path, { fd: file });
}
