/** A single write, journaled like a row of a run: what `inventory history` and `undo` know of it. */
import type { Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { isFailure } from '../errors.ts';
import { isOutOfReach } from '../state/file.ts';
import type { Journal } from '../state/journal.ts';
import { rowOutcome } from '../report/failures.ts';
import { midway, recordApplied } from './runner.ts';
import { withWritableJournal } from './open-journal.ts';
import { whereOf } from './origin.ts';

export interface Write {
  readonly command: string;
  readonly petId: bigint;
  readonly before?: bigint;
  readonly after: bigint;
}

/** Where there is no state to keep a history in, the write is made without one: the ledger has said so already. */
export async function recorded<T>(
  context: CommandContext,
  session: Session,
  write: Write,
  send: () => Promise<T>,
): Promise<T> {
  let hasBegun = false;
  try {
    return await withWritableJournal(context, undefined, (journal) => {
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
  { command, ...change }: Write,
  journal: Journal,
  send: () => Promise<T>,
): Promise<T> {
  const { clock } = context;
  const id = await journal.sendOne(whereOf(context, session, command), change, clock.now());
  let result: T;
  try {
    result = await send();
  } catch (error) {
    if (isFailure(error)) {
      const { continues: _, ...outcome } = rowOutcome(error);
      // Nothing was done, and no run will take it up again.
      const kept = outcome.state === 'planned' ? { state: 'failed' as const, reason: 'it was not sent' } : outcome;
      const noted = journal.settle(id, clock.now(), kept);
      await noted.catch((cause: unknown) => {
        if (!isFailure(cause)) throw cause;
        // The error itself has to tell what became of the write.
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
