/** What a command prints beside its data; all of it goes to stderr. */
import type { ClientWatch } from '../client/service.ts';
import type { RateLimit, Wait } from '../rate-limit/gate.ts';

export interface Notices extends ClientWatch {
  /** For people; --quiet turns it off. */
  info(text: string): void;
  /** Progress on one line, redrawn on a terminal; elsewhere nothing. undefined: removes it. */
  progress(line: string | undefined): void;
  /** Whether `progress` shows anything. */
  readonly isLive: boolean;
  /** The gate waits; undefined: the wait is over. */
  waiting(wait: Wait | undefined): void;
  /** Where the newest rate-limit headers can be read when the command ends. */
  watchLimits(newest: () => RateLimit | undefined): void;
}
