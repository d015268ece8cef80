/** Configures a sandbox: the plans of the service, and rules that the service spec leaves open. */

/** The built-in sandbox's key. Not a secret: it opens only the sandbox. */
export const SANDBOX_KEY = 'sandbox';
/** Base URL of the in-process sandbox; nothing listens there. */
export const SANDBOX_URL = 'http://sandbox.localhost/v1';

export interface Plan {
  readonly perMinute: number;
  readonly perDay: number;
  /** Length of the minute window, in ms, for faster tests. */
  readonly minuteMs?: number;
}

/** Service spec, part 8. Enterprise is agreed individually. */
export const PLANS = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
} as const satisfies Readonly<Record<string, Plan>>;

export const PLAN_NAMES = ['free', 'pro', 'business', 'custom'] as const;

export interface Rules {
  readonly plan: Plan;
  /** Number of early requests after a 429 that bans a key; 0 for never. */
  readonly banAfter: number;
  /** In ms. */
  readonly banFor: number;
  readonly banStatus: number;
  readonly quantity: { readonly least: bigint; readonly most: bigint };
  readonly retryAfterFormat: 'seconds' | 'date';
  /** True if operations that the spec only names answer with 501. */
  readonly withUndocumented?: boolean;
}

export const DEFAULT_RULES: Rules = {
  plan: PLANS.free,
  banAfter: 10,
  banFor: 15 * 60_000,
  banStatus: 403,
  quantity: { least: 0n, most: 2_147_483_647n },
  retryAfterFormat: 'seconds',
};
