/** `--events`: prints one object for each row of a run as it is applied, and one at the end. */
import { EventEmitter, on } from 'node:events';
import { type JsonValue, stringifyJson } from '../api/json.ts';
import { type Failure, isFailure } from '../errors.ts';
import type { RecordView, RowsView, View } from '../view/view.ts';
import type { RowResult } from './runner.ts';

export type OnOutcome = (outcome: RowResult) => void;

/** @param work applies the run. With events, its summary is the last one. */
export function withEvents(
  isWanted: boolean | undefined,
  work: (onOutcome?: OnOutcome) => Promise<RecordView>,
): Promise<View> | View {
  return isWanted === true ? eventsView(work) : work();
}

function eventsView(work: (onOutcome: OnOutcome) => Promise<RecordView>): RowsView<JsonValue> {
  let failure: Failure | undefined;
  async function* events(): AsyncGenerator<JsonValue[]> {
    const run = new EventEmitter<{ row: [RowResult]; end: [] }>();
    const outcomes = on(run, 'row', { close: ['end'] }) as AsyncIterable<[RowResult]>;
    const running = work((outcome) => run.emit('row', outcome));
    const ended = running
      .then(
        (summary) => (failure = summary.failure),
        (error: unknown) => (failure = isFailure(error) ? error : undefined),
      )
      .finally(() => run.emit('end'));
    try {
      for await (const [outcome] of outcomes) yield [eventOf(outcome)];
      const { json } = await running;
      yield [new Map<string, JsonValue>([['event', 'end'], ...json])];
    } finally {
      // The run continues if its reader goes away.
      await ended;
    }
  }
  return {
    view: 'rows',
    format: 'ndjson',
    columns: [],
    rows: events(),
    jsonText: stringifyJson,
    header: false,
    isWork: true,
    empty: '',
    check: () => failure,
  };
}

function eventOf({ change, state, reason }: RowResult): JsonValue {
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
