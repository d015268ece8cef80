import { describe, expect, it } from 'vitest';
import { parseMapping, CATALOG_FILE } from '../../src/stock/columns.ts';
import { parseCatalog } from '../../src/stock/file-rows.ts';
import { ordersOf } from '../../src/catalog/added-fields.ts';
import { storeRows } from '../../src/catalog/store.ts';
import type { SqlValue } from '../../src/ports.ts';
import { emptyCatalog, catalogOf } from '../support/catalog.ts';

const [A, B, C] = ['04006381333931', '00000073513537', '00036000291452'];

const FILE = `petId,name,barcode
3,Goldfish,
7,goldfish,4006381333931 73513537
8,"Goldfish, small",
9,Mäuse,
10,ガラス,
11,Weißer Hund,
13,Γατόσκυλος,
14,Akıllı,
12,,
`;
const CATALOG = await catalogOf(FILE, B);

describe('a name', () => {
  it.each([
    ['Goldfish', [3n]],
    ['goldfish', [7n]],
    ['GOLDFISH', [3n, 7n]],
    ['small', [8n]],
    ['FISH', [3n, 7n, 8n]],
    ['ma\u0308us', [9n]],
    ['small gold', [8n]],
    ['mause', [9n]],
    ['hamster', []],
    ['ガラス', [10n]],
    ['カラス', []],
    ['WEISSER HUND', [11n]],
    ['WEIẞER', [11n]],
    ['ΓΑΤΟΣ', [13n]],
    ['ΓΑΤΟΣΚΥΛΟΣ', [13n]],
    ['AKILLI', [14n]],
  ])('%s finds %s', (text, found) => {
    expect(CATALOG.named(text).map(({ petId }) => petId)).toEqual(found);
  });

  it('of each pet of a large catalog is found before the test times out', async () => {
    const names = Array.from({ length: 40_000 }, (_, i) => `Pet ${i}`);
    const catalog = await catalogOf(`petId,name\n${names.map((name, i) => `${i},${name}`).join('\n')}`);
    expect(names.flatMap((name) => catalog.named(name).map((pet) => pet.name))).toEqual(names);
  });
});

it('a row costs the same in a catalog of any size: no statement reads all pets of a service', async () => {
  const { database } = await emptyCatalog();
  const plans = new Set<unknown>();
  const see = (sql: string, values: readonly SqlValue[]) => {
    for (const { detail } of database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values)) plans.add(detail);
  };
  const seen: typeof database = {
    ...database,
    run: (sql, ...values) => (see(sql, values), database.run(sql, ...values)),
    all: (sql, ...values) => (see(sql, values), database.all(sql, ...values)),
  };
  const { rows } = parseCatalog(FILE);
  for (let times = 0; times < 2; times++) await storeRows(seen, 'here', rows, false, () => Promise.resolve());
  expect([...plans].filter((plan) => /^SCAN|\(origin=\?\)$/.test(String(plan)))).toEqual([]);
});

