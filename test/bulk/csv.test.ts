import { stringify } from 'csv-stringify/sync';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CsvError, readCsv } from '../../src/bulk/csv.ts';
import { decodeText } from '../../src/bulk/decode.ts';
import { parseRows } from '../../src/bulk/rows.ts';
import { scaled } from '../support/scale.ts';

const cellsOf = (text: string, delimiter = ',') => [...readCsv(text, delimiter)].map(({ cells }) => cells);

describe('cells', () => {
  it.each([
    ['', []],
    ['\n', [['']]],
    ['a', [['a']]],
    ['a,', [['a', '']]],
    [',a\n', [['', 'a']]],
    ['a\n\nb', [['a'], [''], ['b']]],
    ['a\r\nb\rc\n', [['a'], ['b'], ['c']]],
    ['"a,b"', [['a,b']]],
    ['"a""b"', [['a"b']]],
    ['"",""', [['', '']]],
    ['"a\r\nb",c', [['a\r\nb', 'c']]],
    [' a , b', [[' a ', ' b']]],
    [' "a" , b"c"', [['a', ' b"c"']]],
  ])('%j', (text, cells) => {
    expect(cellsOf(text)).toEqual(cells);
  });

  it.each(['"', 'a,"b', '"a"b', '"a" "b"', '"a""', '"5" collar",7'])('%j is refused', (text) => {
    expect(() => cellsOf(text)).toThrow(CsvError);
  });

  it('each record has the line where it begins, whatever the lines end with', () => {
    const text = 'a\n"b\n\nc",d\ne\n\n"\n"\nf';
    for (const end of ['\n', '\r\n', '\r']) {
      const records = [...readCsv(text.replaceAll('\n', end), ',', 10)];
      expect(records.map(({ line }) => line)).toEqual([10, 11, 14, 15, 16, 18]);
    }
  });
});

const DELIMITERS = [',', ';', '\t', '|'];
const ENDS = ['\n', '\r\n', '\r'];
const RUNS = scaled(3_000);

const cell = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', '7', ' ', '"', ',', ';', '\t', '|', '\n', '\r', "'", '=', 'ö', '日') }),
  fc.string({ unit: 'grapheme' }),
  fc.bigInt().map(String),
);
const table = fc
  .integer({ min: 1, max: 5 })
  .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 6 }));

