/** stdin, stdout and stderr as ports. */
import type { Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { type Input, type Output, OutputClosed, reasonOf } from '../ports.ts';
import { Failure, fileFailure, isFailure, usageFailure } from '../errors.ts';
import { endBySignal, mayBeTerminal, signalSelf } from './process.ts';

/** In bytes. */
const LONGEST_LINE = 65_536;
/** Options of readline: it waits so many ms after Esc, because an arrow key, for instance, is Esc and more bytes. */
export const ESCAPE = { escapeCodeTimeout: 50 };

/** Both are missing if the stream is not a terminal. */
type MaybeTerminal = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Reads the line that is being typed; what is printed meanwhile appears above it. */
let typing: Interface | undefined;

/**
 * Opens the stream at its first use. A pipe or plain file is known not to be a terminal without that: stderr is seldom
 * used, and opening it loads node:net. @param broken why nothing can be written
 */
export function nodeOutput(fd: 1 | 2, broken?: NodeJS.ErrnoException): Output {
  let opened: MaybeTerminal | undefined;
  const stream = (): MaybeTerminal =>
    // Without a listener a closed pipe would be an uncaught exception; the callback of write() reports it.
    (opened ??= (fd === 1 ? process.stdout : process.stderr).on('error', (error: NodeJS.ErrnoException) => {
      broken ??= error;
    }));
  const isTTY = mayBeTerminal(fd) && stream().isTTY === true;
  // While the program is stopped, the signal of another size goes to the shell. What reads keys looks at it itself.
  const seeSize = (): boolean => process.listenerCount('SIGTSTP') > 0 || process.emit('SIGWINCH', 'SIGWINCH');
  if (isTTY && fd === 2) process.on('SIGCONT', seeSize);
  return {
    isTTY,
    get columns() {
      return isTTY ? stream().columns || 80 : undefined;
    },
    write: (text) =>
      new Promise((resolve, reject) => {
        if (broken !== undefined) {
          reject(outputFailure(broken));
          return;
        }
        const isLine = fd === 2 && typeof text === 'string' && text.endsWith('\n');
        // A line that is typed over several rows is left alone: readline would clear as many rows of the output.
        const typed = isLine && typing?.line !== '' && typing?.getCursorPos().rows === 0 ? typing : undefined;
        if (typed !== undefined) stream().write('\r\u001b[K');
        stream().write(text, (error) => {
          if (error == null) resolve();
          else reject(outputFailure(error));
        });
        typed?.prompt(true);
      }),
  };
}

function outputFailure(error: NodeJS.ErrnoException): Error {
  if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED') return new OutputClosed();
  return new Failure('output', { code: error.code ?? error.message }, error);
}

export function nodeInput(stream: () => Readable & { isTTY?: boolean }): Input {
  return {
    get isTTY() {
      return stream().isTTY === true;
    },
    async *stream(signal) {
      const { readPieces } = await import('./special-files.ts');
      yield* readPieces(stream(), signal);
    },
    lines(signal) {
      const input = stream();
      // On a terminal readline reads key by key, so that stdin can be read again after Ctrl-D ends the lines. On a dumb
      // one it knows no Backspace, but the terminal itself does.
      const isTTY = input.isTTY === true;
      const terminal = isTTY && process.stderr.isTTY && process.env.TERM !== 'dumb';
      const output = terminal ? { output: process.stderr, prompt: '', historySize: 0, ...ESCAPE } : {};
      const reader = process.getBuiltinModule('node:readline').createInterface({ input, terminal, signal, ...output });
      if (!terminal) endAtLongLine(input);
      reader.once('close', withJobControl(reader));
      // A terminal that is closed ends no line: what was typed without Enter is dropped.
      const drop = (): void => void Object.assign(reader, { line: '' });
      if (terminal) {
        typing = reader;
        // Only notes the last byte.
        input.prependListener('end', drop).on('data', withoutRest);
      }
      // Start now, in raw mode, so that text typed from here on is echoed only once and not lost.
      const lines = reader[Symbol.asyncIterator]();
      return (async function* () {
        try {
          yield* lines;
        } catch (error) {
          if (isFailure(error)) throw error;
          if (!isTTY && !signal.aborted) throw fileFailure('read', 'stdin', error);
        } finally {
          reader.close();
          input.off('end', drop).off('data', withoutRest);
          typing = undefined;
          if (terminal && reader.line !== '') process.stderr.write('\n');
        }
        if (signal.aborted) throw reasonOf(signal);
        // A closed terminal may be noticed before SIGHUP. In raw mode nothing else ends it; elsewhere Ctrl-D does.
        const isGone = isTTY && (terminal || !process.getBuiltinModule('node:tty').isatty(0));
        if (isGone && (input.readableEnded || input.errored !== null)) {
          throw new Failure('interrupted', { signal: 'SIGHUP' });
        }
      })();
    },
  };
}

export const [LF, CR] = [10, 13];
let lastByte: number | undefined;

/**
 * Returns what was typed without the rest of an Enter: many scanners send CR and LF as two keys, and the CR may have
 * ended a question or a list of lines before. Notes the last byte for the next call, which may be another reader's.
 */
export function withoutRest(bytes: Uint8Array): Uint8Array {
  const isRest = lastByte === CR && bytes[0] === LF;
  lastByte = bytes.at(-1);
  return isRest ? bytes.subarray(1) : bytes;
}

/**
 * Has the keys Ctrl-C and Ctrl-Z of a line do what they do outside of raw mode, and draws the line again when the
 * program continues, below what the shell has printed. Returns a function that ends this.
 * @param before written before the line
 */
export function withJobControl(reader: Interface, before = ''): () => void {
  for (const signal of ['SIGINT', 'SIGTSTP'] as const) reader.on(signal, signalSelf.bind(undefined, signal));
  const leave = (): unknown => reader.terminal && process.stdin.setRawMode(false);
  return onContinue(() => {
    if (reader.terminal) process.stdin.setRawMode(true);
    // readline goes up to the first row of the line.
    process.stderr.write('\n'.repeat(reader.getCursorPos().rows) + before);
    process.emit('SIGWINCH', 'SIGWINCH');
    reader.prompt(true);
  }, leave);
}

/**
 * Calls `redraw`, which also turns raw mode on, each time the program continues after Ctrl-Z or SIGSTOP: readline does
 * not resume the input that it has paused, and the shell has used the terminal. Returns what ends this.
 * @param leave called before Ctrl-Z, SIGTSTP or SIGQUIT; turns raw mode off, which a shell such as dash does not
 */
export function onContinue(redraw: () => void, leave: () => void): () => void {
  const resume = (): void => {
    // After SIGSTOP the shell has turned raw mode off; Node, which thinks that it is on, would not turn it on again.
    if (process.stdin.isRaw) process.stdin.setRawMode(false);
    redraw();
  };
  let next: NodeJS.Immediate | undefined;
  // Once for the shell's signal and our own, as the terminal echoes keys for a moment.
  const later = (): void => {
    clearImmediate(next);
    next = setImmediate(() => (next = setImmediate(resume)));
  };
  // Stops the whole job, as the terminal does outside of raw mode: npx, or a script, would otherwise keep the terminal.
  // Without a shell that could continue the job, the system does not stop it, and it continues at once.
  const stop = (): void => {
    leave();
    process.off('SIGTSTP', stop);
    process.kill(0, 'SIGTSTP');
    process.on('SIGTSTP', stop);
    signalSelf('SIGCONT');
  };
  const quit = (): void => {
    leave();
    endBySignal('SIGQUIT');
  };
  process.on('SIGCONT', later).on('SIGTSTP', stop).on('SIGQUIT', quit);
  return () => {
    process.off('SIGCONT', later).off('SIGTSTP', stop).off('SIGQUIT', quit);
    clearImmediate(next);
  };
}

/** Limits the length of a line: readline buffers a line of any length. */
function endAtLongLine(input: Readable): void {
  let bytes = 0;
  input.on('data', (piece: Uint8Array) => {
    const end = Math.max(piece.lastIndexOf(10), piece.lastIndexOf(13));
    bytes = end === -1 ? bytes + piece.length : piece.length - end - 1;
    if (bytes > LONGEST_LINE) input.destroy(usageFailure(`A line of stdin is longer than ${LONGEST_LINE / 1024} KiB.`));
  });
}
