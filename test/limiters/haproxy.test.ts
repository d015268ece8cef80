/** Against HAProxy's stick tables, which also count refused requests. */
import { expect, it } from 'vitest';
import { refused, strikes } from './judge.ts';
import { haproxyBefore, hasHaproxy } from './native.ts';
import { bench, importOf } from './scenarios.ts';
import { serve } from './stock.ts';

/** Four requests in 5 s. Sends no limits. */
const RULES = `
  stick-table type string len 64 size 1k expire 60s store http_req_rate(5s)
  http-request track-sc0 req.hdr(authorization)
  http-request return status 429 hdr Retry-After 5 if { sc_http_req_rate(0) gt 4 }`;

it.skipIf(!hasHaproxy)(
  'HAProxy: 4 requests in 5 s, Retry-After: an import of 12 rows learns a pace that is not refused',
  async () => {
    const { front, stock, run, file } = await bench((all) => haproxyBefore(serve(all), RULES));
    const { code } = await run(importOf(file(12)));
    expect({ code, strikes: strikes(front.log), set: stock.changed }).toEqual({ code: 0, strikes: [], set: 12 });
    expect(refused(front.log).length).toBeLessThanOrEqual(2);
  },
);
