/** Describes what a ledger knows about a key, with its times in epoch ms. */
import { type JsonObject, jsonObject } from '../api/json.ts';
import type { Clock } from '../ports.ts';
import type { LedgerState } from '../rate-limit/governor.ts';
import { toWall } from '../rate-limit/ledger.ts';
import { isLive, liveWindows, shownOperation, windowsFor } from '../rate-limit/windows.ts';
import { clockTime, duration, limitWords } from '../view/progress.ts';
import { plural } from '../view/words.ts';

/** Returns one line, or one for each window if operations have separate limits. Times are epoch ms. */
export function rateLimitWords(view: LedgerState, now: number): string[] {
  const { windows } = view;
  const [newest] = windows;
  if (newest === undefined) return ['unknown'];
  const operations = windows.filter((each) => isLive(each, now)).map(({ operation }) => operation);
  // Operations of the same window have the same first operation.
  const shared = [...Map.groupBy(operations, (each) => windowsFor(windows, each, now)[0]).values()];
  if (shared.length === 0) return [`the window of ${newest.limit} is over; the next request shows what is left`];
  return shared.map((names) => {
    const words = limitWords({ ...liveWindows(view, now, names[0])[0]!, now });
    return shared.length > 1 ? `${words} for ${names.map(shownOperation).join(', ')}` : words;
  });
}

/** Describes why and until when nothing is sent, or returns `none`. */
export function blockWords({ block }: LedgerState, now: number): string {
  if (block === undefined) return 'none';
  const { until } = block;
  const why = {
    banned: 'the service refused the key (403); it may be banned',
    paused: 'the service is unavailable (503)',
    'rate-limited': 'the service asked to wait (429)',
  }[block.why];
  if (until <= now) return `${why}. That is over: the next request is a probe`;
  return `${why}. Nothing is sent until ${clockTime(until, now)} (${duration(until - now)})`;
}

/** State of sharing the key with other machines. */
export interface Sharing {
  /** Number of machines that use the key, including this one. */
  readonly machines: number;
  /** Requests that this machine may send before it asks the server again. */
  readonly lent: number;
  /** Present if the server does not answer. `since` and `next` (the next try): epoch ms. */
  readonly lost?: { readonly since: number; readonly says: string; readonly next: number } | undefined;
}

/** Returns the state of sharing from a view with monotonic times; undefined if the key is not shared. */
export function sharingOf({ lease }: LedgerState, clock: Pick<Clock, 'now' | 'monotonic'>): Sharing | undefined {
  if (lease === undefined) return undefined;
  const { lost, machines, permits } = lease;
  const valid = Object.values(permits).filter(({ until }) => clock.monotonic() < until);
  return {
    machines,
    lent: valid.reduce((sum, { many }) => sum + many, 0),
    lost: lost && { since: toWall(clock, lost.since), says: lost.says, next: toWall(clock, lost.next) },
  };
}

export function sharingWords({ machines, lent, lost }: Sharing, now: number): string {
  const requests = `${plural(lent, 'request')} lent to this one`;
  if (lost !== undefined) {
    const { since, says, next } = lost;
    const left = lent === 0 ? '' : `; ${requests} left`;
    return `Redis has not answered since ${clockTime(since, now)} (${says}); next try at ${clockTime(next, now)}${left}`;
  }
  return `with ${machines > 1 ? plural(machines - 1, 'other machine') : 'no other machine now'}; ${requests}`;
}

export function sharingJson({ machines, lent, lost }: Sharing): JsonObject {
  const time = (at: number): string => new Date(at).toISOString();
  const loss = lost && jsonObject({ since: time(lost.since), says: lost.says, nextTry: time(lost.next) });
  return jsonObject({ machines, lent, lost: loss ?? null });
}
