/** A run as it happens: one object for each row, and one for its end. */
import type { JsonValue } from '../api/json.ts';
import type { Failure } from '../errors.ts';
import type { RecordView, RowsView } from '../view/view.ts';
import type { Outcome } from './runner.ts';

export type OnOutcome = (outcome: Outcome) => void;

/** @param work carries the run out; its summary is the last event */
export function eventsView(work: (onOutcome: OnOutcome) => Promise<RecordView>): RowsView<JsonValue> {
  let failure: Failure | undefined;
  async function* events(): AsyncGenerator<JsonValue[]> {
    let waiting: JsonValue[] = [];
    let wake = (): void => undefined;
    let summary: RecordView | undefined;
    let problem: { readonly error: unknown } | undefined;
    const running = work((outcome) => {
      waiting.push(eventOf(outcome));
      wake();
    }).then(
      (view) => {
        summary = view;
        wake();
      },
      (error: unknown) => {
        problem = { error };
        wake();
      },
    );
    while (summary === undefined && problem === undefined) {
      if (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      const batch = waiting;
      waiting = [];
      if (batch.length > 0) yield batch;
    }
    await running;
    if (waiting.length > 0) yield waiting;
    if (problem !== undefined) throw (problem as { error: unknown }).error;
    const { json, failure: found } = summary as unknown as RecordView;
    failure = found;
    yield [new Map<string, JsonValue>([['event', 'end'], ...(json as ReadonlyMap<string, JsonValue>)])];
  }
  return {
    view: 'rows',
    format: 'ndjson',
    columns: [],
    rows: events(),
    json: (event) => event,
    header: false,
    empty: '',
    check: () => failure,
  };
}

function eventOf({ change, state, reason }: Outcome): JsonValue {
  return new Map<string, JsonValue>([
    ['event', 'row'],
    ['line', change.line ?? null],
    ['petId', change.petId],
    ['before', change.before ?? null],
    ['after', change.after],
    ['state', state],
    ['reason', reason ?? null],
  ]);
}
