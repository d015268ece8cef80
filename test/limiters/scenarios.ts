/** Scenarios for each rate limiter, run by real processes that share one home folder. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { runPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';
import { type JsonRun, takeApart } from '../support/staging.ts';
import type { Handler } from '../support/served.ts';
import { type Front, startFront } from './front.ts';
import { refused, strikes, windowsUsed } from './judge.ts';
import { Stock } from './stock.ts';

/** A limiter that lets `limit` requests through in each window. */
export interface Limited {
  readonly limit: number;
  readonly windowMs: number;
  readonly stock: Stock;
}

export type Limiter = (limited: Limited) => Promise<Handler> | Handler;

export interface Bench {
  readonly front: Front;
  readonly stock: Stock;
  /** With --json. */
  run(args: readonly string[]): Promise<JsonRun>;
  /** A file that sets pets 1 to `rows`. */
  file(rows: number): string;
}

export async function bench(limiter: (stock: Stock) => Promise<Handler> | Handler, pets = 250): Promise<Bench> {
  const stock = new Stock(pets);
  const front = await startFront(await limiter(stock));
  const home = createHome();
  const ours = { home, env: front.env };
  return {
    front,
    stock,
    async run(args) {
      return takeApart(await runPetstore(['--json', ...args], ours));
    },
    file(rows) {
      const path = join(home.path, 'stock.csv');
      const lines = Array.from({ length: rows }, (_, i) => `${i + 1},${quantityOf(i + 1)}`);
      writeFileSync(path, ['petId,quantity', ...lines, ''].join('\n'));
      return path;
    },
  };
}

const quantityOf = (pet: number): number => 100 + pet;
export const importOf = (file: string): string[] => ['inventory', 'import', file, '--yes', '--wait', '--reserve', '0'];

/** Pets of the first so many whose stock is not as it was set. */
const wrong = (stock: Stock, pets: number): number[] =>
  Array.from({ length: pets }, (_, i) => i + 1).filter((pet) => stock.item(pet).quantity !== quantityOf(pet));

/** An import with the key to itself: no refusal, and no window left out for long, however busy this machine is. */
export async function imported(limiter: Limiter): Promise<void> {
  const [rows, limit, windowMs] = [30, 12, 2_000];
  const { front, stock, run, file } = await bench((all) => limiter({ limit, windowMs, stock: all }));
  const { code, error } = await run(importOf(file(rows)));
  expect({ code, error: error?.message, refused: refused(front.log), wrong: wrong(stock, rows) }).toEqual({
    code: 0,
    error: undefined,
    refused: [],
    wrong: [],
  });
  const ideal = Math.ceil(front.log.length / limit);
  expect(windowsUsed(front.log, windowMs)).toBeLessThanOrEqual(2 * ideal + 1);
}

/**
 * Another client takes the rest of the window while requests of an import are under way, and the whole of the next one
 * just before the import asks again: it waits, and continues.
 */
export async function drained(limiter: Limiter): Promise<void> {
  const [rows, limit, windowMs] = [60, 30, 2_000];
  const { front, stock, run, file } = await bench((all) => limiter({ limit, windowMs, stock: all }));
  let draws = 0;
  front.drawBefore = (log) => {
    const first = refused(log)[0];
    const isDue = first === undefined ? log.length >= 10 : log.at(-1)!.at > first.answeredAt + 1_000;
    if (draws === (first === undefined ? 0 : 1) && isDue) {
      draws++;
      return limit;
    }
    return 0;
  };
  const { code, error } = await run(importOf(file(rows)));
  expect({ strikes: strikes(front.log), wasRefused: refused(front.log).length > 0 }).toEqual({
    strikes: [],
    wasRefused: true,
  });
  expect({ code, error: error?.message, wrong: wrong(stock, rows) }).toEqual({ code: 0, error: undefined, wrong: [] });
}

const LONG_BLOCK_MS = 90_000;

/** The first request of all is refused for 90 s. Whatever is run then sends nothing, and knows until when. */
export async function longBlock(limiter: Limiter): Promise<void> {
  const { front, run, file } = await bench((stock) => limiter({ limit: 3, windowMs: LONG_BLOCK_MS, stock }));
  front.drawBefore = (log) => (log.length === 1 ? 3 : 0);
  const from = Date.now();
  const first = await run(['inventory', 'set', '1', '5', '--max-wait', '1s']);
  const others = [await run(['inventory', 'list', '--max-wait', '1s'])];
  others.push(await run(['inventory', 'import', file(3), '--yes', '--no-wait']));
  others.push(await run(['inventory', 'set', '2', '5', '--max-wait', '1s']));
  const isKnown = others.map(({ error }) => new Date(String(error?.retryAt)).getTime() - from >= LONG_BLOCK_MS - 5_000);
  expect({
    strikes: strikes(front.log),
    sent: front.log.length,
    codes: [first, ...others].map(({ code }) => code),
    isKnown,
  }).toEqual({ strikes: [], sent: 1, codes: [6, 6, 6, 6], isKnown: [true, true, true] });
}
