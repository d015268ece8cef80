/**
 * Compares the streaming reader of lists with JSON.parse: for any text, cut anywhere, both read the same values,
 * integers digit for digit, and stop at the same row. A case is one text cut at one byte.
 *
 *   PETSTORE_FUZZ_CASES=10000000 npm test -- test/api/list-fuzz.test.ts   many more cases
 *   PETSTORE_FUZZ_SEED=7 npm test -- test/api/list-fuzz.test.ts           other texts
 */
import { expect, it } from 'vitest';
import type { InventoryItem } from '../../src/api/item.ts';
import { type JsonValue, RawNumber } from '../../src/api/json.ts';
import { readInventoryList } from '../../src/api/read-list.ts';
import { Failure } from '../../src/errors.ts';
import { seeded } from '../../src/sandbox/faults.ts';
import { scaled } from '../support/scale.ts';

const CASES = Number(process.env.PETSTORE_FUZZ_CASES ?? scaled(30_000));
const SEED = Number(process.env.PETSTORE_FUZZ_SEED ?? 1);

function randomFrom(seed: number): (below: number) => number {
  const random = seeded(seed);
  return (below) => Math.floor(random() * below);
}

type Random = ReturnType<typeof randomFrom>;
const pick = <T>(random: Random, from: readonly T[]): T => from[random(from.length)]!;

const SPACES = ['', '', '', '', ' ', '\n', ' \t\r\n'];
const INTEGERS = [
  '0', '7', '-1', '42', '9007199254740993', '999999999999999999', '1000000000000000000', '9223372036854775807',
  '-9223372036854775808', '9223372036854775808', '-9223372036854775809', '12345678901234567890123',
]; // prettier-ignore
const ODD_NUMBERS = ['-0', '1.0', '1.50', '1e3', '-2E-2', '0.1e+1', '01', '-', '1.', '1e', '.5', '+1', '0x1', 'NaN'];
const STATUSES = ['"available"', '"pending"', '"sold"', '"on-loan"', '""', '"a b"', '"\\u00e9\\n"', '"é猫"', '"\\ud83d\\ude00"', '"\\ud800"']; // prettier-ignore
const ODD_STATUSES = ['null', '7', '"\\x"', '"\\u12g4"', '"a\nb"', '"open', 'available', '{}'];
const VALUES = ['true', 'false', 'null', 'tru', '[]', '[1,[2.5]]', '{"b":{"c":[]}}', '"x"', '[1,]', '{"b":1,}', ...INTEGERS]; // prettier-ignore
const SCRAPS = ['{', '}', '[', ']', ',', ':', '"', '\\', '0', '1', '-', '.', 'e', ' ', '\n', 'x', 'é', 'null', ',,'];

/** @param gap white space between all tokens; by default there is some here and there */
function anyRow(random: Random, gap?: string): string {
  if (random(40) === 0) return pick(random, [...VALUES, ...ODD_NUMBERS]);
  const space = (): string => gap ?? (random(3) === 0 ? pick(random, SPACES) : '');
  const integer = (): string =>
    pick(random, random(30) === 0 ? ODD_NUMBERS : INTEGERS.slice(0, random(3) === 0 ? 12 : 9));
  const members = [
    ['"petId"', integer()],
    [random(30) === 0 ? '"qu\\u0061ntity"' : '"quantity"', integer()],
    ['"status"', pick(random, random(30) === 0 ? ODD_STATUSES : STATUSES.slice(0, random(2) === 0 ? 3 : undefined))],
  ];
  if (random(8) === 0) members.splice(random(4), 0, [`"f${random(3)}"`, pick(random, VALUES)]);
  if (random(8) === 0) members.reverse();
  if (random(30) === 0) members.splice(random(members.length), 1);
  const text = members.map(([name, value]) => `${space()}${name}${space()}:${space()}${value}${space()}`);
  return `${space()}{${text.join(',')}}${space()}`;
}

function anyText(random: Random): string {
  // As most services write them, or with white space anywhere.
  const gap = random(2) === 0 ? pick(random, SPACES) : undefined;
  const rows = Array.from({ length: random(5) }, () => anyRow(random, gap));
  let text = `${pick(random, SPACES)}[${rows.join(',')}]${pick(random, SPACES)}`;
  for (let changes = random(2) === 0 ? 0 : 1 + random(2); changes > 0; changes--) {
    const at = random(text.length + 1);
    const end = random(5) === 0 ? text.length : at + random(3);
    text = text.slice(0, at) + (random(2) === 0 ? pick(random, SCRAPS) : '') + text.slice(end);
  }
  return text;
}

