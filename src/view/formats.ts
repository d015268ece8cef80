/**
 * Renders a view as text in the requested format. JSON, NDJSON and CSV stream, and write nothing before the first rows
 * have arrived.
 */
import { stringifyJson } from '../api/json.ts';
import { visible, visibleLines } from './words.ts';
import type { Screen } from './table.ts';
import {
  type CellValue,
  type Column,
  type Format,
  FORMAT_FACTS,
  jsonCell,
  type RecordView,
  type RowsView,
  type View,
} from './view.ts';
import { forPeople } from './style.ts';

/** Yields text in pieces, or raw bytes. Returns the number of rows. */
export async function* render(
  view: View,
  options: Screen & { format: Format },
): AsyncGenerator<string | Uint8Array, number> {
  switch (view.view) {
    case 'rows':
      return yield* WRITERS[view.format ?? options.format].rows(view, options);
    case 'stream':
      for await (const { isNews, json, ...line } of view.events) {
        if (FORMAT_FACTS[options.format].isForPeople) {
          const text = await recordText(line, options);
          yield isNews ? options.style.heading(text) : text;
        } else yield `${stringifyJson(json)}\n`;
      }
      return 0;
    case 'record':
      yield await WRITERS[options.format].record(view, options);
      await view.ended?.();
      return 1;
    case 'raw': {
      if (view.head !== undefined) yield `${visibleLines(view.head)}\n`;
      if (view.body.length === 0) return 1;
      const text = Buffer.from(view.body).toString('utf8').replace(/\n$/, '');
      if (view.margin !== undefined) yield await recordText({ text, margin: view.margin }, options);
      else yield options.width !== undefined ? `${visibleLines(text)}\n` : view.body;
      return 1;
    }
  }
}

type Text = AsyncGenerator<string, number>;

/** A format's renderers: of many rows, and of one record. */
interface Writer {
  rows(view: RowsView, screen: Screen): Text;
  record(view: RecordView, screen: Screen): string | Promise<string>;
}

const WRITERS: Readonly<Record<Format, Writer>> = {
  table: {
    async *rows(view, screen) {
      return yield* (await import('./table.ts')).renderTable(view, screen);
    },
    record: recordText,
  },
  json: { rows: renderJson, record: recordJson },
  ndjson: { rows: (view) => linesOf(view, view.jsonText), record: recordJson },
  csv: { rows: renderCsv, record: recordCsv },
};

async function recordText(
  { text, margin }: Pick<RecordView, 'text' | 'margin'>,
  { width, redact, style }: Screen,
): Promise<string> {
  const lines = visibleLines(redact(text)).split('\n');
  return `${await forPeople(lines, { width, style, margin })}\n`;
}

function recordJson({ json }: RecordView): string {
  return `${stringifyJson(json)}\n`;
}

async function recordCsv(view: RecordView): Promise<string> {
  const { stringify } = await import('csv-stringify/sync');
  const members = view.csv ?? [...view.json];
  return stringify([members.map(([name]) => name), members.map(([, value]) => csvCell(jsonCell(value)))]);
}

/** Writes one item per line, for diff and `head`. Closes the array only after all rows. */
async function* renderJson<Row>(view: RowsView<Row>): Text {
  let count = 0;
  for await (const batch of view.rows) {
    if (batch.length > 0)
      yield `${count === 0 ? '[\n' : ',\n'}  ${batch.map((row) => view.jsonText(row)).join(',\n  ')}`;
    count += batch.length;
  }
  yield count === 0 ? '[]\n' : '\n]\n';
  return count;
}

/** RFC 4180, but with line feeds. */
async function* renderCsv<Row>(view: RowsView<Row>): Text {
  const { stringify } = await import('csv-stringify/sync');
  const header = view.header ? stringify([view.columns.map(({ name }) => csvText(name))]) : '';
  // Many readers skip an empty line, so a cell that is alone and empty is quoted.
  const lineOf = (row: Row) => (view.csvText?.(row) ?? csvLine(view.columns, row, stringify)) || '""';
  return yield* linesOf(view, lineOf, header);
}

/** Yields a line for each row. The header comes with the first rows. */
async function* linesOf<Row>(view: RowsView<Row>, lineOf: (row: Row) => string, header = ''): Text {
  let head = header;
  let count = 0;
  for await (const batch of view.rows) {
    if (batch.length === 0) continue;
    count += batch.length;
    const lines = batch.map((row) => lineOf(row));
    // Avoids a copy of the whole text.
    lines.push('');
    yield head + lines.join('\n');
    head = '';
  }
  if (head !== '') yield head;
  return count;
}

/** Text that needs no quotes in CSV. */
const UNQUOTED = /^(?:[\w./:][\w ./:-]*)?$/;

function csvLine<Row>(columns: readonly Column<Row>[], row: Row, stringify: (rows: string[][]) => string): string {
  let line = '';
  for (let i = 0; i < columns.length; i++) {
    const value = columns[i]!.cell(row);
    if (typeof value === 'string' && !UNQUOTED.test(value)) {
      return stringify([columns.map(({ cell }) => csvCell(cell(row)))]).slice(0, -1);
    }
    line += (i === 0 ? '' : ',') + csvCell(value);
  }
  return line;
}

export function csvCell(value: CellValue): string {
  if (typeof value === 'string') return csvText(value);
  return value instanceof Date ? value.toISOString() : value.toString();
}

/**
 * Puts a quote before a text that a spreadsheet would run as a formula, in Japanese also `＝` (owasp.org, CSV injection),
 * and before one that has such a quote already, because an import removes one.
 */
function csvText(text: string): string {
  return `${/^'*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r]/.test(text) ? "'" : ''}${visible(text)}`;
}
