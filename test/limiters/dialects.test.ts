/** Against scripted servers that imitate well-known services and gateways. */
import { describe, expect, it } from 'vitest';
import { type Counted, type Dialect, DIALECTS } from './dialects.ts';
import type { Handler } from './front.ts';
import { refused, strikes } from './judge.ts';
import { bench, blockedFor, importOf } from './scenarios.ts';
import { serve, type Stock } from './stock.ts';

const WINDOW_S = 90;
const LIMIT = 3;

/** Counts in one window that begins with the first request. */
function speaking({ limits, refusal, status = 429 }: Dialect, stock: Stock): Handler {
  const service = serve(stock);
  let used = 0;
  let began: number | undefined;
  return (req, res) => {
    const now = Date.now() / 1_000;
    const end = (began ??= now) + WINDOW_S;
    const isRefused = ++used > LIMIT;
    const counted: Counted = {
      limit: LIMIT,
      remaining: Math.max(0, LIMIT - used),
      left: Math.ceil(end - now),
      end: Math.ceil(end),
    };
    const headers = { ...limits(counted), ...(isRefused && refusal(counted)) };
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    if (!isRefused) return service(req, res);
    res.statusCode = status;
    res.end('{}');
  };
}

describe.each(DIALECTS.map((dialect) => ({ ...dialect })))('$name', (dialect) => {
  it('fault 31: a refusal for 90 s: nothing more is sent', async () => {
    const { front, run, file } = await bench((stock) => speaking(dialect, stock));
    front.drawBefore = (log) => (log.length === 1 ? LIMIT : 0);
    await blockedFor(front, run, file(3), (dialect.isNamed ? WINDOW_S : 60) * 1_000);
  }, 120_000);

  it.runIf(dialect.hasLimits)(
    'with the key to itself it is never refused',
    async () => {
      const { front, run } = await bench((stock) => speaking(dialect, stock));
      for (let pet = 1; pet <= LIMIT + 2; pet++) await run(['inventory', 'set', `${pet}`, '5', '--max-wait', '3s']);
      expect({ refused: refused(front.log), strikes: strikes(front.log) }).toEqual({ refused: [], strikes: [] });
    },
    60_000,
  );
});

it('without limit headers, an import says so once, not before each row', async () => {
  const { front, runPlain, file } = await bench((stock) => serve(stock));
  const { code, notes } = await runPlain(importOf(file(8)));
  expect({ code, refused: refused(front.log) }).toEqual({ code: 0, refused: [] });
  expect(notes.filter((line) => /unknown|pace|one a second/i.test(line)).length).toBeLessThanOrEqual(2);
}, 60_000);
