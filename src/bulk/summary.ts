/** Reports what became of a run: counts, the report file, and the failure that a script has to know. */
import type { JsonValue } from '../api/json.ts';
import type { CommandContext } from '../session/globals.ts';
import { resumeCommand } from '../session/run-commands.ts';
import { Failure } from '../errors.ts';
import { firstCause } from '../report/failures.ts';
import type { Journal, Run } from '../state/journal.ts';
import { confirmation, type RecordView } from '../view/view.ts';
import { type Counts, countStates, countWords } from './plan-view.ts';
import { abbreviated, writeReport } from './report-file.ts';
import { midway } from './runner.ts';

interface SummaryContext {
  readonly context: CommandContext;
  readonly journal: Journal;
}

/** Ends a run, unless rows are left, and returns its summary. */
export async function summarise(
  { context, journal }: SummaryContext,
  run: Run,
  stopped: Failure | undefined,
  unchanged: number,
): Promise<RecordView> {
  const { id, environment } = run;
  const { notices } = context;
  const changes = journal.changesOf(id);
  const counts = countStates(changes, unchanged);
  const resume = resumeCommand(run);
  if (counts.planned + counts.sent + counts.unknown === 0) await journal.end(id, context.clock.now());
  else notices.warning(`Run ${id} is unfinished. Resume it with: ${resume}`);
  const [only, ...others] = changes;
  const isOne = only !== undefined && others.length === 0;
  if (isOne && only.reason !== undefined) notices.warning(`Pet ${only.petId}: ${only.reason}.`);
  const report = isOne ? undefined : await writeReport(context, run, changes);
  const failure = failureOf(counts, stopped, resume, report);
  // Where rows have failed, the error names the report.
  if (report !== undefined && failure?.is('run-incomplete') !== true) {
    notices.info(`Report: ${abbreviated(report, context)}`);
  }
  const text =
    isOne && run.kind === 'undo' && only.state === 'applied'
      ? `Pet ${only.petId}: ${only.before} → ${only.after}. Undone.`
      : `Run ${id} (${run.kind}) in ${environment}: ${countWords(counts)}.`;
  return confirmation(text, summaryMembers({ run: id, environment, counts, report }), failure && { failure });
}

interface Summary {
  readonly run: bigint | undefined;
  readonly environment: string;
  readonly counts: Counts;
  readonly report?: string | undefined;
}

export function summaryMembers({ run, environment, counts, report }: Summary): [string, JsonValue][] {
  return [
    ['run', run ?? null],
    ['environment', environment],
    ['applied', counts.applied],
    ['unchanged', counts.unchanged],
    ['conflicts', counts.conflict],
    ['failed', counts.failed],
    ['unknown', counts.unknown],
    ['left', counts.planned + counts.sent],
    ['report', report ?? null],
  ];
}

/** Returns the failure of a run; with several causes, the one that a script has to know first. */
function failureOf(
  { unknown, failed, conflict: conflicts }: Counts,
  stopped: Failure | undefined,
  resume: string,
  report: string | undefined,
): Failure | undefined {
  const causes: Failure[] = stopped === undefined ? [] : [midway(stopped)];
  if (unknown > 0) causes.push(new Failure('run-unknown', { unknown, resume }));
  if (failed + conflicts > 0) causes.push(new Failure('run-incomplete', { failed, conflicts, report }));
  return firstCause(causes);
}
