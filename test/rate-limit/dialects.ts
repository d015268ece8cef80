/** Headers of rate limiters that cannot run here, from their documentation. */

export interface Counted {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window ends, and when that is, epoch s. */
  readonly left: number;
  readonly end: number;
}

export interface Dialect {
  readonly name: string;
  /** Headers of each answer. */
  readonly limits: (counted: Counted) => Readonly<Record<string, string | readonly string[]>>;
  /** Added where a request is refused. */
  readonly refusal: (counted: Counted) => Readonly<Record<string, string | readonly string[]>>;
  /** Default 429. */
  readonly status?: number;
  /** True when answers have limit, remaining and reset, so that nothing need ever be refused. */
  readonly hasLimits: boolean;
  /** The refusal names its time. */
  readonly isNamed: boolean;
}

const nothing = (): Record<string, string> => ({});
const retryAfter = ({ left }: Counted): Record<string, string> => ({ 'Retry-After': `${left}` });

export const DIALECTS: readonly Dialect[] = [
  {
    name: 'Envoy, X-RateLimit-Limit with its window, no Retry-After',
    limits: ({ limit, remaining, left }) => ({
      'x-ratelimit-limit': `${limit}, ${limit};w=90`,
      'x-ratelimit-remaining': `${remaining}`,
      'x-ratelimit-reset': `${left}`,
    }),
    refusal: () => ({ 'x-envoy-ratelimited': 'true' }),
    hasLimits: true,
    isNamed: true,
  },
  {
    name: 'GitHub, primary limit (403, remaining 0)',
    limits: ({ limit, remaining, end }) => ({
      'x-ratelimit-limit': `${limit}`,
      'x-ratelimit-remaining': `${remaining}`,
      'x-ratelimit-reset': `${end}`,
      'x-ratelimit-used': `${limit - remaining}`,
      'x-ratelimit-resource': 'core',
    }),
    refusal: nothing,
    status: 403,
    hasLimits: true,
    isNamed: true,
  },
  {
    name: 'GitHub, secondary limit (429 while thousands remain)',
    limits: ({ end }) => ({
      'x-ratelimit-limit': '5000',
      'x-ratelimit-remaining': '4990',
      'x-ratelimit-reset': `${end + 3_000}`,
    }),
    refusal: retryAfter,
    hasLimits: false,
    isNamed: true,
  },
  {
    name: 'Discord, a fraction of an epoch',
    limits: ({ limit, remaining, left, end }) => ({
      'X-RateLimit-Limit': `${limit}`,
      'X-RateLimit-Remaining': `${remaining}`,
      'X-RateLimit-Reset': `${end}.421`,
      'X-RateLimit-Reset-After': `${left}.421`,
      'X-RateLimit-Bucket': 'abcd1234',
    }),
    refusal: ({ left }) => ({ 'Retry-After': `${left}.421`, 'X-RateLimit-Scope': 'user' }),
    hasLimits: true,
    isNamed: true,
  },
  {
    name: 'Laravel, a reset only where it refuses',
    limits: ({ limit, remaining }) => ({ 'X-RateLimit-Limit': `${limit}`, 'X-RateLimit-Remaining': `${remaining}` }),
    refusal: ({ left, end }) => ({ 'Retry-After': `${left}`, 'X-RateLimit-Reset': `${end}` }),
    hasLimits: true,
    isNamed: true,
  },
  {
    name: 'Shopify, a leaky bucket',
    limits: ({ limit, remaining }) => ({ 'X-Shopify-Shop-Api-Call-Limit': `${limit - remaining}/${limit}` }),
    refusal: ({ left }) => ({ 'Retry-After': `${left}.0` }),
    hasLimits: false,
    isNamed: true,
  },
  {
    name: 'Stripe, no limit headers',
    limits: nothing,
    refusal: () => ({ 'Stripe-Rate-Limited-Reason': 'global-rate' }),
    hasLimits: false,
    isNamed: false,
  },
  {
    name: 'a reset alone',
    limits: nothing,
    refusal: ({ end }) => ({ 'X-RateLimit-Reset': `${end}` }),
    hasLimits: false,
    isNamed: true,
  },
];
