/** stdin, stdout and stderr as ports. */
import type { Readable, Writable } from 'node:stream';
import { type Input, type Output, OutputClosed } from '../ports.ts';
import { Failure } from '../errors.ts';
import { readPieces } from './special-files.ts';

/** Both are missing where the stream is not a terminal. */
type MaybeTerminal = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** @param isClosed whether there is nothing behind the stream; asked before the first write */
export function nodeOutput(stream: MaybeTerminal, isClosed: () => boolean = () => false): Output {
  let broken: Error | undefined;
  let isAsked = false;
  // Without a listener a closed pipe would be an uncaught exception; the callback of write() reports it.
  stream.on('error', (error: Error) => {
    broken ??= error;
  });
  return {
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.columns;
    },
    write: (text) =>
      new Promise((resolve, reject) => {
        if (!isAsked && isClosed()) broken ??= Object.assign(new Error('closed'), { code: 'EBADF' });
        isAsked = true;
        if (broken !== undefined) reject(outputFailure(broken));
        else
          stream.write(text, (error) => {
            if (error == null) resolve();
            else reject(outputFailure(error));
          });
      }),
  };
}

function outputFailure(error: Error & { code?: string }): Error {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') return new OutputClosed();
  return new Failure('output', { code: error.code ?? error.message }, error);
}

export function nodeInput(stream: () => Readable & { isTTY?: boolean }): Input {
  return {
    get isTTY() {
      return stream().isTTY === true;
    },
    stream: (signal) => readPieces(stream(), signal),
    async *lines(signal) {
      const { createInterface } = await import('node:readline');
      const reader = createInterface({ input: stream(), terminal: false, signal });
      try {
        yield* reader;
      } finally {
        reader.close();
      }
      if (signal.aborted) throw signal.reason;
    },
  };
}
