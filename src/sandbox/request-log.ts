/** What the sandbox was asked, and what it answered. */

/** One line of the server's log. */
export interface LoggedRequest {
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
  /** What a fault rule did to it. */
  readonly faults?: readonly string[];
}

export type NumberedRequest = LoggedRequest & { readonly id: number };

const KEPT = 1_000;

export interface LogListener {
  onRequest(request: NumberedRequest): void;
  /** There will be no more. */
  onEnd?(): void;
}

/** The newest requests, and listeners for the next ones. */
export class RequestLog {
  private readonly kept: NumberedRequest[] = [];
  private readonly listeners = new Set<LogListener>();
  private ids = 0;

  add(request: LoggedRequest): void {
    const numbered = { id: ++this.ids, ...request };
    this.kept.push(numbered);
    if (this.kept.length > KEPT) this.kept.shift();
    for (const { onRequest } of this.listeners) onRequest(numbered);
  }

  /** The kept ones with a larger id, oldest first. */
  since(id: number): readonly NumberedRequest[] {
    return this.kept.filter((each) => each.id > id);
  }

  clear(): void {
    this.kept.length = 0;
  }

  /** Returns how to stop listening. */
  listen(listener: LogListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  end(): void {
    for (const { onEnd } of this.listeners) onEnd?.();
    this.listeners.clear();
  }
}
