import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STOCK_FILE } from '../../src/stock/columns.ts';
import { decodeText, readSource } from '../../src/stock/source-file.ts';
import { parseCatalog, parseRows } from '../../src/stock/file-rows.ts';
import { scaled } from '../support/scale.ts';

/** Of a file with the header petId,name. */
const catalogOf = (line: string) => parseCatalog(`petId,name\n${line}`);

describe('cells', () => {
  it.each([
    ['7,', ''],
    ['7 , b"c"', 'b"c"'],
    [' "7" , "b" ', 'b'],
    ['7,"b"\r', 'b'],
  ])('%j', (line, name) => {
    expect(catalogOf(line)).toMatchObject({ rows: [{ petId: 7n, name }], problems: [] });
  });

  it.each(['"', '7,"b', '7,"a"b', '7,"a" "b"', '7,"a""', '"5" collar",7'])('%j is refused', (line) => {
    expect(catalogOf(line)).toMatchObject({ rows: [], problems: [{ line: 2 }] });
  });

  it('each record has the line where it begins, and each bad cell too, whatever the lines end with', () => {
    const text = '1,"\n\nc"\n2,d\n\n,\n"3\n",e\n';
    for (const end of ['\n', '\r\n', '\r']) {
      const linesOf = (each: string) => {
        const { rows, problems } = catalogOf(each.replaceAll('\n', end));
        return [rows, problems].map((found) => found.map(({ line }) => line));
      };
      expect(linesOf(text)).toEqual([[2, 5, 8], []]);
      expect(linesOf(`${text}"4\n\n","\n"x`)).toEqual([[], [12]]);
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
/** Writes a cell as a program may: quoted where it must be, and sometimes where it need not. */
function written(text: string, delimiter: string, quotes: boolean): string {
  const mustQuote = /["\r\n]/.test(text) || text.includes(delimiter);
  return quotes || mustQuote ? `"${text.replaceAll('"', '""')}"` : text;
}

it('names that csv-stringify has written read back', () => {
  fc.assert(
    fc.property(
      fc.array(cell, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(...DELIMITERS),
      fc.constantFrom(...ENDS),
      fc.boolean(),
      (names, delimiter, end, quoted) => {
        const rows = [['petId', 'name'], ...names.map((name, i) => [`${i}`, name])];
        const text = stringify(rows, { delimiter, record_delimiter: end, quoted, quoted_match: /[\r\n]/ });
        expect(parseCatalog(text).rows.map(({ name }) => name)).toEqual(
          names.map((name) =>
            name
              .replaceAll(/\r\n?/g, '\n')
              .trim()
              .replace(/^'(?='*[=+\-@＝＋－＠])/, ''),
          ),
        );
      },
    ),
    { numRuns: RUNS },
  );
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
  // Numbers on both sides of a line break may be rows that a stray quote has swallowed.
  const note = cell.filter((text) => !/[0-9][^]*[\r\n][^]*[0-9]/.test(text));
  const lines = fc.uniqueArray(fc.tuple(int64, int64, note), {
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
    ['nothing', '', 'is empty'],
    ['a BOM and blanks', '\ufeff \r\n', 'is empty'],
    ['.xlsx', entry('[Content_Types].xml'), 'is a spreadsheet'],
    ['.ods', entry('mimetype', 'application/vnd.oasis.opendocument.spreadsheet'), 'is a spreadsheet'],
    ['.xls', Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'is a spreadsheet'],
    ['UTF-16 without a BOM', Buffer.from('petId,delta', 'utf16le'), 'is not text in UTF-8'],
    ['UTF-8 that was cut', Buffer.from('petId,name\n7,Mäuse\n8,ä').subarray(0, -1), 'is not text in UTF-8'],
    ['half a character', Buffer.from('fffe7000650', 'hex').subarray(0, 5), 'is not text in UTF-8'],
  ])('%s', async (_name, content, problem) => {
    const stdin = { stream: () => [Buffer.from(content)] };
    await expect(readSource({ stdin } as never, '-', STOCK_FILE)).rejects.toMatchObject({
      kind: 'usage',
      details: { problem: `stdin ${problem}; nothing was sent.` },
    });
  });

  it('an older encoding keeps its digits, letters, quotes and dashes', () => {
    const bytes = Buffer.from('petId;Gr\xf6\xdfe\n7;12 \x96 \x80 \x9f', 'latin1');
    expect(decodeText(bytes, 'FILE')).toBe('petId;Größe\n7;12 – € Ÿ');
  });
});
