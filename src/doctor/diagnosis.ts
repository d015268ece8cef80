/** What `doctor` finds: the result in a sentence, and how to fix it. */
import { isFailure, Failure } from '../errors.ts';
import { describeFailure } from '../report/failures.ts';
import { type Format, list, record, type RecordView, type RowsView } from '../view/view.ts';
import { plural } from '../view/words.ts';

/** `note`: information without a verdict. `skip`: not checked. */
export type Health = 'ok' | 'note' | 'skip' | 'warn' | 'fail';

export interface Diagnosis {
  /** The check: `config`, `dns`, … Scripts may rely on it. */
  readonly id: string;
  readonly health: Health;
  readonly says: string;
  /** Always with `warn` and `fail`. */
  readonly fix?: string;
}

export const ok = (id: string, says: string): Diagnosis => ({ id, health: 'ok', says });
export const note = (id: string, says: string): Diagnosis => ({ id, health: 'note', says });
export const skipped = (id: string, says: string): Diagnosis => ({ id, health: 'skip', says });
export const warn = (id: string, says: string, fix: string): Diagnosis => ({ id, health: 'warn', says, fix });
export const bad = (id: string, says: string, fix: string): Diagnosis => ({ id, health: 'fail', says, fix });

/** A failure in its own words. @throws anything that is not a Failure */
export function failed(id: string, error: unknown, now: number, health: 'warn' | 'fail' = 'fail'): Diagnosis {
  if (!isFailure(error)) throw error;
  const { message, hint } = describeFailure(error, now);
  return { id, health, says: message, fix: hint ?? 'See: petstore help exit-codes' };
}

/** As sentences for people, as rows for programs; the command fails where a check did. */
export function diagnosisView(found: readonly Diagnosis[], output: Format): RecordView | RowsView<Diagnosis> {
  const sick = found.filter(({ health }) => health === 'fail').map(({ id }) => id);
  const judged = found.filter(({ health }) => health !== 'note' && health !== 'skip').length;
  const failure = sick.length > 0 ? new Failure('doctor-failed', { failed: sick, of: judged }) : undefined;
  if (output === 'table') {
    const margin = MARK + Math.max(0, ...found.map(({ id }) => id.length)) + 2;
    return record(asText(found, margin), [], { margin, ...(failure && { failure }) });
  }
  return list(
    found,
    { check: ({ id }) => id, health: ({ health }) => health, says: ({ says }) => says, fix: ({ fix }) => fix },
    { check: () => failure },
  );
}

const MARK = 6;

function asText(found: readonly Diagnosis[], margin: number): string {
  const rest = ' '.repeat(margin);
  const mark = (health: Health): string => (health === 'warn' || health === 'fail' ? health.toUpperCase() : health);
  const lines = found.flatMap(({ id, health, says, fix }) => [
    `${mark(health).padEnd(MARK)}${id.padEnd(margin - MARK)}${says.replaceAll('\n', `\n${rest}`)}`,
    ...(fix === undefined ? [] : [`${rest}Fix: ${fix.replaceAll('\n', `\n${rest}`)}`]),
  ]);
  const how = (health: Health): number => found.filter((each) => each.health === health).length;
  return [...lines, `${how('ok')} ok, ${plural(how('warn'), 'warning')}, ${how('fail')} failed`].join('\n');
}
