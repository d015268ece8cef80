/** Against rate limiters for Node, set up as in their READMEs. */
import { describe, expect, it } from 'vitest';
import { refused, strikes, windowsUsed } from './judge.ts';
import { hasNginx, nginxBefore } from './native.ts';
import { expressLimiter, fastifyBan, fastifyLimiter, fastifyRoutes, flexibleLimiter } from './node-limiters.ts';
import { bench, drained, imported, importOf, longBlock } from './scenarios.ts';

// Each has one limit for all operations, and tells it.
describe.each([
  ['express-rate-limit, with its legacy headers, named as the service’s', expressLimiter('legacy')],
  ['express-rate-limit, draft-6', expressLimiter('draft-6')],
  ['express-rate-limit, draft-7', expressLimiter('draft-7')],
  ['express-rate-limit, draft-8', expressLimiter('draft-8')],
  ['rate-limiter-flexible', flexibleLimiter('all')],
  ['@fastify/rate-limit', fastifyLimiter],
])('%s', (_name, limiter) => {
  it('an import of 30 rows: no refusal, every window used', () => imported(limiter), 100_000);

  it('a block of 90 s: nothing more is sent', () => longBlock(limiter), 120_000);
});

it.each(['draft-6', 'draft-7', 'draft-8'] as const)(
  '%s: 4 requests in a window of 1 s, which its policy names: few windows, and no refusal',
  async (draft) => {
    const limiter = expressLimiter(draft);
    const { front, run, file } = await bench((stock) => limiter({ limit: 4, windowMs: 1_000, stock }));
    const { code } = await run(importOf(file(20)));
    expect({ code, refused: refused(front.log) }).toEqual({ code: 0, refused: [] });
    expect(windowsUsed(front.log, 1_000)).toBeLessThanOrEqual(10);
  },
);

it.skipIf(!hasNginx)('fault 31: a block of 90 s, sent twice by nginx in front of draft-8: nothing more is sent', () =>
  longBlock(async (limited) =>
    nginxBefore(await expressLimiter('draft-8')(limited), {
      http: '',
      location: 'add_header Retry-After 90 always;',
    }),
  ),
);

it('fault 134: another client takes the windows of an import twice: one strike each, and it continues', () =>
  drained(expressLimiter('legacy')));

it('fault 31: a block of 90 s, sent as a fraction in Retry-After alone: nothing more is sent', () =>
  longBlock(flexibleLimiter('Retry-After alone')));

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
