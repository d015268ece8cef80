/** What the sandbox was asked, and what it answered. */
import { EventEmitter } from 'node:events';

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
  /** What a fault rule did to it. */
  readonly faults?: readonly string[];
}

const KEPT = 1_000;

/** The newest requests. Emits each one, and `end` when there will be no more. */
export class RequestLog extends EventEmitter<{ request: [LoggedRequest]; end: [] }> {
  private readonly kept: LoggedRequest[] = [];
  private ids = 0;

  constructor() {
    super();
    // One for each page that is open.
    this.setMaxListeners(0);
  }

  add(request: Omit<LoggedRequest, 'id'>): void {
    const numbered = { id: ++this.ids, ...request };
    this.kept.push(numbered);
    if (this.kept.length > KEPT) this.kept.shift();
    this.emit('request', numbered);
  }

  /** The kept ones with a larger id, oldest first. */
  since(id: number): readonly LoggedRequest[] {
    return this.kept.filter((each) => each.id > id);
  }

  clear(): void {
    this.kept.length = 0;
  }
}
