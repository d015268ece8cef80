/** Rows as JSON, NDJSON and CSV: each streams, and writes nothing before the first rows are there. */
import { visible } from './sanitise.ts';
import type { Column, RowsView } from './view.ts';

type Text = AsyncGenerator<string, number>;

/** One item a line, so that a diff and `head` work on it too. The array is closed only when all rows are there. */
export async function* renderJson<Row>(view: RowsView<Row>): Text {
  let count = 0;
  for await (const batch of view.rows) {
    if (batch.length > 0)
      yield `${count === 0 ? '[\n' : ',\n'}  ${batch.map((row) => view.jsonText(row)).join(',\n  ')}`;
    count += batch.length;
  }
  yield count === 0 ? '[]\n' : '\n]\n';
  return count;
}

export async function* renderNdjson<Row>(view: RowsView<Row>): Text {
  let count = 0;
  for await (const batch of view.rows) {
    const lines = batch.map((row) => view.jsonText(row));
    // Without the copy that adding to the whole would take.
    lines.push('');
    yield lines.join('\n');
    count += batch.length;
  }
  return count;
}

/** RFC 4180 with line feeds. */
export async function* renderCsv<Row>(view: RowsView<Row>): Text {
  const { stringify } = await import('csv-stringify/sync');
  let header = view.header ? stringify([view.columns.map(({ name }) => csvText(name))]) : '';
  let count = 0;
  for await (const batch of view.rows) {
    count += batch.length;
    const text = header + csvLines(view, batch, stringify);
    header = '';
    if (text !== '') yield text;
  }
  if (header !== '') yield header;
  return count;
}

function csvLines<Row>(
  { columns }: RowsView<Row>,
  batch: readonly Row[],
  stringify: (rows: string[][]) => string,
): string {
  const lines = batch.map(
    (row) => plainLine(columns, row) ?? stringify([columns.map(({ cell }) => csvCell(cell(row)))]).slice(0, -1),
  );
  lines.push('');
  return lines.join('\n');
}

/** Text that no reader of CSV takes for anything else. */
const UNQUOTED = /^(?:[\w./:][\w ./:-]*)?$/;

/** Cells that need no quotes; undefined where one may need them. */
function plainLine<Row>(columns: readonly Column<Row>[], row: Row): string | undefined {
  let line = '';
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i]!;
    let text = column.plain?.(row);
    if (text === undefined) {
      const value = column.cell(row);
      if (typeof value === 'string' && !UNQUOTED.test(value)) return undefined;
      text = value.toString();
    }
    line = i === 0 ? text : `${line},${text}`;
  }
  return line;
}

export function csvCell(value: string | bigint | number): string {
  return typeof value === 'string' ? csvText(value) : value.toString();
}

/** What a spreadsheet would run as a formula begins with a quote instead (owasp.org, CSV injection). */
function csvText(text: string): string {
  return `${/^[=+\-@\t\r]/.test(text) ? "'" : ''}${visible(text)}`;
}