/** Writes a cell as a program may: quoted where it must be, and sometimes where it need not. */
function written(text: string, delimiter: string, quotes: boolean): string {
  const mustQuote = /["\r\n]/.test(text) || text.includes(delimiter);
  return quotes || mustQuote ? `"${text.replaceAll('"', '""')}"` : text;
}

describe('a table that is written reads back exactly', () => {
  it('by csv-stringify', () => {
    fc.assert(
      fc.property(
        table,
        fc.constantFrom(...DELIMITERS),
        fc.constantFrom(...ENDS),
        fc.boolean(),
        (rows, delimiter, end, quoted) => {
          const text = stringify(rows, {
            delimiter,
            record_delimiter: end,
            quoted,
            quoted_match: /[\r\n]/,
            quoted_string: true,
          });
          expect(cellsOf(text, delimiter)).toEqual(rows);
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('by hand, with quotes where they are not needed; as csv-parse reads it', () => {
    fc.assert(
      fc.property(
        table,
        fc.constantFrom(...DELIMITERS),
        fc.constantFrom('\n', '\r\n'),
        fc.infiniteStream(fc.boolean()),
        (rows, delimiter, end, coins) => {
          const quote = (): boolean => coins.next().value === true;
          const text = rows
            .map((cells) => cells.map((each) => written(each, delimiter, quote())).join(delimiter) + end)
            .join('');
          expect(cellsOf(text, delimiter)).toEqual(rows);
          // An empty line is a record without cells to them.
          const isThere = (cells: readonly string[]): boolean => cells.length > 1 || cells[0] !== '';
          const theirs: string[][] = parse(text, { delimiter, record_delimiter: end });
          expect(theirs.filter(isThere)).toEqual(rows.filter(isThere));
        },
      ),
      { numRuns: RUNS },
    );
  });
});

const ENCODINGS = ['utf-8', 'utf-8 with a BOM', 'utf-16le', 'utf-16be'] as const;

function encoded(text: string, encoding: (typeof ENCODINGS)[number]): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text);
  const marked = `\ufeff${text}`;
  if (encoding === 'utf-8 with a BOM') return Buffer.from(marked);
  const units = Buffer.from(marked, 'utf16le');
  return encoding === 'utf-16be' ? units.swap16() : units;
}

const HEADINGS = ['petId', 'Pet ID', 'pet_id', 'PETID', ' pet-id '];

it('a delivery reads back exactly, whatever the delimiter, quotes, line ends, encoding and other columns', () => {
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const lines = fc.uniqueArray(fc.tuple(int64, int64, cell), {
    selector: ([petId]) => petId,
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(
      lines,
      fc.record({
        delimiter: fc.constantFrom(...DELIMITERS),
        end: fc.constantFrom(...ENDS),
        encoding: fc.constantFrom(...ENCODINGS),
        heading: fc.constantFrom(...HEADINGS),
        sep: fc.boolean(),
        quoted: fc.boolean(),
        blanks: fc.boolean(),
      }),
      (rows, { delimiter, end, encoding, heading, sep, quoted, blanks }) => {
        const table = [
          [heading, 'Note, or; name', 'DELTA'],
          ...rows.map(([petId, delta, note]) => [`${petId}`, note, `${delta}`]),
        ];
        const text = table
          .map((cells) => cells.map((each) => written(each, delimiter, quoted || each.startsWith(' '))).join(delimiter))
          .join(blanks ? `${end}${delimiter}${delimiter}${end}${end}` : end);
        const bytes = encoded((sep ? `sep=${delimiter}${end}` : '') + text, encoding);
        const read = parseRows(decodeText(bytes, 'FILE'), { allowNegative: false });
        expect(read.problems).toEqual([]);
        expect(read.adds).toBe(true);
        expect(read.rows.map(({ petId, quantity }) => [petId, quantity])).toEqual(
          rows.map(([petId, delta]) => [petId, delta]),
        );
      },
    ),
    { numRuns: RUNS },
  );
});

describe('files that are not CSV', () => {
  const entry = (name: string, content = '') => `PK\u0003\u0004${'\0'.repeat(26)}${name}${content}`;
  it.each([
    ['nothing', '', 'FILE is empty; nothing was sent.'],
    ['a BOM and blanks', '\ufeff \r\n', 'FILE is empty; nothing was sent.'],
    ['.xlsx', entry('[Content_Types].xml'), 'FILE is an Excel workbook; nothing was sent.'],
    [
      '.ods',
      entry('mimetype', 'application/vnd.oasis.opendocument.spreadsheet'),
      'FILE is an OpenDocument spreadsheet; nothing was sent.',
    ],
    ['.xls', Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'FILE is an Excel workbook; nothing was sent.'],
    ['UTF-16 without a BOM', Buffer.from('petId,delta', 'utf16le'), 'FILE is not text in UTF-8; nothing was sent.'],
    [
      'half a character',
      Buffer.from('fffe7000650', 'hex').subarray(0, 5),
      'FILE is not text in UTF-8; nothing was sent.',
    ],
  ])('%s', (_name, content, problem) => {
    expect(() => decodeText(Buffer.from(content), 'FILE')).toThrow(
      expect.objectContaining({ kind: 'usage', details: expect.objectContaining({ problem }) as object }),
    );
  });

  it('an older encoding keeps its digits', () => {
    expect(decodeText(Buffer.from('petId;Gr\xf6\xdfe\n7;12', 'latin1'), 'FILE')).toBe('petId;Größe\n7;12');
  });
});
