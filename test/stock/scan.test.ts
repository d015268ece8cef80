import { beforeAll, describe, expect, it } from 'vitest';
import { parseScan } from '../../src/stock/count.ts';
import { type Catalog, petOfCode } from '../../src/catalog/local-catalog.ts';
import { catalogOf } from '../support/catalog.ts';

describe('a line of a stocktake', () => {
  it.each<[string, string, string | undefined, number?]>([
    ['7', '', '7', 1],
    ['0007', '', '0007', 1],
    ['7 12', '', '7', 12],
    ['7,12', '', '7', 12],
    ['7 0', '', '7', 0],
    ['3x 7', '', '7', 3],
    ['3x7', '', '7', 3],
    ['3X 4006381333931', '', '4006381333931', 3],
    ['3 x 4006381333931', '', '4006381333931', 3],
    ['3×4006381333931', '', '4006381333931', 3],
    ['0x 7', '', '7', 0],
    ['PET-7', 'PET-', '7', 1],
    ['3x PET-7', 'PET-', '7', 3],
    ['3xPET-7', 'PET-', '7', 3],
    ['7', 'PET-', '7', 1],
    ['3x7', '3x', '7', 1],
    ['-3', '', '-3', 1],
    ['3x 7 2', '', undefined],
    ['3x', '', undefined],
    ['x7', '', undefined],
    ['0x7', '', undefined],
    ['8 x3', '', undefined],
    ['-3x 7', '', undefined],
    ['03x 7', '', undefined],
    ['7 -1', '', undefined],
    ['7 1.5', '', undefined],
    ['7 1 2', '', undefined],
    ['seven', '', undefined],
  ])('%s with the prefix %j', (text, prefix, code, quantity) => {
    const expected = code === undefined ? undefined : { code, quantity: BigInt(quantity ?? 1) };
    expect(parseScan(text, prefix)).toEqual(expected);
  });
});

describe('the pet of a scan', () => {
  const item = (petId: bigint) => [petId, { petId, quantity: 1n, status: 'available' }] as const;
  const stock = new Map([item(7n), item(8n), item(73513537n), item(36000291452n)]);
  let catalog: Catalog;
  beforeAll(async () => {
    const rows = 'petId,name,barcode\n7,Goldfish,4006381333931 73513537\n8,,36000291452\n99,Gone,96385074\n';
    catalog = await catalogOf(rows, '00036000291452');
  });

  it.each<[string, bigint | string]>([
    ['7', 7n],
    ['007', 7n],
    ['4006381333931', 7n],
    ['04006381333931', 7n],
    ['036000291452', 8n],
    ['96385074', 99n],
    ['9', 'no pet has the id or barcode 9'],
    ['4006381333932', 'no pet has the id or barcode 4006381333932'],
    [
      '73513537',
      '73513537 is the id of pet 73513537 and a barcode of pet 7 (to take it for pet 7, store the barcode with catalog set --force)',
    ],
  ])('%s with a catalog', (code, found) => {
    expect(petOfCode(code, stock, catalog)).toBe(found);
  });

  it.each<[string, bigint | string]>([
    ['7', 7n],
    ['73513537', 73513537n],
    ['4006381333931', 'pet 4006381333931 does not exist'],
  ])('%s without a catalog', (code, found) => {
    expect(petOfCode(code, stock, undefined)).toBe(found);
  });
});
