import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMapping } from '../../src/stock/columns.ts';
import { parseRows, type RowOptions } from '../../src/stock/file-rows.ts';

const read = (text: string, options: Partial<RowOptions> = {}) => parseRows(text, { allowNegative: false, ...options });
const problemsOf = (text: string, options?: Partial<RowOptions>) =>
  read(text, options).problems.map(({ line, reason }) => `${line}: ${reason}`);

const TWO = [
  { line: 2, petId: 7n, quantity: 12n },
  { line: 3, petId: 9_223_372_036_854_775_807n, quantity: 0n },
];

// Delimiters, quotes, line ends, encodings and headings are in csv.test.ts: 'a delivery reads back exactly'.
describe('CSV, as spreadsheets write it', () => {
  it.each([
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
        { line: 2, petId: 7n, quantity: 12n, current: 10n, note: 'a b;"c"' },
        { line: 4, petId: 8n, quantity: 1n },
      ],
      adds: false,
      problems: [],
      ignored: [],
    });
  });
});

describe('JSON', () => {
  it.each([
    [
      'an array, as inventory list --json prints it',
      '[\n {"petId":7,"quantity":12},{"petId":9223372036854775807,"quantity":0}]',
      [2, 2],
    ],
    ['one object a line', '{"petId":7,"quantity":12}\n\n{"petId":9223372036854775807,"quantity":0}\r\n', [1, 3]],
    ['ids as texts', '\ufeff{"petId":"7","quantity":"12"}\n{"petId":"9223372036854775807","quantity":0}', [1, 2]],
  ])('%s', (_name, text, lines) => {
    expect(read(text)).toMatchObject({ rows: TWO.map((row, i) => ({ ...row, line: lines[i] })), problems: [] });
  });
});

describe('files of spreadsheets and shops', () => {
  it.each([
    [
      'Excel, with a BOM, quotes and a heading of its own',
      '\ufeffPet ID;Name;Quantity;Price\r\n7;"a, b";12;1,50\r\n;;;\r\n9223372036854775807;;0;\r\n',
      4,
    ],
    ['sep= with a delimiter of its own', 'SEP=~\npetId~quantity~note\n7~12~a,b;c,d\n9223372036854775807~0', 4],
    ['lines of delimiters, above and between', ';;\n\npetId;quantity\n7;12\n;\n9223372036854775807;0\n;;;;\n', 6],
    [
      'a quote inside a cell that is not used',
      'petId,quantity,note\n7,12,5" collar\n9223372036854775807,0,37°36\'37.8"N',
      3,
    ],
    ['spaces around quoted cells', 'petId, "note", quantity\n7 , "a,5,b" , 12\n9223372036854775807, "" , "0" ', 3],
    ['names with the other delimiter', 'petId;"name, and, more, commas";quantity\n7;;12\n9223372036854775807;;0', 3],
  ])('%s', (_name, text, lastLine) => {
    const { rows, problems } = read(text);
    expect(problems).toEqual([]);
    expect(rows).toMatchObject(TWO.map(({ petId, quantity }) => ({ petId, quantity })));
    expect(rows[1]?.line).toBe(lastLine);
  });

  const map = (...texts: string[]) => ({ mappings: texts.map((text) => parseMapping(text)!) });

  it('other headings, named with --map', () => {
    const text = 'Article;Pieces;There;quantity\n7;12;10;99\n';
    const options = map('article=PET_ID', 'Pieces=delta', 'There = current', 'quantity=petid');
    expect(problemsOf(text, options)).toEqual(['1: the columns "Article" and "quantity" are both petId']);
    expect(read(text.replace('quantity', 'shelf'), map('article=PET_ID', 'Pieces=delta', 'There = current'))).toEqual({
      rows: [{ line: 2, petId: 7n, quantity: 12n, current: 10n }],
      adds: true,
      problems: [],
      ignored: ['shelf'],
    });
    expect(read('{"Article":"7","Pieces":12}', map('Article=petId', 'Pieces=quantity')).rows).toMatchObject([
      { petId: 7n, quantity: 12n },
    ]);
  });

  it('--map twice with the same heading', () => {
    expect(problemsOf('petId,quantity,n\n7,1,2', map('n=current', 'N=delta'))).toEqual([
      '1: --map names the column "N" twice',
    ]);
  });

  it('--map with a heading that the file does not have', () => {
    expect(problemsOf('{"petId":7,"quantity":1}', map('Expected=current'))).toEqual([
      '1: --map names a column "Expected", but the columns are "petId", "quantity"',
    ]);
    expect(problemsOf('petId,quantity\n7,1', map('Pieces=quantity'))).toEqual([
      '1: --map names a column "Pieces", but the columns are "petId", "quantity"',
    ]);
  });

  it.each(['', 'petId', '=petId', ' =petId', 'Article=', 'Article=status'])('--map %j is refused', (text) => {
    expect(parseMapping(text)).toBeUndefined();
  });
});

