/** Against servers that limit: nginx, with 429 and with its default, 503; HAProxy, which also counts refused requests. */
import { describe, expect, it } from 'vitest';
import type { Entry } from './front.ts';
import { refused, strikes } from './judge.ts';
import { haproxyBefore, hasHaproxy, hasNginx, nginxBefore } from './native.ts';
import { bench, importOf } from './scenarios.ts';
import { serve } from './stock.ts';

const ZONE = 'limit_req_zone $http_authorization zone=key:1m rate=4r/s;';
/** Empty values are not sent. */
const RETRY_AFTER = 'map $status $wait { 503 2; 429 2; default ""; }';
/** An app that tells far wider limits than nginx keeps: nothing makes petstore go slowly. */
const wide = (): Record<string, string> => ({
  'x-ratelimit-limit': '1000',
  'x-ratelimit-remaining': '900',
  'x-ratelimit-reset': `${Math.ceil(Date.now() / 1_000) + 3_600}`,
});

const statuses = (log: readonly Entry[], status: number): number => log.filter((each) => each.status === status).length;

describe.skipIf(!hasNginx)('nginx', () => {
  it.each(['429', '503'])('limit_req, %s, no limits sent: an import of 8 rows is never refused', async (status) => {
    const { front, stock, run, file } = await bench((all) =>
      nginxBefore(serve(all), {
        http: ZONE,
        location: `limit_req zone=key burst=4 nodelay; limit_req_status ${status};`,
      }),
    );
    const { code } = await run(importOf(file(8)));
    expect({ code, refused: refused(front.log), set: stock.changed }).toEqual({ code: 0, refused: [], set: 8 });
  });

  it.each([429, 503])(
    'fault 135: limit_req, %i with Retry-After, eight processes: nothing is sent meanwhile',
    async (status) => {
      const { front, run } = await bench((all) =>
        nginxBefore(serve(all, wide()), {
          http: `${ZONE} ${RETRY_AFTER}`,
          location: `limit_req zone=key burst=4 nodelay; limit_req_status ${status}; add_header Retry-After $wait always;`,
        }),
      );
      // Again before a later request if none was refused: on a busy machine, what was drawn may be back too soon.
      front.drawBefore = (log) => (log.length % 8 === 2 && statuses(log, status) === 0 ? 10 : 0);
      await run(['inventory', 'list']);
      const one = async (first: number): Promise<void> => {
        for (let pet = first; pet < first + 3; pet++) await run(['inventory', 'set', `${pet}`, '5']);
      };
      await Promise.all(Array.from({ length: 8 }, (_, i) => one(1 + 3 * i)));
      expect({ strikes: strikes(front.log), wasRefused: statuses(front.log, status) > 0 }).toEqual({
        strikes: [],
        wasRefused: true,
      });
    },
  );

  it('fault 135: limit_conn, 503 without a time, wide limits sent: an import runs to its end, seldom refused', async () => {
    const { front, stock, run, file } = await bench((all) =>
      nginxBefore(serve(all, wide(), 300), {
        http: 'limit_conn_zone $http_authorization zone=key:1m;',
        location: 'limit_conn key 1;',
      }),
    );
    const { code, error } = await run(importOf(file(40)));
    expect({ code, error: error?.message, set: stock.changed }).toEqual({ code: 0, error: undefined, set: 40 });
    expect(statuses(front.log, 503)).toBeLessThan(6);
  });
});

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
