/** Against rate-limiter-flexible with the headers of its README, and koa-ratelimit in memory. */
import { describe, it } from 'vitest';
import { flexibleLimiter, koaLimiter } from './node-limiters.ts';
import { drained, eight, imported, longBlock, loop } from './scenarios.ts';

describe.each([
  ['rate-limiter-flexible', flexibleLimiter('all')],
  ['koa-ratelimit', koaLimiter],
])('%s', (_name, limiter) => {
  it('one process after another: no refusal', () => loop(limiter, { limit: 6, windowMs: 2_000 }), 100_000);

  it('eight processes at once: no refusal', () => eight(limiter, { limit: 16, windowMs: 2_000 }, 3), 100_000);

  it(
    'an import of 200 rows: no refusal, every window used',
    () => imported(limiter, { limit: 70, windowMs: 3_000 }, 200),
    100_000,
  );

  it(
    'fault 134: another client takes the windows of an import twice: one strike each, and it continues',
    () => drained(limiter, { limit: 30, windowMs: 2_000 }, 60),
    100_000,
  );

  it('a block of 90 s: nothing more is sent', () => longBlock(limiter), 120_000);
});

it(
  'fault 31: a block of 90 s, sent as a fraction in Retry-After alone: nothing more is sent',
  () => longBlock(flexibleLimiter('Retry-After alone')),
  120_000,
);
