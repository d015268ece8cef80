/**
 * Against rate limiters for Node that count in memory: express-rate-limit with its legacy headers, which have the same
 * names as the service's, rate-limiter-flexible with the headers of its README, and koa-ratelimit.
 */
import { describe, it } from 'vitest';
import { expressLimiter, flexibleLimiter, koaLimiter } from './node-limiters.ts';
import { drained, longBlock, oneLimit } from './scenarios.ts';

describe.each([
  ['express-rate-limit', expressLimiter('legacy')],
  ['rate-limiter-flexible', flexibleLimiter('all')],
  ['koa-ratelimit', koaLimiter],
])('%s', (_name, limiter) => {
  oneLimit(limiter);
});

it('fault 134: another client takes the windows of an import twice: one strike each, and it continues', () =>
  drained(expressLimiter('legacy')));

it('fault 31: a block of 90 s, sent as a fraction in Retry-After alone: nothing more is sent', () =>
  longBlock(flexibleLimiter('Retry-After alone')));
