/** Questions on the terminal. They are asked on stderr: stdout is for data. */
import type { Prompt } from '../ports.ts';

const context = (signal: AbortSignal) => ({ output: process.stderr, input: process.stdin, signal });

export const nodePrompt: Prompt = {
  async hidden(question, signal) {
    const { default: password } = await import('@inquirer/password');
    return orReason(signal, password({ message: question }, context(signal)));
  },

  async text(question, fallback, signal) {
    const { default: input } = await import('@inquirer/input');
    const config = { message: question, ...(fallback !== undefined && { default: fallback }) };
    return (await orReason(signal, input(config, context(signal)))).trim();
  },

  async confirm(question, signal, fallback = false) {
    const { default: confirm } = await import('@inquirer/confirm');
    return orReason(signal, confirm({ message: question, default: fallback }, context(signal)));
  },
};

/** inquirer answers Ctrl-C with an error of its own: it becomes the signal. */
async function orReason<T>(signal: AbortSignal, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && error.name === 'ExitPromptError') {
      const { Failure } = await import('../errors.ts');
      throw new Failure('interrupted', { signal: 'SIGINT' }, error);
    }
    throw signal.aborted ? signal.reason : error;
  }
}
