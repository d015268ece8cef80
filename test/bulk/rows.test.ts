import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRows } from '../../src/bulk/rows.ts';

const read = (text: string, allowNegative = false) => parseRows(text, { allowNegative });
const problemsOf = (text: string) => read(text).problems.map(({ line, reason }) => `${line}: ${reason}`);

const TWO = [
  { line: 2, petId: 7n, quantity: 12n },
  { line: 3, petId: 9_223_372_036_854_775_807n, quantity: 0n },
];

describe('CSV, as spreadsheets write it', () => {
  it.each([
    ['plainly', 'petId,quantity\n7,12\n9223372036854775807,0\n'],
    ['with a BOM, CRLF and no end of line', '\ufeffpetId,quantity\r\n7,12\r\n9223372036854775807,0'],
    ['with semicolons', 'petId;quantity\n7;12\n9223372036854775807;0'],
    ['with tabs', 'petId\tquantity\n7\t12\n9223372036854775807\t0'],
    ['with bars', 'petId|quantity\n7|12\n9223372036854775807|0'],
    ['quoted', '"petId","quantity"\n"7","12"\n"9223372036854775807","0"'],
    ['in another order', 'quantity,petId\n12,7\n0,9223372036854775807'],
    ['with spaces about', ' petId , quantity \n 7 , 12 \n9223372036854775807,0'],
    ['with an empty guard', 'petId,quantity,current\n7,12,\n9223372036854775807,0,'],
    ['with short lines', 'petId,quantity,current,note\n7,12\n9223372036854775807,0'],
  ])('%s', (_name, text) => {
    expect(read(text)).toMatchObject({ rows: TWO, problems: [] });
  });

  it('with a guard, with columns of no use, and lines that a cell has broken', () => {
    const text = 'petId,note,quantity,current\n7,"a\nb;""c""",12,10\n8,,1,\n';
    expect(read(text)).toEqual({
      rows: [
        { line: 2, petId: 7n, quantity: 12n, current: 10n },
        { line: 4, petId: 8n, quantity: 1n },
      ],
      problems: [],
      ignored: ['note'],
    });
  });

  it('an empty line in between is none', () => {
    expect(read('petId,quantity\n7,12\n\n8,1\n').rows.map(({ line }) => line)).toEqual([2, 4]);
  });
});

describe('JSON', () => {
  it.each([
    [
      'an array, as inventory list --json prints it',
      '[\n {"petId":7,"quantity":12},{"petId":9223372036854775807,"quantity":0}]',
      [1, 2],
    ],
    ['one object a line', '{"petId":7,"quantity":12}\n\n{"petId":9223372036854775807,"quantity":0}\r\n', [1, 3]],
    ['ids as texts', '\ufeff{"petId":"7","quantity":"12"}\n{"petId":"9223372036854775807","quantity":0}', [1, 2]],
  ])('%s', (_name, text, lines) => {
    expect(read(text)).toMatchObject({ rows: TWO.map((row, i) => ({ ...row, line: lines[i] })), problems: [] });
  });
});

