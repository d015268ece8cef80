/** Asks questions on the terminal, on stderr because stdout is for data. */
import { PassThrough } from 'node:stream';
import confirm from '@inquirer/confirm';
import input from '@inquirer/input';
import password from '@inquirer/password';
import { Failure } from '../errors.ts';
import { type Prompt, reasonOf } from '../ports.ts';
import { onContinue } from './streams.ts';

export const nodePrompt: Prompt = {
  hidden: (question, signal) => ask(signal, (terminal) => password({ message: question, toggleMask: false }, terminal)),

  async text(question, fallback, signal, problemOf) {
    const validate = (answer: string): string | true => problemOf?.(answer.trim()) ?? true;
    const config = { message: question, validate, ...(fallback !== undefined && { default: fallback }) };
    return (await ask(signal, (terminal) => input(config, terminal))).trim();
  },

  confirm: (question, signal, fallback = false) =>
    ask(signal, (terminal) => confirm({ message: question, default: fallback }, terminal)),
};

const [TAB, LF, CR] = [9, 10, 13];

type Terminal = Parameters<typeof confirm>[1];

/** @throws {Failure} `cancelled` at Ctrl-D, `interrupted` at Ctrl-C or if the terminal is gone; the signal's reason */
async function ask<T>(signal: AbortSignal, start: (terminal: Terminal) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const keys = openKeys((reason) => {
    ended.abort(reason);
  });
  try {
    const terminal = { input: keys.input, output: process.stderr, signal: AbortSignal.any([signal, ended.signal]) };
    return await start(terminal);
  } catch (error) {
    if (signal.aborted) throw reasonOf(signal);
    if (ended.signal.aborted) throw reasonOf(ended.signal);
    if (error instanceof Error && error.name === 'ExitPromptError') {
      throw new Failure('interrupted', { signal: 'SIGINT', during: 'prompt' }, error);
    }
    throw error;
  } finally {
    keys.close();
  }
}

/**
 * Opens a separate stream of the terminal's keys: inquirer handles neither the end nor an error of stdin, and never
 * settles once Ctrl-D has closed its readline.
 */
function openKeys(onEnd: (reason: Failure) => void): { input: PassThrough; close(): void } {
  const { stdin } = process;
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => stdin.isTTY && stdin.setRawMode(isRaw),
  });
  let next: NodeJS.Immediate | undefined;
  const onData = (bytes: Uint8Array): void => {
    // What was typed ahead, as a scan after the answer, is for what reads the terminal next.
    const end = bytes.findIndex((byte, i) => byte === LF || (byte === CR && bytes[i + 1] !== LF)) + 1;
    if (end > 0 && end < bytes.length) {
      stdin.pause().unshift(bytes.subarray(end));
      next = setImmediate(() => stdin.resume());
    }
    // To inquirer, Tab turns No into Yes; some scanners type it after a code.
    input.write(bytes.subarray(0, end || bytes.length).filter((byte) => byte !== TAB));
  };
  // A terminal in raw mode ends only when it is closed, which may be noticed before SIGHUP.
  const end = (): void => {
    onEnd(new Failure('interrupted', { signal: 'SIGHUP' }));
  };
  const cancel = (): void => {
    onEnd(new Failure('cancelled', {}));
  };
  const onKey = (_text: unknown, key: { readonly ctrl?: boolean; readonly name?: string }): void => {
    // Readline closes at Ctrl-D only if the line is empty; then it leaves raw mode.
    const endIfClosed = (): void => {
      if (!stdin.isRaw) cancel();
    };
    if (key.ctrl === true && key.name === 'd') setImmediate(endIfClosed);
    if (key.name === 'escape') cancel();
  };
  input.on('keypress', onKey);
  // inquirer draws a question again only if its answer has changed: types a space, and takes it back.
  const forget = onContinue(() => input.resume().write(' \u007f'));
  stdin.on('data', onData).on('end', end).on('error', end);
  if (stdin.readableEnded || stdin.destroyed) cancel();
  stdin.resume();
  return {
    input,
    close() {
      stdin.pause();
      clearImmediate(next);
      forget();
      stdin.off('data', onData).off('end', end).off('error', end);
      input.destroy();
    },
  };
}
