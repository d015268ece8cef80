/** What `doctor` finds: how it stands, in a sentence, and what to do about it. */
import type { JsonValue } from '../api/json.ts';
import { isFailure, Failure } from '../errors.ts';
import { describeFailure } from '../report/failures.ts';
import type { Format, RecordView, RowsView } from '../view/view.ts';

/** `note`: nothing was judged, it is good to know. `skip`: it could not, or was not to be, looked at. */
export type Health = 'ok' | 'note' | 'skip' | 'warn' | 'fail';

export interface Diagnosis {
  /** What was looked at: `config`, `dns`, … Scripts may rely on it. */
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

/** A failure in its own words. @throws what is no failure */
export function failed(id: string, error: unknown, now: number, health: 'warn' | 'fail' = 'fail'): Diagnosis {
  if (!isFailure(error)) throw error;
  const { message, hint } = describeFailure(error, now);
  return { id, health, says: message, fix: hint ?? 'See petstore help exit-codes.' };
}

const FIELDS = ['check', 'health', 'says', 'fix'] as const;

/** As sentences for people, as rows for programs; the command fails where a check did. */
export function diagnosisView(found: readonly Diagnosis[], output: Format): RecordView | RowsView<Diagnosis> {
  const sick = found.filter(({ health }) => health === 'fail').map(({ id }) => id);
  const judged = found.filter(({ health }) => health !== 'note' && health !== 'skip').length;
  const failure = sick.length > 0 ? new Failure('doctor-failed', { failed: sick, of: judged }) : undefined;
  if (output === 'table') {
    const margin = marginOf(found);
    return { view: 'record', text: asText(found, margin), margin, json: null, fields: [], ...(failure && { failure }) };
  }
  const cells = ({ id, health, says, fix = '' }: Diagnosis): Record<(typeof FIELDS)[number], string> => ({
    check: id,
    health,
    says,
    fix,
  });
  return {
    view: 'rows',
    columns: FIELDS.map((name) => ({ name, cell: (each: Diagnosis) => cells(each)[name] })),
    // eslint-disable-next-line @typescript-eslint/require-await -- a short list is a stream like any other
    rows: (async function* () {
      yield found;
    })(),
    json: (each) =>
      new Map<string, JsonValue>(
        Object.entries(cells(each)).map(([name, value]) => [name, name === 'fix' && value === '' ? null : value]),
      ),
    header: true,
    empty: '',
    check: () => failure,
  };
}

const HEALTH_WORDS: Readonly<Record<Health, string>> = {
  ok: 'ok',
  note: 'note',
  skip: 'skip',
  warn: 'WARN',
  fail: 'FAIL',
};

const MARK = 6;

/** Where what is said begins. */
function marginOf(found: readonly Diagnosis[]): number {
  return MARK + Math.max(0, ...found.map(({ id }) => id.length)) + 2;
}

function asText(found: readonly Diagnosis[], margin: number): string {
  const rest = ' '.repeat(margin);
  const lines = found.flatMap(({ id, health, says, fix }) => [
    `${HEALTH_WORDS[health].padEnd(MARK)}${id.padEnd(margin - MARK)}${says.replaceAll('\n', `\n${rest}`)}`,
    ...(fix === undefined ? [] : [`${rest}Fix: ${fix.replaceAll('\n', `\n${rest}`)}`]),
  ]);
  const count = (health: Health): number => found.filter((each) => each.health === health).length;
  const warnings = count('warn');
  return [
    ...lines,
    `${count('ok')} ok, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, ${count('fail')} failed`,
  ].join('\n');
}
