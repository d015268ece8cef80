/** Runs the program on a pseudo-terminal. */
import { readSync } from 'node:fs';
import type { Socket } from 'node:net';
import { stripVTControlCharacters } from 'node:util';
import { type IPty, spawn } from '@lydell/node-pty';
import { errorCode } from '../../src/ports.ts';
import { cleanEnvironment, petstoreCommand, type PetstoreOptions } from './binary.ts';
import { onCleanup } from './cleanup.ts';
import { createHome } from './home.ts';

declare module '@lydell/node-pty' {
  interface IPty {
    destroy(): void;
    readonly fd: number;
    readonly _socket: Socket;
  }
}

/** End of synchronised output (DEC private mode 2026). */
const FRAME_END = '\u001b[?2026l';

export interface PtyOptions extends Pick<PetstoreOptions, 'home' | 'env' | 'cwd' | 'command'> {
  readonly cols?: number;
  readonly rows?: number;
}

export interface Pty {
  readonly pid: number;
  /** Types; `\r` is Enter, `\x03` Ctrl-C, `\x04` Ctrl-D. */
  write(text: string): void;
  /** Raw output so far. */
  readonly output: string;
  /** Returns it without escape sequences, with lines ending in `\n`. Keeps a `\r` that overwrites its line. */
  plain(): string;
  /** Resolves once the plain output since the last match has a match; rejects if the program ends before that. */
  waitFor(match: RegExp | string): Promise<void>;
  /** Types these keys, then waits for the text. */
  type(keys: string, match: RegExp | string): Promise<void>;
  /** Does the same once the full screen is completely drawn. */
  waitForFrame(match: RegExp | string): Promise<void>;
  resize(cols: number, rows: number): void;
  kill(signal: NodeJS.Signals): void;
  /** Sends the signal, and resolves once the program has ended. */
  end(signal: NodeJS.Signals): Promise<{ readonly code: number }>;
  /** Closes the terminal, as closing its window does. */
  hangUp(): void;
  /** Exit code as in a shell: 128 plus the signal's number if a signal ended it. */
  readonly exited: Promise<{ readonly code: number }>;
}

/** A command line, and what is typed while it runs. */
export interface Scene {
  readonly command: string;
  /** What is waited for, and what is typed then. */
  readonly typed?: readonly (readonly [RegExp, string])[];
  /** Is killed once this is seen. */
  readonly killedAt?: RegExp;
  /** True if it has the whole screen. */
  readonly isFullScreen?: boolean;
}

/** Plays a scene to its end. */
export async function play(
  { command, typed = [], killedAt, isFullScreen = false }: Scene,
  options: PtyOptions,
): Promise<Pty> {
  const words = command.match(/"[^"]*"|\S+/g)!.map((word) => word.replaceAll('"', ''));
  const pty = startPty(words.slice(1), options);
  const seen = (match: RegExp): Promise<void> => (isFullScreen ? pty.waitForFrame(match) : pty.waitFor(match));
  for (const [match, text] of typed) {
    await seen(match);
    pty.write(text);
  }
  if (killedAt !== undefined) {
    await seen(killedAt);
    pty.kill('SIGKILL');
  }
  await pty.exited;
  return pty;
}

export function startPty(args: readonly string[], options: PtyOptions = {}): Pty {
  const [file, ...first] = options.command ?? petstoreCommand();
  const terminal = spawn(file, [...first, ...args], {
    name: 'xterm-256color',
    cols: options.cols ?? 80,
    rows: options.rows ?? 24,
    cwd: options.cwd ?? process.cwd(),
    env: cleanEnvironment(options.home ?? createHome(), { TERM: 'xterm-256color', ...options.env }),
  });
  const destroyNow = readBeforeDestroyed(terminal);
  let output = '';
  let ended = false;
  let matched = 0;
  const watchers = new Set<() => void>();
  const plain = (): string => stripVTControlCharacters(output).replace(/\r+\n/g, '\n');
  const tell = (): void => {
    for (const watcher of watchers) watcher();
  };
  terminal.onData((piece) => {
    output += piece;
    tell();
  });
  const exited = new Promise<{ code: number }>((resolve) => {
    terminal.onExit(({ exitCode, signal = 0 }) => {
      ended = true;
      resolve({ code: signal === 0 ? exitCode : 128 + signal });
      tell();
    });
  });
  const waitFor = (match: RegExp | string, isWhole: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const watcher = (): void => {
        const end = endOfMatch(plain(), matched, match);
        const isFound = end !== undefined && isWhole();
        if (!isFound && !ended) return;
        watchers.delete(watcher);
        if (!isFound) reject(new Error(`The program ended without ${match}. It wrote:\n${plain()}`));
        else resolve(void (matched = end));
      };
      watchers.add(watcher);
      watcher();
    });
  const kill = (signal: NodeJS.Signals): void => {
    if (!ended) terminal.kill(signal);
  };
  onCleanup(async () => {
    kill('SIGKILL');
    await exited;
  });
  return {
    pid: terminal.pid,
    write: (text) => {
      terminal.write(text);
    },
    get output() {
      return output;
    },
    plain,
    waitFor: (match) => waitFor(match, () => true),
    type(keys, match) {
      this.write(keys);
      return this.waitFor(match);
    },
    waitForFrame: (match) => waitFor(match, () => output.endsWith(FRAME_END)),
    resize: (cols, rows) => {
      terminal.resize(cols, rows);
    },
    kill,
    end(signal) {
      kill(signal);
      return exited;
    },
    hangUp: () => {
      destroyNow();
      terminal.destroy();
    },
    exited,
  };
}

function endOfMatch(text: string, from: number, match: RegExp | string): number | undefined {
  const rest = text.slice(from);
  if (typeof match === 'string') {
    const index = rest.indexOf(match);
    return index < 0 ? undefined : from + index + match.length;
  }
  const found = match.exec(rest);
  return found === null ? undefined : from + found.index + found[0].length;
}

/** How often the rest is looked for, 20 ms apart, if another process still has the terminal open. */
const MOST_LOOKS = 50;

/**
 * Reads what is left before the socket ends or is destroyed: node-pty does that 200 ms after the exit, and libuv takes a
 * hang-up after a short read for the end, although Linux hands out at most 4,095 bytes at once. Returns what destroys the
 * socket at once.
 */
function readBeforeDestroyed({ fd, _socket: socket }: IPty): () => void {
  const destroy = socket.destroy.bind(socket);
  const push = socket.push.bind(socket);
  const pushRest = (): string | undefined => {
    const piece = Buffer.alloc(65_536);
    try {
      for (;;) push(Buffer.from(piece.subarray(0, readSync(fd, piece))));
    } catch (error) {
      return errorCode(error);
    }
  };
  const destroyWhenRead = (looks: number): void => {
    // A closed terminal's descriptor may already be another terminal's.
    if (!socket.destroyed && pushRest() === 'EAGAIN' && looks < MOST_LOOKS) {
      setTimeout(destroyWhenRead, 20, looks + 1);
    } else destroy();
  };
  socket.push = (piece: unknown, encoding?: BufferEncoding) => {
    if (piece === null) pushRest();
    return push(piece, encoding);
  };
  socket.destroy = (error) => {
    // The terminal itself has ended, and all is read.
    if (error !== undefined || socket.readableEnded) return destroy(error);
    destroyWhenRead(0);
    return socket;
  };
  return destroy;
}
