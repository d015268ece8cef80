/** `--events`: prints one object for each row of a run as it is applied, and one at the end. */
import { EventEmitter, on } from 'node:events';
import { jsonObject, type JsonValue, stringifyJson } from '../api/json.ts';
import { type Failure, isFailure, usageFailure } from '../errors.ts';
import type { CommandContext } from '../session/globals.ts';
import { list, type RecordView, type View } from '../view/view.ts';
import type { Change } from '../state/journal.ts';
import type { OnOutcome } from './runner.ts';

/** @param work applies the run. With events, its summary is the last one. @throws {Failure} `usage` */
export function withEvents(
  { globals }: CommandContext,
  isWanted: boolean | undefined,
  work: (onOutcome?: OnOutcome) => Promise<RecordView>,
): Promise<View> | View {
  if (isWanted !== true) return work();
  if (globals.output === 'csv') throw usageFailure('--events cannot be used with csv.', 'Use -o ndjson.');
  let failure: Failure | undefined;
  async function* events(): AsyncGenerator<JsonValue[]> {
    const run = new EventEmitter<{ row: [Change]; end: [] }>();
    const outcomes = on(run, 'row', { close: ['end'] }) as AsyncIterable<[Change]>;
    const running = work((row) => run.emit('row', row));
    const ended = running
      .then(
        (summary) => (failure = summary.failure),
        (error: unknown) => (failure = isFailure(error) ? error : undefined),
      )
      .finally(() => run.emit('end'));
    try {
      for await (const [{ line = null, petId, before = null, after, state, reason = null }] of outcomes)
        yield [jsonObject({ event: 'row', line, petId, before, after, state, reason })];
      const { json } = await running;
      yield [new Map<string, JsonValue>([['event', 'end'], ...json])];
    } finally {
      // The run continues if its reader goes away.
      await ended;
    }
  }
  const ndjson = { jsonText: stringifyJson, header: false, format: 'ndjson', isWork: true } as const;
  return { ...list<JsonValue>([], {}, { ...ndjson, check: () => failure }), rows: events() };
}
