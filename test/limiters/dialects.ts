/** Headers of rate limiters that cannot be run here, as their documentation has them. */

export interface Counted {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window ends, and when that is, epoch s. */
  readonly left: number;
  readonly end: number;
}

export interface Dialect {
  readonly name: string;
  /** On each answer. */
  readonly told: (counted: Counted) => Readonly<Record<string, string | readonly string[]>>;
  /** Added where a request is refused. */
  readonly refusal: (counted: Counted) => Readonly<Record<string, string | readonly string[]>>;
  /** Default 429. */
  readonly status?: number;
  /** Answers tell limit, remaining and reset, so that nothing need ever be refused. */
  readonly isTold: boolean;
  /** The refusal names its time. */
  readonly isNamed: boolean;
}

const nothing = (): Record<string, string> => ({});
const retryAfter = ({ left }: Counted): Record<string, string> => ({ 'Retry-After': `${left}` });

export const DIALECTS: readonly Dialect[] = [
  {
    name: 'Envoy, X-RateLimit-Limit with its window, no Retry-After',
    told: ({ limit, remaining, left }) => ({
      'x-ratelimit-limit': `${limit}, ${limit};w=90`,
      'x-ratelimit-remaining': `${remaining}`,
      'x-ratelimit-reset': `${left}`,
    }),
    refusal: () => ({ 'x-envoy-ratelimited': 'true' }),
    isTold: true,
    isNamed: true,
  },
  {
    name: 'Kong',
    told: ({ limit, remaining, left }) => ({
      'RateLimit-Limit': `${limit}`,
      'RateLimit-Remaining': `${remaining}`,
      'RateLimit-Reset': `${left}`,
      'X-RateLimit-Limit-Minute': `${limit}`,
      'X-RateLimit-Remaining-Minute': `${remaining}`,
    }),
    refusal: retryAfter,
    isTold: true,
    isNamed: true,
  },
  {
    name: 'GitHub, primary limit (403, remaining 0)',
    told: ({ limit, remaining, end }) => ({
      'x-ratelimit-limit': `${limit}`,
      'x-ratelimit-remaining': `${remaining}`,
      'x-ratelimit-reset': `${end}`,
      'x-ratelimit-used': `${limit - remaining}`,
      'x-ratelimit-resource': 'core',
    }),
    refusal: nothing,
    status: 403,
    isTold: true,
    isNamed: true,
  },
  {
    name: 'GitHub, secondary limit (429 while thousands remain)',
    told: ({ end }) => ({
      'x-ratelimit-limit': '5000',
      'x-ratelimit-remaining': '4990',
      'x-ratelimit-reset': `${end + 3_000}`,
    }),
    refusal: retryAfter,
    isTold: false,
    isNamed: true,
  },
  {
    name: 'Discord, a fraction of an epoch',
    told: ({ limit, remaining, left, end }) => ({
      'X-RateLimit-Limit': `${limit}`,
      'X-RateLimit-Remaining': `${remaining}`,
      'X-RateLimit-Reset': `${end}.421`,
      'X-RateLimit-Reset-After': `${left}.421`,
      'X-RateLimit-Bucket': 'abcd1234',
    }),
    refusal: ({ left }) => ({ 'Retry-After': `${left}.421`, 'X-RateLimit-Scope': 'user' }),
    isTold: true,
    isNamed: true,
  },
  {
    name: 'Laravel, a reset only where it refuses',
    told: ({ limit, remaining }) => ({ 'X-RateLimit-Limit': `${limit}`, 'X-RateLimit-Remaining': `${remaining}` }),
    refusal: ({ left, end }) => ({ 'Retry-After': `${left}`, 'X-RateLimit-Reset': `${end}` }),
    isTold: true,
    isNamed: true,
  },
  {
    name: 'Shopify, a leaky bucket',
    told: ({ limit, remaining }) => ({ 'X-Shopify-Shop-Api-Call-Limit': `${limit - remaining}/${limit}` }),
    refusal: ({ left }) => ({ 'Retry-After': `${left}.0` }),
    isTold: false,
    isNamed: true,
  },
  {
    name: 'Stripe, nothing told',
    told: nothing,
    refusal: () => ({ 'Stripe-Rate-Limited-Reason': 'global-rate' }),
    isTold: false,
    isNamed: false,
  },
  {
    name: 'Traefik',
    told: nothing,
    refusal: ({ left }) => ({ 'Retry-After': `${left}`, 'X-Retry-In': `${left}s` }),
    isTold: false,
    isNamed: true,
  },
  {
    name: 'two layers, each with its own Retry-After',
    told: nothing,
    refusal: ({ left }) => ({ 'Retry-After': ['5', `${left}`] }),
    isTold: false,
    isNamed: true,
  },
  {
    name: 'a gateway that joins them',
    told: nothing,
    refusal: ({ left }) => ({ 'Retry-After': `5, ${left}` }),
    isTold: false,
    isNamed: true,
  },
  {
    name: 'a reset alone',
    told: nothing,
    refusal: ({ end }) => ({ 'X-RateLimit-Reset': `${end}` }),
    isTold: false,
    isNamed: true,
  },
];
