/** Takes over the terminal: the alternate screen, and every key and mouse event. */
import { writeSync } from 'node:fs';
import { emitKeypressEvents, type Key as KeyPress } from 'node:readline';
import { PassThrough } from 'node:stream';
import { UNSAFE } from '../api/json.ts';
import { Failure } from '../errors.ts';
import type { FullScreen, Key, ScreenEvents } from '../ports.ts';
import { ESCAPE, nodeOutput, onContinue, withoutRest } from './streams.ts';

/**
 * Alternate screen, hidden cursor, no automatic wrap (a text that the terminal draws wider than we measure it is cut,
 * and moves no line); mouse clicks and wheel in SGR form.
 */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[?1000h\u001b[?1006h';
/** Also clears the screen: Linux's console, and GNU screen by default, have no other one. */
const LEAVE = '\u001b[?1006l\u001b[?1000l\u001b[?7h\u001b[?25h\u001b[2J\u001b[H\u001b[?1049l';

export function openScreen({ onKey, onRedraw, onEnd }: ScreenEvents): FullScreen {
  const { stdin, stdout } = process;
  const output = nodeOutput(1);
  /** False while the shell has the terminal. */
  let isOurs = false;
  const enter = (): void => {
    stdin.setRawMode(true);
    stdin.resume();
    isOurs = true;
    writeSync(1, ENTER);
  };
  const restore = (): void => {
    // The shell's screen must not be cleared.
    if (!isOurs) return;
    isOurs = false;
    try {
      if (stdin.isTTY) stdin.setRawMode(false);
      writeSync(1, LEAVE);
    } catch {
      // The terminal is gone.
    }
  };
  const stopListening = listen(onKey, () => {
    onEnd(new Failure('interrupted', { signal: 'SIGHUP' }));
  });
  // Not stdout's `resize`: it misses a size that changes and at once changes back, which cuts what the terminal shows.
  process.on('SIGWINCH', onRedraw).on('exit', restore);
  const forget = onContinue(() => {
    enter();
    // Also has Node look at the terminal's size.
    process.emit('SIGWINCH', 'SIGWINCH');
  }, restore);
  enter();
  return {
    get columns() {
      return stdout.columns || 80;
    },
    get rows() {
      return stdout.rows || 24;
    },
    write: (text) => (isOurs ? output.write(text) : Promise.resolve()),
    close() {
      restore();
      stopListening();
      process.off('SIGWINCH', onRedraw).off('exit', restore);
      forget();
    },
  };
}

function listen(onKey: (key: Key) => void, onGone: () => void): () => void {
  const { stdin } = process;
  // node:readline would treat mouse events as typed text.
  const keys = new PassThrough();
  // The only option used here: without it, Esc would wait for half a second.
  emitKeypressEvents(keys, ESCAPE as never);
  keys.on('keypress', (text: string | undefined, pressed: KeyPress) => {
    const { meta, sequence = '' } = pressed;
    // Esc and a key that arrive together, as over a slow line, look like one with Alt.
    const isAfterEscape = meta === true && sequence.length === 2;
    if (isAfterEscape) onKey(keyOf(undefined, { name: 'escape' }));
    onKey(isAfterEscape ? keyOf(sequence.slice(1), { ...pressed, meta: false }) : keyOf(text, pressed));
  });
  const mouse = mouseFilter(onKey, (piece) => keys.emit('data', piece));
  stdin.on('data', mouse).on('end', onGone).on('error', onGone);
  return () => {
    stdin.off('data', mouse).off('end', onGone).off('error', onGone).pause();
  };
}

// eslint-disable-next-line no-control-regex -- xterm's SGR form: button, column and row from 1, M pressed, m released
const MOUSE = /\u001b\[<(\d+);\d+;(\d+)([Mm])/;
// eslint-disable-next-line no-control-regex -- an incomplete one
const MOUSE_BEGUN = /\u001b\[(?:<[\d;]*|M[^]{0,2})?$/;
// eslint-disable-next-line no-control-regex -- the form of terminals without SGR: each number is a byte, plus 32
const OLD_MOUSE = /\u001b\[M([^])([^])([^])/g;
const BUTTONS: Readonly<Record<string, string>> = { '0M': 'click', '64M': 'wheelup', '65M': 'wheeldown' };

/** Returns a function that takes terminal input in pieces and passes it on without the mouse events. */
function mouseFilter(onMouse: (key: Key) => void, onRest: (rest: Buffer) => void): (piece: Buffer) => void {
  let held = '';
  return (piece) => {
    const typed = Buffer.from(withoutRest(piece)).toString('latin1').replace(/\r?\n/g, '\r');
    let text = (held + typed).replace(OLD_MOUSE, (found) => {
      const [button, column, row] = Array.from(found.slice(3), (byte) => byte.charCodeAt(0) - 32);
      return `\u001b[<${button};${column};${row}M`;
    });
    for (let found = MOUSE.exec(text); found !== null; found = MOUSE.exec(text)) {
      onRest(Buffer.from(text.slice(0, found.index), 'latin1'));
      text = text.slice(found.index + found[0].length);
      const [, button = '', row, end = ''] = found;
      const name = BUTTONS[button + end];
      if (name !== undefined) onMouse({ name, ctrl: false, shift: false, text: '', row: Number(row) - 1 });
    }
    held = MOUSE_BEGUN.exec(text)?.[0] ?? '';
    onRest(Buffer.from(text.slice(0, text.length - held.length), 'latin1'));
  };
}

function keyOf(text = '', { name = '', ctrl = false, meta = false, shift = false }: KeyPress): Key {
  // A barcode that is pasted from a chat or a workbook may have invisible marks around it.
  return { name, ctrl, shift, text: ctrl || meta ? '' : text.replace(UNSAFE, '') };
}
