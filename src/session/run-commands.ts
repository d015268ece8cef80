/** Commands that messages propose: to resume, discard or undo a run. */
import type { Run, RunSummary } from '../state/journal.ts';
import type { ResolvedSettings } from './resolve.ts';

/** Returns the command that resumes a run, whatever the environment of the next shell. */
export function resumeCommand(run: Pick<Run, 'environment' | 'id'> & Partial<RunSummary>): string {
  const { environment, id, kind, left } = run;
  // A stocktake that is still counting has no rows yet.
  const command = kind === 'count' && left === 0 ? 'inventory count --resume' : 'inventory runs resume';
  return `petstore --env ${environment} ${command} ${id}`;
}

/** Returns the command that gives up what is left of a run. */
export function discardCommand({ environment, id }: Pick<Run, 'environment' | 'id'>): string {
  return `petstore --env ${environment} inventory runs discard ${id}`;
}

/** Returns the command that takes back the last one: in another environment than that of the next shell, with --env. */
export function undoCommand({ environment: { value, source } }: ResolvedSettings): string {
  return `petstore ${source.from === 'flag' ? `--env ${value} ` : ''}inventory undo`;
}
