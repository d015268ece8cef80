/** What a ledger knows of a key, in words; its instants shifted to epoch ms. */
import type { LedgerView } from '../rate-limit/ledger.ts';
import { clockTime, duration, limitWords } from '../view/progress.ts';

/** Returns one line, or one for each window where operations have limits of their own. Times are epoch ms. */
export function rateLimitWords({ windows }: LedgerView, now: number): string[] {
  const live = windows.filter(({ resetAt }) => resetAt > now);
  const [last] = windows.slice(-1);
  if (last === undefined) return ['unknown'];
  if (live.length === 0) return [`the window of ${last.limit} is over; the next request shows what is left`];
  return live.map((window) => {
    const names = live.length > 1 ? ` for ${window.operations.join(', ')}` : '';
    return `${limitWords({ ...window, now })}${names}`;
  });
}

/** Returns why and until when nothing is sent, or `none`. */
export function blockWords({ block, strikes }: LedgerView, now: number): string {
  if (block === undefined) return 'none';
  const { until } = block;
  const why = { banned: '403, perhaps a ban', paused: '503', 'rate-limited': `429, ${strikes} in a row` }[block.why];
  if (until <= now) return `over (${why}); the next request is a probe`;
  return `${why}: nothing is sent for ${duration(until - now)}, until ${clockTime(until, now)}`;
}
