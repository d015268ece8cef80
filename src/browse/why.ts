/** Asks in `inventory browse` why the stock changes: for the history, and only where the user wants to say it. */
import { noteValue, wordValue } from '../cli/values.ts';
import { Failure, isFailure } from '../errors.ts';
import { describeFailure } from '../report/failures.ts';
import type { CommandContext, Why } from '../session/globals.ts';
import { canAsk } from '../session/resolve.ts';
import { CAUSES } from '../state/journal-rows.ts';
import type { Browser } from './browser.ts';

/** Returns the answers, of which an empty one says nothing; what was said before where they are refused. */
export async function askWhy(context: CommandContext, browser: Browser, before: Why): Promise<Why> {
  if (!canAsk(context)) throw new Failure('no-terminal', { what: 'the cause', instead: 'Use --cause and --note.' });
  const { clock, prompt, signal } = context;
  const given = { ...context.why, ...before };
  try {
    const word = await prompt.text(`Cause (${CAUSES.join(', ')})`, given.cause, signal);
    const cause = word === '' ? undefined : wordValue(CAUSES).parse(word, 'The cause');
    const text = await prompt.text('Note', given.note, signal);
    const note = text === '' ? undefined : noteValue.parse(text, 'The note');
    const said = [cause, note].filter((each) => each !== undefined).join(', ');
    browser.message = said === '' ? 'The history will have no cause.' : `For the history: ${said}.`;
    return { cause, note };
  } catch (error) {
    if (!isFailure(error) || error.is('interrupted')) throw error;
    browser.message = error.is('cancelled') ? '' : describeFailure(error, clock.now()).message;
    return before;
  }
}
