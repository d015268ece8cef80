import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonError, LONGEST_CUT, parseJson, RawNumber, readJsonValue, stringifyJson } from '../../src/api/json.ts';

/** The same tree as JSON.parse gives, where that is exact. */
function plain(value: ReturnType<typeof parseJson>): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [key, plain(member)]));
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'bigint') return Number(value);
  return value instanceof RawNumber ? Number(value.source) : value;
}

describe('parseJson', () => {
  it.each([
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['999999999999999', 999999999999999],
    ['0', 0],
    ['-5', -5],
    ['" \\u00e9\\n\\ud83d\\ude00 "', ' é\n😀 '],
    ['[ ]', []],
    ['null', null],
  ])('reads %s', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  it.each(['1.0', '1e3', '-0', '12.50', '1E400', '7'.repeat(1_001)])('keeps %s as it is written', (text) => {
    expect(parseJson(text)).toEqual(new RawNumber(text));
    expect(stringifyJson(parseJson(text))).toBe(text);
  });

  it.each([' ', '{a:1}', "'a'", '+1', '0x10', 'NaN', 'Infinity', 'truex', '// no\n1', '\uFEFF1', '\u00a01'])(
    'refuses %j, as JSON.parse does',
    (text) => {
      expect(() => parseJson(text)).toThrow(JsonError);
      expect(() => JSON.parse(text) as unknown).toThrow();
    },
  );

  it.each([
    ['{"a":1', 'the text ends too early', 6],
    ['{"a":tru}', 'expected a value, found "t"', 5],
    ['[1,]', 'expected a value, found "]"', 3],
    ['[1 2]', 'expected "," or "]", found "2"', 3],
    ['{"a" 1}', 'expected ":", found "1"', 5],
    ['["\u0001"]', 'expected the rest of a string, found "\\u0001"', 2],
    ['["\\x"]', 'expected the rest of a string, found "\\\\"', 2],
    ['[1] 2', 'expected nothing after the value, found "2"', 4],
  ])('refuses %j: %s', (text, problem, at) => {
    expect(() => parseJson(text)).toThrow(expect.objectContaining({ problem, at }) as Error);
  });

  it('fault 57: refuses duplicate keys, keeps __proto__ inert, refuses depth 100k', () => {
    expect(() => parseJson('{"petId":1,"petId":2}')).toThrow('duplicate key "petId" at character 12');
    expect(() => parseJson('{"a":1,"\\u0061":1}')).toThrow('duplicate key "a"');
    const tricky = parseJson('{"__proto__":{"admin":true},"constructor":1}');
    expect(tricky).toEqual(
      new Map<string, unknown>([
        ['__proto__', new Map([['admin', true]])],
        ['constructor', 1],
      ]),
    );
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
    expect(() => parseJson('['.repeat(100_000))).toThrow('nested deeper than 128 levels');
    expect(() => parseJson('{"a":'.repeat(100_000))).toThrow('nested deeper than 128 levels');
  });

  it('agrees with JSON.parse on whatever JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value, null, 1);
        expect(plain(parseJson(text))).toEqual(JSON.parse(text));
        expect(JSON.parse(stringifyJson(parseJson(text)))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('refuses what JSON.parse refuses, and only duplicate keys and depth besides', () => {
    const pieces = ['{', '}', '[', ']', ',', ':', '"a"', '"b"', '1', '-', '0', '.', 'e', 'true', ' ', '\\', '"', '\\u00e9', '\n']; // prettier-ignore
    const piece = fc.constantFrom(...pieces);
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        const theirs = outcome(() => JSON.parse(text) as unknown);
        const ours = outcome(() => plain(parseJson(text)));
        if (ours.error?.startsWith('duplicate key') === true) return;
        expect(ours.error === undefined).toBe(theirs.error === undefined);
        expect(ours.value).toEqual(theirs.value);
      }),
      { numRuns: 2_000 },
    );
  });
});

function outcome(work: () => unknown): { value?: unknown; error?: string } {
  try {
    return { value: work() };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

it('reads a string with millions of escapes', () => {
  expect(parseJson(`"${'\\n'.repeat(5_000_000)}"`)).toBe('\n'.repeat(5_000_000));
});

describe('readJsonValue', () => {
  it('fails near the end of a text that is cut, wherever that is', () => {
    const text = '{"a":[1,-2.5e3,true,null,"x\\u00e9\\n"],"b":{"c":9223372036854775807}}';
    for (let cut = 0; cut < text.length; cut++) {
      const nearEnd = expect.toSatisfy((at: number) => at > cut - LONGEST_CUT) as number;
      expect(() => readJsonValue(text.slice(0, cut), 0)).toThrow(expect.objectContaining({ at: nearEnd }) as Error);
    }
    expect(readJsonValue(`${text} tail`, 0).end).toBe(text.length);
  });
});

describe('stringifyJson', () => {
  it('escapes invisible characters, as two units where they have two', () => {
    expect(stringifyJson('a\u{e0041}b\u180e')).toBe('"a\\udb40\\udc41b\\u180e"');
  });

  it('escapes what a terminal might act on, losing nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const json = stringifyJson(text);
        // eslint-disable-next-line no-control-regex -- controls are what must not be there
        expect(json).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/);
        expect(json).not.toMatch(/[\u180e\u{e0000}-\u{e007f}]/u);
        expect(JSON.parse(json)).toBe(text);
      }),
    );
  });
});