describe('what cannot be used is named with its line', () => {
  it.each([
    [
      '',
      ['1: the header has no column petId and none quantity; it must name petId and quantity, and may name current'],
    ],
    ['petId,quantity\n', ['1: there are no rows']],
    ['[]', ['1: there are no rows']],
    ['petId,petId,quantity\n1,1,1', ['1: the header names petId twice']],
    ['id,quantity\n1,1', ['1: the header has no column petId; it must name petId and quantity, and may name current']],
    ['petId,quantity\n7,1e3', ['2: quantity is "1e3", but must be a whole number']],
    ['petId,quantity\n7,1.0', ['2: quantity is "1.0", but must be a whole number']],
    ['petId,quantity\n007,1', ['2: petId is "007", but must be a decimal int64']],
    ['petId,quantity\n9223372036854775808,1', ['2: petId is "9223372036854775808", but must be a decimal int64']],
    ['petId,quantity\n7,', ['2: quantity is missing']],
    ['petId,quantity\n,7', ['2: petId is missing']],
    ['petId,quantity\n7,-1', ['2: quantity is -1, below zero (--allow-negative, if that is meant)']],
    ['petId,quantity,current\n7,1,x', ['2: current is "x", but must be a whole number, or empty']],
    ['petId,quantity\n7,"1', [expect.stringMatching(/^2: is no CSV: /)]],
    ['{"petId":7}', ['1: quantity is missing']],
    ['{"petId":7,"quantity":1.5}', ['1: quantity is "1.5", but must be a whole number']],
    ['[1]', ['1: is no object']],
    ['{"petId":7,"quantity":1}\n{"petId":', [expect.stringMatching(/^2: is no JSON: /)]],
  ])('%j', (text, problems) => {
    expect(problemsOf(text)).toEqual(problems);
  });

  it('fault 96: a pet that stands there twice, with both lines', () => {
    expect(problemsOf('petId,quantity\n7,1\n8,1\n7,2\n')).toEqual(['4: pet 7 is already on line 2']);
  });

  it.each([
    ['a thousands separator', 'petId,quantity\n7,1,200\n', 2, 3, 2],
    ['a decimal comma', 'petId,quantity\n8,1\n7,12,5', 3, 3, 2],
    ['between semicolons', 'petId;quantity\n7;1;200', 2, 3, 2],
    ['below a header with empty cells', 'petId,quantity,,\n7,1,200,', 2, 3, 2],
    ['beside a cell of several lines', 'note,petId,quantity\n"a\n\nb",7,1,200', 2, 4, 3],
  ])('fault 123: more cells than the header: %s', (_name, text, line, cells, width) => {
    expect(problemsOf(text)).toEqual([
      `${line}: has ${cells} cells, the header has ${width}: a thousands separator or decimal comma?`,
    ]);
  });

  it('cells that are empty, and lines of delimiters or blanks, are no rows and no surplus', () => {
    expect(read('petId,quantity\n7,12,,\n,,\n  \n\t\n8,1, ')).toEqual({
      rows: [
        { line: 2, petId: 7n, quantity: 12n },
        { line: 6, petId: 8n, quantity: 1n },
      ],
      problems: [],
      ignored: [],
    });
  });

  it('after a line break inside quotes, however lines end', () => {
    const text = 'petId,quantity,note\r\n1,5,"a\r\nb"\r\n2,x,c\r\n';
    for (const each of [text, text.replaceAll('\r\n', '\n'), text.replaceAll('\r\n', '\r')]) {
      expect(problemsOf(each)).toEqual(['4: quantity is "x", but must be a whole number']);
    }
  });

  it('fault 96: a pet that a JSON list has twice', () => {
    expect(problemsOf('[{"petId":7,"quantity":1},{"petId":7,"quantity":2}]')).toEqual([
      '2: pet 7 is already on line 1',
    ]);
  });

  it.each(['9.9E+15', '1,23E+18', '9E15'])('%s: an id that a spreadsheet has shortened', (id) => {
    expect(problemsOf(`petId;quantity\n${id};1\n`)).toEqual([
      expect.stringMatching(/^2: petId is ".*": a spreadsheet has shortened the id, and its last digits are lost/),
    ]);
  });

  it('below zero is allowed where it is meant', () => {
    expect(read('petId,quantity\n7,-1', true).rows).toEqual([{ line: 2, petId: 7n, quantity: -1n }]);
  });
});

it('whatever the text: rows or problems, never both of one line, never nothing', () => {
  const cell = fc.oneof(fc.constantFrom('7', '8', '', '"', 'petId', 'quantity', '9e15', '-1', '0'), fc.string());
  const text = fc
    .array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 8 })
    .chain((lines) =>
      fc.constantFrom(',', ';', '\t').map((delimiter) => lines.map((each) => each.join(delimiter)).join('\n')),
    );
  fc.assert(
    fc.property(
      fc.oneof(
        text,
        text.map((each) => `petId,quantity\n${each}`),
        fc.json(),
        fc.string(),
      ),
      (given) => {
        const { rows, problems } = read(given);
        expect(rows.length + problems.length).toBeGreaterThan(0);
        const bad = new Set(problems.filter(({ reason }) => !reason.includes('already')).map(({ line }) => line));
        expect(rows.filter(({ line }) => bad.has(line))).toEqual([]);
      },
    ),
    { numRuns: 1_000 },
  );
});
