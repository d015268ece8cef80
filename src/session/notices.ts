/** What a command says beside its data: everything here goes to stderr. */
import type { ClientWatch } from '../client/service.ts';
import type { RateLimit, Wait } from '../rate-limit/gate.ts';

export interface Notices extends ClientWatch {
  /** For people; --quiet turns it off. */
  info(text: string): void;
  /** One line of what is going on, redrawn on a terminal; elsewhere nothing. undefined: it is over. */
  progress(line: string | undefined): void;
  /** Whether `progress` shows anything. */
  readonly isLive: boolean;
  /** The gate waits; undefined: the wait is over. */
  waiting(wait: Wait | undefined): void;
  /** Where the newest rate-limit headers can be read when the command ends. */
  watchLimits(newest: () => RateLimit | undefined): void;
}
