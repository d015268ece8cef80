/** How a sandbox behaves: the plans of the service, and what the service spec leaves open. */

/** The built-in sandbox's key. No secret: it opens nothing but the sandbox. */
export const SANDBOX_KEY = 'sandbox';
/** The base URL of the sandbox within this process, which nothing listens on. */
export const SANDBOX_URL = 'http://sandbox.localhost/v1';

export interface Plan {
  readonly perMinute: number;
  readonly perDay: number;
  /** A shorter minute, in ms, for those who cannot wait. */
  readonly minuteMs?: number;
}

/** Service spec, part 8. Enterprise is agreed individually. */
export const PLANS = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
} as const satisfies Readonly<Record<string, Plan>>;

export type PlanName = keyof typeof PLANS | 'custom';
export const PLAN_NAMES: readonly PlanName[] = ['free', 'pro', 'business', 'custom'];

export interface Rules {
  readonly plan: Plan;
  /** Early requests after a 429 that get a key banned; 0: none ever is. */
  readonly banAfter: number;
  readonly banForMs: number;
  readonly banStatus: number;
  readonly quantity: { readonly least: bigint; readonly most: bigint };
  readonly retryAfter: 'seconds' | 'date';
  /** Whether the operations that the spec only names answer too, with 501. */
  readonly withUndocumented: boolean;
}

export const DEFAULT_RULES: Rules = {
  plan: PLANS.free,
  banAfter: 10,
  banForMs: 15 * 60_000,
  banStatus: 403,
  quantity: { least: 0n, most: 2_147_483_647n },
  retryAfter: 'seconds',
  withUndocumented: false,
};
