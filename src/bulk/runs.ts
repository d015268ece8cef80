/** `inventory runs`: lists imports, counts, edits and undos, and resumes those that were stopped. */
import { hash } from 'node:crypto';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { readText } from '../session/read-text.ts';
import { assertWriteAllowed } from '../session/write-policy.ts';
import { Failure } from '../errors.ts';
import type { Change, Journal, Run } from '../state/journal.ts';
import type { RecordView } from '../view/view.ts';
import { isLeft, resumeRun } from './apply.ts';
import { type OnOutcome } from './events.ts';
import { look } from './runner.ts';
import { withJournal, withLockedJournal } from './open-journal.ts';
import { assertSameOrigin, assertSameEnvironment } from './origin.ts';

export interface ResumeOptions {
  readonly journal?: string;
  /** A run's number, or true for the newest that was stopped. */
  readonly resume?: bigint | true;
}

/** Resumes the newest run that was stopped, or the one that is named. @throws {Failure} `cannot-resume` */
export async function resumeStopped(
  context: CommandContext,
  options: ResumeOptions,
  onOutcome?: OnOutcome,
): Promise<RecordView> {
  return withLockedJournal(context, options.journal, async (journal) => {
    const run = findRun(journal, options.resume);
    const { environment } = await context.settings();
    const again = `inventory import --resume ${run.id}`;
    assertSameEnvironment(environment.value, run, `Run ${run.id}`, again);
    await checkSource(context, run);
    await assertWriteAllowed(context, again);
    await using session = await connect(context, { isBulk: true });
    assertSameOrigin(session, run, `Run ${run.id}`, again);
    const runContext = { context, session, journal, journalFile: options.journal, onOutcome };
    return await resumeRun(runContext, run, await look(session.service, journal));
  });
}

function findRun(journal: Journal, wanted: ResumeOptions['resume']): Run {
  const hasRows = ({ id }: Run): boolean => journal.changesOf(id).length > 0;
  const run = typeof wanted === 'bigint' ? journal.run(wanted) : journal.unfinished().find(hasRows);
  const cannot = (problem: string, hint = 'See which there are: petstore inventory import --status'): Failure =>
    new Failure('cannot-resume', { problem, hint });
  if (run === undefined && wanted === true) {
    throw cannot(
      'No run was left unfinished',
      'To apply rows that failed, import the file again: only what still differs is sent.',
    );
  }
  if (run === undefined) throw cannot(`There is no run ${wanted}`);
  if (run.endedAt !== undefined) throw cannot(...whyDone(run, journal.changesOf(run.id)));
  // Its scans are not rows yet: to end the run here would lose them.
  if (run.kind === 'count' && !hasRows(run)) {
    throw cannot(
      `Stocktake ${run.id} is not over`,
      `Continue scanning: petstore --env ${run.environment} inventory count --resume ${run.id}`,
    );
  }
  return run;
}

/** Returns why a run that is done cannot be resumed, and what to do instead. */
function whyDone({ id, kind, source }: Run, changes: readonly Change[]): [problem: string, hint?: string] {
  const rest = changes.filter(({ state }) => state === 'failed' || state === 'conflict').length;
  if (rest === 0) return [`Run ${id} is done`];
  const problem = `Run ${id} is done, and ${rest} of its rows could not be applied`;
  if (kind !== 'import' || source === undefined)
    return [problem, 'Run the command again: it sends only what still differs.'];
  const file = source === '-' ? 'the same rows' : `the file ${source}`;
  return [problem, `Import ${file} again: only what still differs is sent.`];
}

/** Refuses a file that has changed since the user agreed to it. The rows themselves are in the journal. */
async function checkSource(context: CommandContext, { id, source, hash: before }: Run): Promise<void> {
  if (source === undefined || source === '-' || before === undefined) return;
  // A pipe gives what it holds once.
  if ((await context.files.facts(source).catch(() => undefined))?.kind === 'other') return;
  let text: string;
  try {
    text = await readText(context, source);
  } catch {
    if (context.signal.aborted) throw context.signal.reason;
    context.notices.info(`${source} is not there any more; run ${id} continues with its rows as they were.`);
    return;
  }
  if (hash('sha256', text) === before) return;
  throw new Failure('cannot-resume', {
    problem: `${source} has changed since run ${id} began`,
    hint: `Import it anew: petstore inventory import ${source} sends only what still differs.`,
  });
}

export async function unfinishedRuns(context: CommandContext, journal: string | undefined) {
  return withJournal(context, journal, (opened) =>
    opened.unfinished().map((run) => ({
      run: run.id,
      kind: run.kind,
      environment: run.environment,
      started: new Date(run.startedAt).toISOString(),
      source: run.source ?? '',
      left: opened.changesOf(run.id).filter(isLeft).length,
    })),
  );
}
