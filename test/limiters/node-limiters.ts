/** Rate limiters for Node in front of the stock, set up as in their READMEs. */
import fastifyRateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit';
import express from 'express';
import { type Options as ExpressOptions, rateLimit } from 'express-rate-limit';
import Fastify, { type FastifyInstance } from 'fastify';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { onCleanup } from '../support/cleanup.ts';
import type { Handler } from '../support/served.ts';
import type { Limiter } from './scenarios.ts';
import { serve, type Stock } from './stock.ts';

/** express-rate-limit with its legacy headers, or those of a draft. */
export function expressLimiter(headers: 'legacy' | 'draft-6' | 'draft-7' | 'draft-8'): Limiter {
  return ({ limit, windowMs, stock }) => {
    const headerOptions: Partial<ExpressOptions> =
      headers === 'legacy'
        ? { legacyHeaders: true, standardHeaders: false }
        : { legacyHeaders: false, standardHeaders: headers };
    const app = express();
    app.use(rateLimit({ windowMs, limit, ...headerOptions }));
    app.use(serve(stock));
    return app as Handler;
  };
}

/** @fastify/rate-limit with one limit for all routes. */
export const fastifyLimiter: Limiter = ({ limit, windowMs, stock }) =>
  fastifyWith(stock, { max: limit, timeWindow: windowMs });

/** The same, which bans a client (403) that continues after two refusals. */
export const fastifyBan: Limiter = ({ limit, windowMs, stock }) =>
  fastifyWith(stock, { max: limit, timeWindow: windowMs, ban: 1 });

/** Reads 100 an hour, writes as the scenario has them. */
export const fastifyRoutes: Limiter = ({ limit, windowMs, stock }) =>
  fastifyWith(
    stock,
    { global: false },
    { reads: { max: 100, timeWindow: 3_600_000 }, writes: { max: limit, timeWindow: windowMs } },
  );

interface RouteLimits {
  readonly reads: { readonly max: number; readonly timeWindow: number };
  readonly writes: { readonly max: number; readonly timeWindow: number };
}

async function fastifyWith(stock: Stock, options: RateLimitPluginOptions, routes?: RouteLimits): Promise<Handler> {
  const app: FastifyInstance = Fastify();
  await app.register(fastifyRateLimit, options);
  const config = (rateLimit: RouteLimits['reads'] | undefined) =>
    rateLimit === undefined ? {} : { config: { rateLimit } };
  app.get('/v1/inventory', config(routes?.reads), () => Promise.resolve(stock.list()));
  app.patch('/v1/inventory/:pet', config(routes?.writes), ({ params, body }) =>
    Promise.resolve(stock.set(Number((params as { pet: string }).pet), body)),
  );
  await app.ready();
  onCleanup(() => app.close());
  return (req, res) => {
    app.routing(req, res);
  };
}

/** rate-limiter-flexible with the headers that its README shows, or with the first of them alone. */
export function flexibleLimiter(headers: 'all' | 'Retry-After alone'): Limiter {
  return ({ limit, windowMs, stock }) => {
    const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1_000 });
    const service = serve(stock);
    return async (req, res) => {
      const result = await limiter.consume('key').catch((refusal: unknown) => {
        if (refusal instanceof RateLimiterRes) return refusal;
        throw refusal;
      });
      res.setHeader('Retry-After', result.msBeforeNext / 1_000);
      if (headers === 'all') {
        res.setHeader('X-RateLimit-Limit', limit);
        res.setHeader('X-RateLimit-Remaining', result.remainingPoints);
        res.setHeader('X-RateLimit-Reset', Math.ceil((Date.now() + result.msBeforeNext) / 1_000));
      }
      if (result.consumedPoints <= limit) return service(req, res);
      res.statusCode = 429;
      res.end('Too Many Requests');
    };
  };
}
