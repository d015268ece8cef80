/** How many requests a run has under way at the same time: enough to spend each window, however slow the service. */
import type { Session } from '../config/connect.ts';
import type { Service } from '../client/service.ts';

/** Of a fast service: more would only make it slower. */
const MOST_WHEN_FAST = 8;
const MOST = 32;
/** Of what would just do: windows are counted from their first request, and latency varies. */
const MARGIN = 2;
/** What a new measurement counts for. */
const WEIGHT = 0.2;

export class Pace {
  /** The session's, its attempts measured. */
  readonly service: Service;
  private readonly session: Session;
  /** From the gate's leave to the answer's head, ms, averaged. */
  private latencyMs: number | undefined;

  constructor(session: Session) {
    this.session = session;
    const { watch } = session.service;
    this.service = {
      ...session.service,
      watch: {
        attempt: (facts) => {
          if (facts.status !== undefined) this.measured(facts.ms);
          watch.attempt(facts);
        },
        backoff: (wait) => {
          watch.backoff(wait);
        },
        warning: (text) => {
          watch.warning(text);
        },
        debug: (text) => {
          watch.debug(text);
        },
      },
    };
  }

  /** At least one; one alone where nothing is shared with other processes, or no limits are known. */
  concurrency(): number {
    const { clock, gate } = this.service;
    if (this.session.isAlone() || gate.limits === undefined) return 1;
    const { limit, remaining, resetAt } = gate.limits;
    const leftMs = Math.max(1_000, resetAt - clock.now());
    const needed = (MARGIN * remaining * (this.latencyMs ?? 0)) / leftMs;
    return Math.ceil(Math.min(MOST, Math.max(1, Math.min(MOST_WHEN_FAST, limit / 60), needed)));
  }

  private measured(ms: number): void {
    this.latencyMs = this.latencyMs === undefined ? ms : this.latencyMs + WEIGHT * (ms - this.latencyMs);
  }
}
