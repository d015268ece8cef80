/** What the sandbox was asked, and what it answered: for its log, and its page. */
export interface LoggedRequest {
  /** Counts from 1. */
  readonly id: number;
  /** When its answer was settled, epoch ms on the sandbox's clock. */
  readonly at: number;
  readonly method: string;
  readonly target: string;
  /** 0: the connection was reset. */
  readonly status: number;
  /** From the request's head to its answer, in ms. */
  readonly ms: number;
  readonly limit?: number;
  readonly remaining?: number;
  /** Of a refusal, in s. */
  readonly retryAfter?: number;
  /** Why it was refused, or failed. */
  readonly reason?: string;
  /** What a fault rule did to it. */
  readonly faults?: readonly string[];
}