describe('what is added to the stock', () => {
  it('100,000 lines of one pet are added together before the test times out', () => {
    const { rows } = read(`petId,delta\n${'7,1\n'.repeat(100_000)}`);
    expect(rows).toMatchObject([{ petId: 7n, quantity: 100_000n, line: 2 }]);
  });

  it.each([
    ['a column delta', 'petId,delta\n7,+3\n8,-1\n9,0\n9223372036854775807,9223372036854775807', {}],
    [
      'JSON',
      '{"petId":7,"delta":3}\n{"petId":8,"delta":-1}\n{"petId":9,"delta":"0"}\n{"petId":9223372036854775807,"delta":9223372036854775807}',
      {},
    ],
    ['--add', 'petId,quantity\n7,+3\n8,-1\n9,0\n9223372036854775807,9223372036854775807', { add: true }],
  ])('%s', (_name, text, options) => {
    const { rows, adds, problems } = read(text, options);
    expect({ adds, problems }).toEqual({ adds: true, problems: [] });
    expect(rows.map(({ petId, quantity }) => [petId, quantity])).toEqual([
      [7n, 3n],
      [8n, -1n],
      [9n, 0n],
      [9_223_372_036_854_775_807n, 9_223_372_036_854_775_807n],
    ]);
  });

  it('several lines of a pet are added together', () => {
    const text = 'petId,delta,current\n7,9223372036854775807,10\n8,1,\n7,1,\n7,-3,10\n';
    expect(read(text)).toMatchObject({
      rows: [
        { line: 2, petId: 7n, quantity: 9_223_372_036_854_775_805n, current: 10n },
        { line: 3, petId: 8n, quantity: 1n },
      ],
      problems: [],
    });
  });

  it('but not if they expect different quantities', () => {
    expect(problemsOf('petId,delta,current\n7,1,\n7,1,10\n7,1,11\n')).toEqual([
      '4: pet 7 is already on line 2, with another value of current',
    ]);
  });

  it.each(['++3', '+-3', '+0', '+03', '+ 3', '1,200', '1e3', '3.5'])('%s is not a change', (delta) => {
    expect(problemsOf(`petId;delta\n7;${delta}`)).toHaveLength(1);
  });
});

it.each([
  ['12,00', 12n],
  ['12.0', 12n],
  ['1234.000', 1234n],
  ['0,0', 0n],
])('a whole number with decimals: %s', (text, quantity) => {
  expect(parseRows(`petId;quantity\n7;${text}`, { allowNegative: false }).rows).toMatchObject([{ quantity }]);
});

