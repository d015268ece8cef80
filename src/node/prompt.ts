/** Asks questions on the terminal, on stderr because stdout is for data. */
import type { Key } from 'node:readline';
import { createInterface } from 'node:readline/promises';
import { PassThrough } from 'node:stream';
import { isatty, ReadStream } from 'node:tty';
import { Failure, stoppedByUser } from '../errors.ts';
import { type Prompt, reasonOf } from '../ports.ts';
import { CR, ESCAPE, LF, withJobControl, withoutRest } from './streams.ts';

/** Up to how many bytes a line is edited as if each was typed. */
const LONGEST_TYPED = 1_000;

export const nodePrompt: Prompt = {
  hidden: (question, signal) => ask(`${question} (not shown)`, signal, true),

  async text(question, fallback, signal, problemOf) {
    for (;;) {
      const typed = (await ask(fallback === undefined ? question : `${question} (${fallback})`, signal)).trim();
      const answer = typed === '' ? (fallback ?? '') : typed;
      const problem = problemOf?.(answer);
      if (problem === undefined) return answer;
      process.stderr.write(`${problem}\n`);
    }
  },

  async confirm(question, signal, fallback = false) {
    const problemOf = (typed: string) => (/^(y|yes|n|no)?$/i.test(typed) ? undefined : 'Type y or n.');
    const answer = await this.text(`${question} (${fallback ? 'Y/n' : 'y/N'})`, undefined, signal, problemOf);
    return answer === '' ? fallback : /^y/i.test(answer);
  },
};

/** @throws {Failure} `cancelled` at Ctrl-D and Esc, `interrupted` if the terminal is gone; the signal's reason */
async function ask(question: string, signal: AbortSignal, isHidden = false): Promise<string> {
  const { stderr } = process;
  // Ctrl-D on a dumb terminal has ended the lines that were read before; the terminal itself can be read again.
  const stdin = process.stdin.readableEnded ? new ReadStream(0) : process.stdin;
  const prompt = question.includes('?') ? `${question} ` : `${question}: `;
  const input = Object.assign(new PassThrough(), { setRawMode: (isRaw: boolean) => stdin.setRawMode(isRaw) });
  // A dumb terminal edits the line itself, as the cursor cannot be moved. This readline edits a hidden one there, too.
  const terminal = isHidden || process.env.TERM !== 'dumb';
  const output = isHidden ? undefined : stderr;
  const reader = createInterface({ input, output, terminal, prompt, historySize: 0, signal, ...ESCAPE });
  const { promise: answered, resolve, reject } = Promise.withResolvers<string>();
  const onData = (piece: Uint8Array): void => {
    const bytes = withoutRest(piece);
    // What was typed ahead, as a scan after the answer, is for what reads the terminal next.
    const end = bytes.findIndex((byte, i) => byte === LF || (byte === CR && bytes[i + 1] !== LF)) + 1;
    if (end > 0 && end < bytes.length) stdin.pause().unshift(bytes.subarray(end));
    const typed = bytes.subarray(0, end || bytes.length);
    // As if typed: readline loses count of the rows of a text that arrives whole, as a pasted one. A long one would take
    // too much time.
    if (reader.line.length + typed.length > LONGEST_TYPED) input.write(typed);
    else for (const byte of typed) input.write(Uint8Array.of(byte));
  };
  const cancel = (): void => {
    reject(new Failure('cancelled', {}));
  };
  // A terminal in raw mode ends only when it is closed, which may be noticed before SIGHUP; a dumb one at Ctrl-D, too.
  const end = (): void => {
    reject(terminal || !isatty(0) ? new Failure('interrupted', { signal: 'SIGHUP' }) : new Failure('cancelled', {}));
  };
  reader.on('line', resolve).on('close', cancel);
  input.on('keypress', (_text: unknown, { meta = false, name }: Key) => {
    // Esc and n that arrive together, as over a slow line, look like Alt-n, and Enter alone may mean yes.
    if (name === 'escape' || (meta && name === 'n')) cancel();
  });
  // readline shows nothing of a hidden line.
  const shown = isHidden ? prompt : '';
  const forget = withJobControl(reader, shown);
  stdin.on('data', onData).on('end', end).on('error', end).resume();
  stderr.write(shown);
  reader.prompt();
  let isShown = isHidden;
  try {
    return await answered;
  } catch (error) {
    isShown = true;
    if (signal.aborted) throw stoppedByUser(reasonOf(signal), 'prompt');
    throw error;
  } finally {
    if (isShown) stderr.write('\n');
    stdin.pause();
    forget();
    reader.close();
    stdin.off('data', onData).off('end', end).off('error', end);
    if (stdin !== process.stdin) stdin.destroy();
  }
}
