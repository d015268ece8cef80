/** Journals a single write like a row of a run, for `inventory history` and `undo`. */
import type { Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { isFailure } from '../errors.ts';
import { isOutOfReach } from '../state/file.ts';
import type { Change, Journal } from '../state/journal.ts';
import { rowOutcome } from '../report/failures.ts';
import { midway, recordApplied } from './runner.ts';
import { type WithJournal, withWritableJournal } from './open-journal.ts';
import { whereOf } from './origin.ts';

type Write = Pick<Change, 'command' | 'petId' | 'before' | 'after'> & {
  /** Who asked for it; by default the user who runs petstore. */
  readonly person?: string;
};

/** Sends a write and records it; without a usable state folder it is only sent, and the ledger has warned already. */
export async function recorded<T>(
  context: CommandContext,
  session: Session,
  write: Write,
  send: () => Promise<T>,
  withJournal: WithJournal = (work) => withWritableJournal(context, work),
): Promise<T> {
  let hasBegun = false;
  try {
    return await withJournal((journal) => {
      hasBegun = true;
      return sendRecorded(context, session, write, journal, send);
    });
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- the callback sets it
    if (hasBegun || !isOutOfReach(error)) throw error;
    return send();
  }
}

async function sendRecorded<T>(
  context: CommandContext,
  session: Session,
  { command, person, ...change }: Write,
  journal: Journal,
  send: () => Promise<T>,
): Promise<T> {
  const { clock } = context;
  const where = { ...whereOf(context, session, command), ...(person !== undefined && { person }) };
  const id = await journal.sendOne(where, change, clock.now());
  let result: T;
  try {
    result = await send();
  } catch (error) {
    if (isFailure(error)) {
      const { continues: _, ...outcome } = rowOutcome(error);
      // It was not sent, and no run will send it later.
      const kept = outcome.state === 'planned' ? { state: 'failed' as const, reason: 'it was not sent' } : outcome;
      const noted = journal.settle(id, clock.now(), kept);
      await noted.catch((cause: unknown) => {
        if (!isFailure(cause)) throw cause;
        // The error itself tells the outcome of the write.
        context.notices.warning('What became of the write could not be noted in the history.');
      });
      // Where the quantity before is known, it was read first.
      if (change.before !== undefined) throw midway(error);
    }
    throw error;
  }
  const { environment } = session;
  await recordApplied({ ...change, environment }, () => journal.settle(id, clock.now(), { state: 'applied' }));
  return result;
}
