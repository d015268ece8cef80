/** A request to the sandbox and its answer, as shown in its log and on its page. */
export interface LoggedRequest {
  /** Counts from 1. */
  readonly id: number;
  /** When the answer was decided, epoch ms on the sandbox's clock. */
  readonly at: number;
  readonly method: string;
  readonly target: string;
  /** 0 if the connection was reset. */
  readonly status: number;
  /** Time from the request's head to its answer, in ms. */
  readonly ms: number;
  readonly limit?: number;
  readonly remaining?: number;
  /** In s, if refused. */
  readonly retryAfter?: number;
  /** Why it was refused or failed. */
  readonly reason?: string;
  /** Faults that affected it. */
  readonly faults?: readonly string[];
}
