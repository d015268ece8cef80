/** `--events`: prints one object for each row of a run as it is applied, and one at the end. */
import { type JsonValue, stringifyJson } from '../api/json.ts';
import { type Failure, isFailure } from '../errors.ts';
import type { RecordView, RowsView, View } from '../view/view.ts';
import type { Outcome } from './runner.ts';

export type OnOutcome = (outcome: Outcome) => void;

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
    const waiting: JsonValue[] = [];
    let wake = (): void => undefined;
    let isOver = false;
    const running = work((outcome) => {
      waiting.push(eventOf(outcome));
      wake();
    }).finally(() => {
      isOver = true;
      wake();
    });
    const ended = running.then(
      (summary) => (failure = summary.failure),
      (error: unknown) => (failure = isFailure(error) ? error : undefined),
    );
    try {
      for (;;) {
        if (waiting.length > 0) yield waiting.splice(0);
        // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- the callback sets it
        else if (isOver) break;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
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
