/** Describes what a ledger knows about a key, from a view with times in epoch ms. */
import { type JsonObject, jsonObject } from '../api/json.ts';
import type { Lease, LedgerState } from '../rate-limit/governor.ts';
import { ownerName } from '../rate-limit/ledger.ts';
import { isLive, liveWindows, shownOperation, windowsFor } from '../rate-limit/windows.ts';
import { clockTime, duration, limitWords } from '../view/progress.ts';
import { plural } from '../view/words.ts';

/** Returns one line, or one for each window if operations have separate limits. */
export function rateLimitWords(view: LedgerState, now: number): string[] {
  const { windows } = view;
  const [newest] = windows;
  if (newest === undefined) return ['unknown'];
  const operations = windows.filter((each) => isLive(each, now)).map(({ operation }) => operation);
  // Operations of the same window have the same first operation.
  const shared = [...Map.groupBy(operations, (each) => windowsFor(windows, each, now)[0]).values()];
  if (shared.length === 0) return [`the window of ${newest.limit} is over; the next request shows what is left`];
  return shared.map((names) => {
    const words = limitWords(liveWindows(view, now, names[0])[0]!, now);
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
    'rate-limited': 'the key is rate limited (429)',
  }[block.why];
  if (until <= now) return `${why}. That is over: the next request is a probe`;
  return `${why}. Nothing is sent until ${clockTime(until, now)} (${duration(until - now)})`;
}

/** Returns null for undefined. @param at epoch ms */
export function isoTime(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

/** Returns the members of `limits --json` about a key. */
export function limitsJson(view: LedgerState, now: number) {
  const { block, inFlight, lease, seenAt, strikes, windows } = view;
  const live = liveWindows(view, now);
  const [tightest] = live;
  return {
    limit: (tightest ?? windows[0])?.limit ?? null,
    remaining: tightest?.remaining ?? null,
    resetAt: isoTime(tightest?.resetAt),
    windows: live.map(({ operation, limit, remaining, resetAt }) =>
      jsonObject({ operation: shownOperation(operation), limit, remaining, resetAt: isoTime(resetAt) }),
    ),
    block: block
      ? jsonObject({ why: block.why, strikes, until: isoTime(block.until), over: block.until <= now })
      : null,
    inFlight: inFlight.map(({ id, at }) => jsonObject({ by: ownerName(id), since: isoTime(at) })),
    ledger: sharingJson(lease, now),
    knownAt: isoTime(seenAt),
  };
}

/** Returns how many requests this machine may send before it asks the server again. */
function lentBy({ permits }: Lease, now: number): number {
  return Object.values(permits).reduce((sum, { many, until }) => (now < until ? sum + many : sum), 0);
}

/** Describes how the key is shared with other machines. */
export function sharingWords(lease: Lease, now: number): string {
  const { machines, lost } = lease;
  const lent = lentBy(lease, now);
  const requests = `${plural(lent, 'request')} lent to this one`;
  if (lost !== undefined) {
    const { since, says, next } = lost;
    const left = lent === 0 ? '' : `; ${requests} left`;
    return `Redis has not worked since ${clockTime(since, now)} (${says}); next try at ${clockTime(next, now)}${left}`;
  }
  return `with ${machines > 1 ? plural(machines - 1, 'other machine') : 'no other machine now'}; ${requests}`;
}

export function sharingJson(lease: Lease | undefined, now: number): JsonObject | null {
  if (lease === undefined) return null;
  const { machines, lost } = lease;
  const loss = lost && jsonObject({ since: isoTime(lost.since), says: lost.says, nextTry: isoTime(lost.next) });
  return jsonObject({ machines, lent: lentBy(lease, now), lost: loss ?? null });
}