/** One line for each item before the first bad one, and whether it was a list without one. */
interface Outcome {
  readonly items: readonly string[];
  readonly isGood: boolean;
}

/** A number by its own text, so that nothing is rounded. */
class Source {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const parse = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { source: string }) => unknown,
) => unknown;

/** The rows that JSON.parse reads; undefined: it is not JSON, or not an array. */
function parsed(text: string): unknown[] | undefined {
  try {
    const value = parse(text, (_key, each, { source }) => (typeof each === 'number' ? new Source(source) : each));
    return Array.isArray(value) ? (value as unknown[]) : undefined;
  } catch {
    return undefined;
  }
}

/** By JSON.parse alone, and the contract in a few words. */
function expected(text: string): Outcome {
  const whole = parsed(text);
  const items: string[] = [];
  for (const row of whole ?? rowsBefore(text)) {
    const item = itemIn(row);
    if (item === undefined) return { items, isGood: false };
    items.push(item);
  }
  return { items, isGood: whole !== undefined };
}

/** The rows of the longest beginning that only lacks its bracket. */
function rowsBefore(text: string): unknown[] {
  for (let end = text.length; end > 0; end--) {
    const rows = parsed(`${text.slice(0, end)}]`);
    if (rows !== undefined) return rows;
  }
  return [];
}

function itemIn(row: unknown): string | undefined {
  if (typeof row !== 'object' || row === null || Array.isArray(row) || row instanceof Source) return undefined;
  const { petId, quantity, status, ...extra } = row as Record<string, unknown>;
  if (!(petId instanceof Source && quantity instanceof Source && typeof status === 'string')) return undefined;
  if (![petId, quantity].every(({ text }) => /^(0|-?[1-9][0-9]*)$/.test(text))) return undefined;
  if (BigInt.asIntN(64, BigInt(petId.text)) !== BigInt(petId.text)) return undefined;
  return `${petId.text} ${quantity.text} ${JSON.stringify(status)} ${plain(extra)}`;
}

function plain(value: unknown): string {
  if (value instanceof Source) return value.text;
  if (value instanceof RawNumber) return value.source;
  if (typeof value === 'bigint' || typeof value === 'number') return value.toString();
  if (Array.isArray(value)) return `[${value.map(plain).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members: [string, unknown][] = value instanceof Map ? [...(value as Map<string, JsonValue>)] : Object.entries(value); // prettier-ignore
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${plain(member)}`).join()}}`;
}

async function actual(chunks: readonly Uint8Array[]): Promise<Outcome | 'name twice'> {
  const read: InventoryItem[] = [];
  try {
    for await (const batch of readInventoryList(ReadableStream.from(chunks))) read.push(...batch);
    return { items: read.map(shown), isGood: true };
  } catch (error) {
    if (!(error instanceof Failure && error.is('contract'))) throw error;
    if (error.details.problem.includes('duplicate key')) return 'name twice';
    return { items: read.map(shown), isGood: false };
  }
}

const shown = ({ petId, quantity, status, extra }: InventoryItem): string =>
  `${petId} ${quantity} ${JSON.stringify(status)} ${plain(extra ?? new Map())}`;

it(`differs from JSON.parse in nothing but exact integers, ${CASES} cases`, async () => {
  const random = randomFrom(SEED);
  const ends = new Set<boolean>();
  for (let cases = 0; cases < CASES;) {
    const text = anyText(random);
    const bytes = new TextEncoder().encode(text);
    const wanted = expected(text);
    const label = JSON.stringify(text);
    const whole = await actual([bytes]);
    // JSON.parse takes a name that is there twice (RFC 8259, section 4, leaves it open); the reader does not.
    if (whole === 'name twice') continue;
    expect(whole, label).toEqual(wanted);
    const cuts = [[...bytes].map((byte) => Uint8Array.of(byte))];
    for (let at = 1; at < bytes.length; at++) cuts.push([bytes.subarray(0, at), bytes.subarray(at)]);
    for (const [at, cut] of cuts.entries()) {
      const outcome = await actual(cut);
      // Quicker than `toEqual`, of which there would be millions.
      if (JSON.stringify(outcome) !== JSON.stringify(wanted)) {
        expect(outcome, `${label} ${at === 0 ? 'byte by byte' : `cut at ${at}`}`).toEqual(wanted);
      }
    }
    ends.add(wanted.isGood);
    cases += bytes.length + 1;
  }
  expect(ends.size).toBe(2);
}, 3_600_000);
