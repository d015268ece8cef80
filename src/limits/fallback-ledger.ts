/**
 * A ledger on another machine, and one on this machine for when that one is lost. A refusal is noted in both, so that
 * whoever comes after the loss knows of it.
 */
import { RedisFailure } from '../context.ts';
import type { Ledger } from './ledger.ts';

export interface Fallback {
  readonly shared: Ledger;
  /** Opened when it is needed. */
  openOwn(): Promise<Ledger>;
  /** Told once. */
  onLost(failure: RedisFailure): void;
}

export function withFallback({ shared, openOwn, onLost }: Fallback): Ledger {
  let isLost = false;
  let opening: Promise<Ledger> | undefined;
  const own = (): Promise<Ledger> => (opening ??= openOwn());
  const either = async <T>(work: (ledger: Ledger) => Promise<T>): Promise<T> => {
    if (!isLost) {
      try {
        return await work(shared);
      } catch (error) {
        if (!(error instanceof RedisFailure)) throw error;
        isLost = true;
        onLost(error);
      }
    }
    return work(await own());
  };
  return {
    admit: (intent) => either((ledger) => ledger.admit(intent)),
    async answered(answer) {
      const isRefusal = answer.status === 429 || answer.status === 403;
      if (isRefusal && !isLost) await (await own()).answered(answer);
      return either((ledger) => ledger.answered(answer));
    },
    lost: (id, mayHaveBeenSent) => either((ledger) => ledger.lost(id, mayHaveBeenSent)),
    view: () => either((ledger) => ledger.view()),
    async clearBlock() {
      if (!isLost) await (await own()).clearBlock();
      return either((ledger) => ledger.clearBlock());
    },
  };
}
