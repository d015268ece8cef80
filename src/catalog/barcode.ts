/**
 * Parses the barcodes of retail products: EAN-8, EAN-13 and UPC-A. Each is stored and compared with 14 digits, because
 * scanners drop and add leading zeros, and a UPC-A code is the EAN-13 code with a 0 before it.
 */

const DIGITS = 14;
/** Length of EAN-13, the longest of them. */
const MOST_DIGITS = 13;
/** Most characters of a code, with leading zeros and all that a sheet may add. */
const LONGEST = 40;

/** Returns the code with 14 digits; undefined for an invalid one (see `barcodeProblem`). */
export function parseBarcode(text: string): string | undefined {
  return barcodeProblem(text) === undefined ? text.replace(/^0+/, '').padStart(DIGITS, '0') : undefined;
}

/** Lengths on labels: EAN-8, UPC-A, EAN-13, and the 14 digits of some scanners. */
const LABEL_LENGTHS = [8, 12, MOST_DIGITS, DIGITS];

/**
 * Returns the barcode that a scanner has typed into a field for a number: the whole text, or one at its end, after digits
 * that were typed before. A number of eight digits may be an EAN-8 by chance, so that one must be known.
 */
export function barcodeIn(text: string, catalog: { ownerOf(code: string): unknown } | undefined): string | undefined {
  return [text, ...LABEL_LENGTHS.map((length) => text.slice(-length))].find(
    (code) =>
      LABEL_LENGTHS.includes(code.length) &&
      parseBarcode(code) !== undefined &&
      (code === text || code.length > 8 || catalog?.ownerOf(code) !== undefined),
  );
}

/** Returns why a text is not a barcode; undefined for one. */
export function barcodeProblem(text: string): string | undefined {
  // First, since a pattern on a text of millions of characters may end in a RangeError.
  if (text.length > LONGEST) {
    return `barcode ${JSON.stringify(`${text.slice(0, LONGEST)}…`)} has ${text.length} characters; EAN-8, UPC-A and EAN-13 have 8, 12 and 13`;
  }
  if (/^\d+([.,]\d+)?E[+-]?\d+$/i.test(text)) {
    return `barcode ${text} was shortened by a spreadsheet, and its last digits are lost; format the column as text`;
  }
  const digits = text.replace(/^0+/, '');
  if (!/^\d+$/.test(text) || digits === '') {
    return `barcode ${JSON.stringify(text)} must be the digits of an EAN-8, EAN-13 or UPC-A code`;
  }
  if (digits.length > MOST_DIGITS) {
    return `barcode ${text} has ${digits.length} digits; EAN-8, UPC-A and EAN-13 have 8, 12 and 13`;
  }
  const [last, right] = [digits.at(-1), checkDigit(digits.slice(0, -1))];
  if (last === `${right}`) return undefined;
  return `barcode ${text} has the wrong check digit: it ends in ${last} and should end in ${right}`;
}

/** Converts a code of 14 digits to the 8, 12 or 13 digits on the label. */
export function labelOf(gtin: string): string {
  const { length } = gtin.replace(/^0+/, '');
  return gtin.slice(DIGITS - (length <= 8 ? 8 : length <= 12 ? 12 : MOST_DIGITS));
}

/** Returns the code of 14 digits that reads as this id; it may be a barcode. */
export function barcodeWithDigitsOf(petId: bigint): string {
  return petId.toString().padStart(DIGITS, '0');
}

/** Computes the check digit as section 7.9 of the GS1 General Specifications does: weights 3, 1, 3, … from the right. */
function checkDigit(digits: string): number {
  const sum = Array.from(digits)
    .reverse()
    .reduce((all, digit, i) => all + Number(digit) * (i % 2 === 0 ? 3 : 1), 0);
  return (10 - (sum % 10)) % 10;
}
