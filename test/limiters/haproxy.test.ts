/** Against HAProxy's stick tables, which also count refused requests. */
import { describe, expect, it } from 'vitest';
import { refused, strikes } from './judge.ts';
import { haproxyBefore, hasHaproxy } from './native.ts';
import { bench, importOf, isFull } from './scenarios.ts';
import { serve } from './stock.ts';

/** Sends no limits; some rules send how long to wait. */
const rules = (limit: number, seconds: number, refusal: string): string => `
  stick-table type string len 64 size 1k expire 60s store http_req_rate(${seconds}s)
  http-request track-sc0 req.hdr(authorization)
  http-request return status 429 ${refusal} if { sc_http_req_rate(0) gt ${limit} }`;

describe.skipIf(!hasHaproxy)('HAProxy', () => {
  it('4 requests in 5 s, Retry-After: an import of 12 rows learns a pace that is not refused', async () => {
    const { front, stock, run, file } = await bench((all) =>
      haproxyBefore(serve(all), rules(4, 5, 'hdr Retry-After 5')),
    );
    const { code } = await run(importOf(file(12)));
    expect({ code, strikes: strikes(front.log), set: stock.changed }).toEqual({ code: 0, strikes: [], set: 12 });
    expect(refused(front.log).length).toBeLessThanOrEqual(2);
  }, 100_000);

  it.runIf(isFull)(
    '6 requests in 10 s, no limits sent: the pace of one a second is not kept for ever',
    async () => {
      const { front, stock, run, file } = await bench((all) => haproxyBefore(serve(all), rules(6, 10, '')));
      const { code } = await run(importOf(file(40)), { killAfterMs: 900_000 });
      expect({ code, strikes: strikes(front.log), set: stock.changed }).toEqual({ code: 0, strikes: [], set: 40 });
      expect(refused(front.log).length).toBeLessThanOrEqual(3);
    },
    920_000,
  );
});
