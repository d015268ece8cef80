/** A view -> text, in the format asked for. */
import { stringifyJson } from '../api/json.ts';
import { csvCell, renderCsv, renderJson, renderNdjson } from './formats.ts';
import { visibleLines } from './sanitise.ts';
import { prepareWidths, wrapLine } from './width.ts';
import type { Screen } from './table.ts';
import { type Format, jsonCell, type RecordView, type StreamView, type View } from './view.ts';

/** Text in pieces, or bytes as they came; returns the number of rows. */
export async function* render(
  view: View,
  options: Screen & { format: Format },
): AsyncGenerator<string | Uint8Array, number> {
  switch (view.view) {
    case 'rows':
      switch (view.format ?? options.format) {
        case 'table':
          return yield* (await import('./table.ts')).renderTable(view, options);
        case 'json':
          return yield* renderJson(view);
        case 'ndjson':
          return yield* renderNdjson(view);
        case 'csv':
          return yield* renderCsv(view);
      }
    // eslint-disable-next-line no-fallthrough -- every format has returned
    case 'chart':
      return yield* (await import('./chart.ts')).renderChart(view, options);
    case 'stream':
      return yield* renderStream(view, options);
    case 'record':
      yield await renderRecord(view, options);
      return 1;
    case 'serving':
      yield await renderRecord(view.record, options);
      await view.ended();
      return 1;
    case 'raw': {
      if (view.head !== '') yield `${visibleLines(view.head)}\n`;
      if (view.body.length === 0) return 1;
      const text = Buffer.from(view.body).toString('utf8');
      yield options.isTTY ? `${visibleLines(text.replace(/\n$/, ''))}\n` : view.body;
      return 1;
    }
    case 'text':
      yield `${visibleLines(view.text)}\n`;
      return 1;
    case 'nothing':
      return 0;
  }
}

async function* renderStream(
  view: StreamView,
  { format, isTTY, style }: Screen & { format: Format },
): AsyncGenerator<string, number> {
  let count = 0;
  for await (const event of view.events) {
    count++;
    if (format !== 'table' || !isTTY) yield `${stringifyJson(view.json(event))}\n`;
    else {
      const { text, isNews } = view.text(event);
      const shown = visibleLines(text);
      yield `${isNews ? style.yellow(shown) : shown}\n`;
    }
  }
  return count;
}

async function renderRecord(
  view: RecordView,
  { format, width, isTTY, redact }: Screen & { format: Format },
): Promise<string> {
  if (format === 'table') {
    const text = visibleLines(redact(view.text));
    const { margin } = view;
    if (margin === undefined || !isTTY || width === undefined) return `${text}\n`;
    const lines = text.split('\n');
    await prepareWidths(lines);
    return `${lines.map((line) => wrapLine(line, width, margin)).join('\n')}\n`;
  }
  if (format !== 'csv') return `${stringifyJson(view.json)}\n`;
  const { stringify } = await import('csv-stringify/sync');
  const members = view.csv ?? [...view.json];
  return stringify([members.map(([name]) => name), members.map(([, value]) => csvCell(jsonCell(value)))]);
}
