/** The whole terminal: the alternate screen, and each key as it is pressed. */
import { writeSync } from 'node:fs';
import { Failure } from '../errors.ts';
import type { FullScreen, Key, ScreenEvents } from '../ports.ts';
import { nodeOutput } from './streams.ts';

/** The alternate screen, without a cursor. */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
/** How long Esc waits for what may follow it, in ms: a key such as an arrow comes as Esc and more. */
const ESCAPE_MS = 50;

interface KeyPress {
  readonly name?: string;
  readonly sequence?: string;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
  readonly shift?: boolean;
}

export function openScreen({ onKey, onRedraw, onEnd }: ScreenEvents): FullScreen {
  const { stdin, stdout } = process;
  const output = nodeOutput(1, () => stdout);
  let isShown = false;
  let isClosed = false;
  const enter = (): void => {
    stdin.setRawMode(true);
    stdin.resume();
    if (isShown) return;
    isShown = true;
    process.on('SIGTSTP', suspend);
    writeSync(1, ENTER);
  };
  const leave = (): void => {
    if (!isShown) return;
    isShown = false;
    process.off('SIGTSTP', suspend);
    restore();
  };
  const onKeyPress = (text: string | undefined, pressed: KeyPress): void => {
    const key = keyOf(text, pressed);
    if (key.ctrl && key.name === 'z' && process.platform !== 'win32') suspend();
    else onKey(key);
  };
  // The terminal is restored first: once its child has stopped, the shell has the terminal.
  const suspend = (): void => {
    leave();
    // As the terminal itself does it: for all programs of the pipeline.
    process.kill(0, 'SIGTSTP');
    // The signal is ignored where no shell could continue the program.
    setImmediate(() => {
      if (!isShown && !isClosed) onContinue();
    });
  };
  const onContinue = (): void => {
    enter();
    onRedraw();
  };
  const stopListening = listen(onKeyPress, () => {
    onEnd(new Failure('interrupted', { signal: 'SIGHUP' }));
  });
  stdout.on('resize', onRedraw);
  process.on('SIGCONT', onContinue).on('exit', leave);
  enter();
  return {
    get columns() {
      return stdout.columns || 80;
    },
    get rows() {
      return stdout.rows || 24;
    },
    write: (text) => output.write(text),
    close() {
      isClosed = true;
      leave();
      stopListening();
      stdout.off('resize', onRedraw);
      process.off('SIGCONT', onContinue).off('exit', leave);
    },
  };
}

function listen(onKeyPress: (text: string | undefined, pressed: KeyPress) => void, onGone: () => void): () => void {
  const { stdin } = process;
  const { emitKeypressEvents } = process.getBuiltinModule('node:readline');
  // Of an interface only this is used: without it, Esc would wait for half a second.
  emitKeypressEvents(stdin, { escapeCodeTimeout: ESCAPE_MS } as never);
  stdin.on('keypress', onKeyPress).on('end', onGone).on('error', onGone);
  return () => {
    stdin.off('keypress', onKeyPress).off('end', onGone).off('error', onGone).pause();
  };
}

function restore(): void {
  try {
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    writeSync(1, LEAVE);
  } catch {
    // The terminal has gone.
  }
}

function keyOf(text: string | undefined, { name = '', ctrl = false, meta = false, shift = false }: KeyPress): Key {
  const types = !ctrl && !meta && text !== undefined && /^[^\p{Cc}]+$/u.test(text);
  return { name, ctrl, shift, text: types ? text : '' };
}
