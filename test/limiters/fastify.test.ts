/** Against @fastify/rate-limit: one limit for all routes, limits for each route, and its ban. */
import { expect, it } from 'vitest';
import { fastifyBan, fastifyLimiter, fastifyRoutes } from './node-limiters.ts';
import { bench, importOf, oneLimit } from './scenarios.ts';
import { refused, strikes } from './judge.ts';

oneLimit(fastifyLimiter);

const ROUTES = { limit: 6, windowMs: 3_000 };

it('fault 133: reads 100 an hour, writes 6 in 3 s: a list stalls no write', async () => {
  const { front, stock, run } = await bench((all) => fastifyRoutes({ ...ROUTES, stock: all }));
  const codes = [(await run(['inventory', 'list'])).code];
  for (let pet = 1; pet <= 14; pet++) codes.push((await run(['inventory', 'set', `${pet}`, '5'])).code);
  codes.push((await run(['inventory', 'list'])).code);
  expect({ codes: [...new Set(codes)], refused: refused(front.log), set: stock.changed }).toEqual({
    codes: [0],
    refused: [],
    set: 14,
  });
});

it('fault 133: the same limits, an import of 20 rows: no refusal', async () => {
  const { front, stock, run, file } = await bench((all) => fastifyRoutes({ ...ROUTES, stock: all }));
  const { code } = await run(importOf(file(20)));
  expect({ code, refused: refused(front.log), set: stock.changed }).toEqual({ code: 0, refused: [], set: 20 });
});

it('fault 126: its ban (403): nothing more is sent, and every command ends with 12, however long it may wait', async () => {
  const { front, run } = await bench((stock) => fastifyBan({ limit: 3, windowMs: 20_000, stock }));
  front.drawBefore = (log) => (log.length === 1 ? 5 : 0);
  const codes = [];
  for (const args of [['set', '1', '5'], ['list'], ['set', '2', '5', '--wait']]) {
    codes.push((await run(['inventory', ...args])).code);
  }
  expect({ sent: front.log.map(({ status }) => status), codes }).toEqual({ sent: [403], codes: [12, 12, 12] });
  expect(strikes(front.log)).toEqual([]);
});