describe('rows of a file', () => {
  /** Header petId,name,barcode. */
  const check = async (lines: string, force = false) => {
    const { catalog, database, store } = await emptyCatalog();
    await store(parseCatalog(FILE).rows);
    database.run('UPDATE catalogBarcode SET forced = 1 WHERE barcode = ?', B);
    const { rows, problems } = parseCatalog(`petId,name,barcode\n${lines}`);
    const all = [...problems, ...(await store(rows, force))];
    return { catalog, problems: all.map(({ line, reason }) => `${line}: ${reason}`) };
  };

  it.each([
    ['several rows of a pet', '7,Rex,4006381333931\n7,,036000291452', 7n, 'Rex', [A, C]],
    ['several codes in a cell', '7,Rex,4006381333931 73513537;36000291452|73513537', 7n, 'Rex', [A, B, C]],
    ['a barcode of a pet that loses it', '7,Rex,\n8,Mia,4006381333931', 8n, 'Mia', [A]],
    ['a name after a quote', "7,'-Rex,", 7n, '-Rex', []],
    ['its own id as a barcode', '4006381333931,Rex,4006381333931\n7,,', 4006381333931n, 'Rex', [A]],
  ])('%s', async (_name, lines, petId, name, barcodes) => {
    const { catalog, problems } = await check(lines);
    expect(problems).toEqual([]);
    const pet = [...catalog.entries()].flat().find((entry) => entry.petId === petId);
    expect(pet).toMatchObject({ name, barcodes: barcodes.toSorted() });
  });

  it.each([
    ['8,,4006381333931', '2: barcode 4006381333931 belongs to pet 7'],
    ['8,,36000291452\n9,,036000291452', '3: barcode 036000291452 belongs to pet 8 (line 2)'],
    ['8,,36000291453', '2: barcode 36000291453 has the wrong check digit: it ends in 3 and should end in 2'],
    ['8,,17\n17,x,', '2: barcode 00000017 is also the id of pet 17; to have both, add --force'],
    ['4006381333931,x,', '2: petId 4006381333931 is also a barcode of pet 7; to have both, add --force'],
    ['8,Rex,\n8,Max,', '3: pet 8 has the name "Rex" on an earlier line, and "Max" here'],
    [
      '8,Rex,a b',
      '2: barcode "a" must be the digits of an EAN-8, EAN-13 or UPC-A code; barcode "b" must be the digits of an EAN-8, EAN-13 or UPC-A code',
    ],
    ['8,"R\u202ex",', '2: name "R\\u202ex" has a character that cannot be printed'],
  ])('%j is refused', async (lines, problem) => {
    expect((await check(lines)).problems).toEqual([problem]);
  });

  it('--force allows the digits of an id, and not the barcode of another pet', async () => {
    expect((await check('8,,17\n17,x,\n4006381333931,y,', true)).problems).toEqual([]);
    expect((await check('8,,73513537', true)).problems).toEqual(['2: barcode 73513537 belongs to pet 7']);
    // It has the digits of its own id, or was stored with --force.
    const { store } = await emptyCatalog();
    await store(parseCatalog('petId,barcode\n73513537,73513537').rows);
    expect(await store(parseCatalog('petId,name\n73513537,Rex').rows)).toEqual([]);
    expect((await check('73513537,x,')).problems).toEqual([]);
  });

  it('without a column, what it would have stays', () => {
    const { rows } = parseCatalog('Pet ID;EAN\n7;73513537', [parseMapping('ean=barcode', CATALOG_FILE)!]);
    expect(rows).toEqual([{ line: 2, petId: 7n, name: undefined, barcodes: ['73513537'] }]);
  });

  it.each([
    [
      'petId,price\n7,1',
      'no column is named name (or barcode, min, target); the columns are "petId", "price"; name one with --map "HEADING=name"',
    ],
    ['7,Rex\n', 'the first line must be a header such as petId,name,barcode'],
    ['petId,name\n', 'the file has no rows'],
  ])('%j is refused', (text, problem) => {
    expect(parseCatalog(text).problems.map(({ reason }) => reason)).toEqual([problem]);
  });
});

it.each([25, 3_000])('the orders of a list of %i pets take few rows of a large catalog', async (listed) => {
  const { catalog, database, store } = await emptyCatalog();
  await store(Array.from({ length: 5_000 }, (_, i) => ({ line: i, petId: BigInt(i), min: 3n, target: 10n })));
  let read = 0;
  const { all } = database;
  database.all = (...query) => {
    const rows = all(...query);
    read += rows.length;
    return rows;
  };
  const orders = ordersOf(true, catalog)!;
  for (let i = 0; i < listed; i++) {
    expect(orders({ petId: BigInt(i), quantity: BigInt(i % 5), status: 'available' })).toBe([10n, 9n, 8n, 7n][i % 5]);
  }
  expect(read).toBeLessThanOrEqual(2 * listed);
});
