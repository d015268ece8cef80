import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { barcodeProblem, labelOf, parseBarcode } from '../../src/catalog/barcode.ts';

/** 10,000 of each property, always the same ones. */
const RUNS = { numRuns: 10_000, seed: 7 };

/** Written independently of the source: with the weights of GS1's table for each length, from the left. */
function withCheckDigit(digits: readonly number[]): string {
  const first = digits.length % 2 === 0 ? 1 : 3;
  const sum = digits.reduce((all, digit, i) => all + digit * (i % 2 === 0 ? first : 4 - first), 0);
  return [...digits, (10 - (sum % 10)) % 10].join('');
}

/** EAN-8, UPC-A and EAN-13 codes; not the one of zeros alone. */
const code = fc
  .constantFrom(7, 11, 12)
  .chain((length) => fc.array(fc.integer({ min: 0, max: 9 }), { minLength: length, maxLength: length }))
  .filter((digits) => digits.some((digit) => digit > 0))
  .map(withCheckDigit);

describe('any code', () => {
  it('is accepted in all spellings, which are one code', () => {
    fc.assert(
      fc.property(code, (text) => {
        const gtin = text.padStart(14, '0');
        const spellings = [text, `0${text}`, gtin, `000${gtin}`, text.replace(/^0+/, ''), text.replace(/^0/, '')];
        for (const spelling of spellings) expect(parseBarcode(spelling)).toBe(gtin);
        expect(parseBarcode(labelOf(gtin))).toBe(gtin);
      }),
      RUNS,
    );
  });

  it('is refused with one digit wrong', () => {
    fc.assert(
      fc.property(code, fc.nat(12), fc.integer({ min: 1, max: 9 }), (text, place, by) => {
        const at = place % text.length;
        const wrong = `${text.slice(0, at)}${(Number(text[at]) + by) % 10}${text.slice(at + 1)}`;
        expect(parseBarcode(wrong), wrong).toBeUndefined();
      }),
      RUNS,
    );
  });
});

describe('codes from the shelf', () => {
  it.each([
    ['EAN-13', '4006381333931', '04006381333931', '4006381333931'],
    ['EAN-8', '73513537', '00000073513537', '73513537'],
    ['UPC-A', '036000291452', '00036000291452', '036000291452'],
    ['UPC-A as EAN-13', '0036000291452', '00036000291452', '036000291452'],
    ['UPC-A without its zero', '36000291452', '00036000291452', '036000291452'],
    ['in-store, 02', '0212345012345', '00212345012345', '212345012345'],
    ['in-store, 20', '2012345678903', '02012345678903', '2012345678903'],
    ['in-store, 29', '2912345678906', '02912345678906', '2912345678906'],
  ])('%s: %s', (_name, text, gtin, label) => {
    expect(parseBarcode(text)).toBe(gtin);
    expect(labelOf(gtin)).toBe(label);
  });

  it.each([
    ['4006381333932', 'barcode 4006381333932 has the wrong check digit: it ends in 2 and should end in 1'],
    ['14006381333938', 'barcode 14006381333938 has 14 digits; EAN-8, UPC-A and EAN-13 have 8, 12 and 13'],
    [
      '4,00638E+12',
      'barcode 4,00638E+12 was shortened by a spreadsheet, and its last digits are lost; format the column as text',
    ],
    ['4006-381', 'barcode "4006-381" must be the digits of an EAN-8, EAN-13 or UPC-A code'],
    ['0000000000000', 'barcode "0000000000000" must be the digits of an EAN-8, EAN-13 or UPC-A code'],
    ['', 'barcode "" must be the digits of an EAN-8, EAN-13 or UPC-A code'],
  ])('refuses %s', (text, problem) => {
    expect(parseBarcode(text)).toBeUndefined();
    expect(barcodeProblem(text)).toBe(problem);
  });
});