it('a row may say why', () => {
  const { rows } = parseRows("petId,delta,Cause,Note\n7,-1,Died,old age\n8,2,,\n9,1,,'＋ from CSV", {
    allowNegative: false,
  });
  expect(rows).toEqual([
    expect.objectContaining({ petId: 7n, cause: 'died', note: 'old age' }),
    expect.not.objectContaining({ cause: expect.anything() as unknown }),
    // As our own CSV writes it.
    expect.objectContaining({ note: '＋ from CSV' }),
  ]);
  // JSON needs no such quote.
  const json = parseRows('{"petId":7,"delta":1,"note":"\'+ from JSON"}', { allowNegative: false });
  expect(json.rows).toMatchObject([{ note: "'+ from JSON" }]);
});

describe('what cannot be used is named with its line', () => {
  it.each([
    ['petId,quantity\n', []],
    ['[]', []],
    ['petId,petId,pet,quantity,pet_id\n1,1,1,1,1', ['1: the columns "petId" and "petId" are both petId']],
    ['petId,Pet ID,quantity\n1,1,1', ['1: the columns "petId" and "Pet ID" are both petId']],
    [
      'petId,quantity,delta\n1,1,1',
      ['1: there are both quantity and delta: quantity sets the stock, delta adds to it; keep one of them'],
    ],
    ['7,13\n8,1', ['1: the first line must be a header such as petId,quantity']],
    [
      'petId,13\n8,1',
      [
        '1: no column is named quantity (or delta); the columns are "petId", "13"; name one with --map "HEADING=quantity"',
      ],
    ],
    [
      'Article;Pieces\n7;1',
      [
        '1: no column is named petId or quantity (or delta); the columns are "Article", "Pieces"; ' +
          'name them with --map "HEADING=petId" --map "HEADING=quantity"',
      ],
    ],
    [
      'id,quantity\n1,1',
      ['1: no column is named petId; the columns are "id", "quantity"; name one with --map "HEADING=petId"'],
    ],
    ['petId\n1', ['1: no column is named quantity (or delta); the columns are "petId"']],
    [
      'petId,a,b,c,d,e,f,g,h,i,j\n1',
      [
        '1: no column is named quantity (or delta); the columns are "petId", "a", "b", "c", "d", "e", "f", "g", "h", ' +
          '"i" and more; name one with --map "HEADING=quantity"',
      ],
    ],
    [
      '\ufeff"Article";"Name";"Pieces"\n7;"a, b";1',
      [
        '1: no column is named quantity (or delta); the columns are "Article", "Name", "Pieces"; ' +
          'name one with --map "HEADING=quantity"',
      ],
    ],
    ['petId,quantity\n7,twelve', ['2: quantity is "twelve", but must be a whole number']],
    [
      'petId,quantity\n7,1e3',
      ['2: quantity is "1e3": format the column as a number without decimals and without an exponent'],
    ],
    ['petId,quantity\n7,1.000', ['2: quantity is "1.000": remove the thousands separator']],
    ['petId;quantity\n7;6,5', ['2: quantity is "6,5": format the column as a number without decimals']],
    ['petId,quantity\n7,"1,200"', ['2: quantity is "1,200": remove the thousands separator']],
    ['petId,quantity\n7,1.200', ['2: quantity is "1.200": remove the thousands separator']],
    ['petId,quantity\n7,1\u00a0200', ['2: quantity is "1\u00a0200": remove the thousands separator']],
    ['petId,quantity\n7,012', ['2: quantity is "012": remove the leading zeros']],
    ['petId,quantity\n7,+12', ['2: quantity is "+12", but must be a whole number']],
    ['petId,delta\n7,+012', ['2: delta is "+012": remove the leading zeros']],
    ['petId,quantity\n007,1', ['2: petId is "007": remove the leading zeros']],
    [
      'petId,quantity\n9223372036854775808,1',
      ['2: petId is "9223372036854775808", but ids go up to 9223372036854775807'],
    ],
    ['petId,quantity\nseven,1', ['2: petId is "seven", but must be a whole number, such as 7']],
    ['petId,quantity\n7,', ['2: quantity is missing']],
    ['petId,quantity\n,7', ['2: petId is missing']],
    ['petId,quantity\n7,-1', ['2: quantity is -1, below zero (--allow-negative, if that is meant)']],
    ['petId,quantity,current\n7,1,x', ['2: current is "x", but must be a whole number, or empty']],
    [
      'petId,delta,cause\n7,1,bought',
      [
        '2: cause is "bought", but must be one of received, sold, returned, died, damaged, lost, count, correction, other',
      ],
    ],
    ['{"petId":7,"delta":1,"note":"\\ud800"}', ['1: note must be one line of at most 200 characters']],
    ['petId,delta,note\n7,1,a\u202eb', ['2: note must be one line of at most 200 characters']],
    ['petId,delta,cause\n7,1,sold\n7,1,died', ['3: pet 7 is already on line 2, with another cause or note']],
    ['petId,quantity\n8,1\n7,"1\n\n9,2', ['3: the quote of cell 2 is not closed']],
    [
      'petId,quantity,note\n7,1,"large\n8,1,small"\n9,1,"a\nb,c"\n',
      ['2: a quoted cell spans lines that look like rows; close its quote on its own line'],
    ],
    [
      'petId,quantity,note\n7,1,"5" collar"\n',
      ['2: cell 3 has text after its closing quote; double the quotes inside a quoted cell'],
    ],
    ['{"petId":7}', ['1: quantity is missing']],
    ['{"petId":7,"quantity":1.5}', ['1: quantity is "1.5": format the column as a number without decimals']],
    ['[1]', ['1: not an object such as {"petId":7,"quantity":12}']],
    ['{"petId":7,"quantity":1}\n{"petId":', [expect.stringMatching(/^2: not valid JSON: /)]],
    [
      '{\n  "petId":7,\n  "quantity":1\n}\n{\n  "petId":8\n}',
      ['1: an object must be on one line, as jq -c prints it, or in an array'],
    ],
    ['{"petId":7,"pet_id":7,"quantity":1}', ['1: the columns "petId" and "pet_id" are both petId']],
    ['{"petId":7,"quantity":1}\n{"petId":8,"delta":1}', ['2: has delta, but line 1 has the other; use one of them']],
  ])('%j', (text, problems) => {
    expect(problemsOf(text)).toEqual(problems);
  });

  it('fault 96: a pet that is listed twice, with both lines', () => {
    expect(problemsOf('petId,quantity\n7,1\n8,1\n7,2\n')).toEqual(['4: pet 7 is already on line 2']);
  });

  it.each([
    ['a thousands separator', 'petId,quantity\n7,1,200\n', 2, 3, 2],
    ['a decimal comma', 'petId,quantity\n8,1\n7,12,5', 3, 3, 2],
    ['between semicolons', 'petId;quantity\n7;1;200', 2, 3, 2],
    ['below a header with empty cells', 'petId,quantity,,\n7,1,200,', 2, 3, 2],
    ['where a cell that is empty makes room', 'petId,quantity,note\n8,2,,\n7,1,200,', 3, 4, 3],
    ['a decimal comma before an empty cell', 'petId,quantity,status,name\n7,12,5,sold,', 2, 5, 4],
    ['a price with decimals', 'petId,price,quantity,note\n7,3,50,12,', 2, 5, 4],
    ['a thousands separator and decimals', 'petId,quantity,note\n7,1,200.00,', 2, 4, 3],
    ['an id with a thousands separator', 'petId,quantity,note\n1,200,5,', 2, 4, 3],
    ['beside a cell of several lines', 'note,petId,quantity\n"a\n\nb",7,1,200', 2, 4, 3],
  ])('fault 123: more cells than the header: %s', (_name, text, line, cells, width) => {
    expect(problemsOf(text)).toEqual([
      `${line}: has ${cells} cells, the header has ${width}: a thousands separator, a decimal comma, or a text that needs quotes?`,
    ]);
  });

  it('ignores empty cells, and lines of delimiters or blanks', () => {
    expect(problemsOf('petId,quantity,name,price,min\n7,12,Goldfish,3,50,')).toEqual([]);
    expect(read('petId,quantity\n7,120,,\n,,\n  \n\t\n8,1, ')).toEqual({
      rows: [
        { line: 2, petId: 7n, quantity: 120n },
        { line: 6, petId: 8n, quantity: 1n },
      ],
      adds: false,
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
    expect(problemsOf('\r\n[{"petId":7,"quantity":1},\r\n{\n"petId":7,"quantity":2},\n{},7]')).toEqual([
      '3: pet 7 is already on line 2',
      '5: petId is missing',
      '5: not an object such as {"petId":7,"quantity":12}',
    ]);
    expect(problemsOf('[{"petId":7,"quantity":1},\n\n{"petId":}]')).toEqual([
      expect.stringMatching(/^3: not valid JSON: /),
    ]);
  });

  it.each(['9.9E+15', '1,23E+18', '9E15'])('%s: an id that a spreadsheet has shortened', (id) => {
    expect(problemsOf(`petId;quantity\n${id};1\n`)).toEqual([
      expect.stringMatching(/^2: petId is ".*": a spreadsheet has shortened the id, and its last digits are lost/),
    ]);
  });

  it('below zero is allowed where it is meant', () => {
    expect(read('petId,quantity\n7,-1', { allowNegative: true }).rows).toEqual([{ line: 2, petId: 7n, quantity: -1n }]);
  });
});

// A process that has compiled many patterns no longer optimizes them, and a text of millions of characters is too long for one.
it.each([
  [
    'a number, CSV',
    'petId,quantity\n7,',
    '\n',
    '2: quantity is "7+…", which has 20000000 characters, and .* at most 40',
  ],
  [
    'a number, JSON',
    '{"petId":7,"quantity":-',
    '}',
    '1: quantity is "-7+…", which has 20000001 characters, .* at most 40',
  ],
  ['a JSON string', '[{"petId":7,"quantity":"', '"}]', '1: quantity is "7+…", which has 20000000 characters, .* 40'],
  ['an id', 'petId,quantity\n', ',7\n', '2: petId is "7+…", which has 20000000 characters, .* 40'],
  ['a note', 'petId,quantity,note\n7,1,', '\n', '2: note must be one line of at most 200 characters'],
  ['a barcode', 'barcode,quantity\n', ',1\n', '2: barcode "7+…" has 20000000 characters; EAN-8, UPC-A and EAN-13 .*'],
])('millions of digits are refused without being computed: %s', (_, before, after, problem) => {
  const script = `
    import { barcodeProblem } from './src/catalog/barcode.ts';
    import { parseRows } from './src/stock/file-rows.ts';
    const text = ${JSON.stringify(before)} + '7'.repeat(20_000_000) + ${JSON.stringify(after)};
    const petOf = (_, code) => barcodeProblem(code);
    const { rows, problems } = parseRows(text, { allowNegative: true, petOf });
    console.log(JSON.stringify([rows, problems.map(({ line, reason }) => line + ': ' + reason)]));`;
  const args = ['--no-regexp-optimization', '--import', './src/build/lower.ts', '--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual([[], [expect.stringMatching(new RegExp(`^${problem}$`))]]);
});

it('whatever the text: rows or problems, never both of one line, nothing only of a header alone', () => {
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
        // A quoted cell may have several lines.
        const plain = given.replace(/"[^"]*"/g, (cell) => cell.replace(/\s/g, ''));
        const lines = plain.split('\n').filter((line) => /[^\s,;"]/.test(line));
        if (rows.length + problems.length === 0) expect(lines.length).toBeLessThan(2);
        const bad = new Set(problems.filter(({ reason }) => !reason.includes('already')).map(({ line }) => line));
        expect(rows.filter(({ line }) => bad.has(line))).toEqual([]);
      },
    ),
    { numRuns: 1_000 },
  );
});
