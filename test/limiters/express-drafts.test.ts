/** Against express-rate-limit with the RateLimit headers of the IETF's drafts, one of them also behind nginx. */
import { describe, expect, it } from 'vitest';
import { refused, windowsUsed } from './judge.ts';
import { expressLimiter } from './node-limiters.ts';
import { hasNginx, nginxBefore } from './native.ts';
import { bench, importOf, longBlock, oneLimit } from './scenarios.ts';

describe.each(['draft-6', 'draft-7', 'draft-8'] as const)('%s', (draft) => {
  const limiter = expressLimiter(draft);

  oneLimit(limiter);

  it('4 requests in a window of 1 s, which its policy names: few windows, and no refusal', async () => {
    const { front, run, file } = await bench((stock) => limiter({ limit: 4, windowMs: 1_000, stock }));
    const { code } = await run(importOf(file(20)));
    expect({ code, refused: refused(front.log) }).toEqual({ code: 0, refused: [] });
    expect(windowsUsed(front.log, 1_000)).toBeLessThanOrEqual(10);
  });
});

it.skipIf(!hasNginx)('fault 31: a block of 90 s, sent twice by nginx in front of draft-8: nothing more is sent', () =>
  longBlock(async (limited) =>
    nginxBefore(await expressLimiter('draft-8')(limited), {
      http: '',
      location: 'add_header Retry-After 90 always;',
    }),
  ),
);
