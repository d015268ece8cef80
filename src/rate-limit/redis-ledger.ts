/**
 * The ledger that several machines share, on a Redis server: the same decisions as everywhere, on the server's clock,
 * kept by compare-and-set. The server forgets a key a day after everything in it is over.
 */
import { type Context, type Redis, RedisFailure } from '../ports.ts';
import { type Block, type LedgerState, UNKNOWN } from './governor.ts';
import { createLedger, type Ledger, type Step, unwrapped, type WrapStep } from './ledger.ts';
import { parseState, stringifyState } from './ledger-state.ts';
import { shift } from './rebase.ts';

/** Returns the server's time in ms, whether the new value was kept, and the value as it was, as JSON. */
const SWAP = `
local time = redis.call('TIME')
local value = redis.call('GET', KEYS[1]) or ''
local swaps = ARGV[1] == 'swap' and value == ARGV[2]
if swaps then redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4]) end
return cjson.encode({ time[1] * 1000 + math.floor(time[2] / 1000), swaps, value })
`;
const KEPT_MS = 86_400_000;
/** One of the clients that meet succeeds, so even many of them finish long before this. */
const MOST_TRIES = 100;
/** The longest pause before another try, in ms; the first ones are shorter. */
const MOST_PAUSE_MS = 128;

/**
 * @param name what the pair of origin and key is called on the server: it must not tell either
 * @param onBlock is called with a block as soon as it is read: the server may be lost before the step is over
 */
export function redisLedger(
  redis: Redis,
  { clock, random }: Pick<Context, 'clock' | 'random'>,
  name: string,
  onBlock: (block: Block) => Promise<void> = () => Promise.resolve(),
  wrap: WrapStep = unwrapped,
): Ledger {
  const key = `petstore:ledger:2:${name}`;
  const run = async (...args: readonly string[]): Promise<[now: number, swapped: boolean, value: string]> => {
    const reply: unknown = JSON.parse(await redis.run(SWAP, key, args));
    if (!Array.isArray(reply)) throw new RedisFailure(new Error('the script was answered with something else'));
    return [Number(reply[0]), reply[1] === true, String(reply[2])];
  };
  /** Parses a value of the server. A block in it is noted at once: the server may be emptied or lost before the next try. */
  const parse = async (now: number, value: string): Promise<{ before: LedgerState; toLocal: number }> => {
    const toLocal = clock.monotonic() - now;
    const before = value === '' ? UNKNOWN : shift(parseState(value), toLocal);
    if (before.block !== undefined && before.block.until > now + toLocal) await onBlock(before.block);
    return { before, toLocal };
  };
  const step: Step = async (work, { isRead } = {}) => {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const [now, , value] = await run('read');
      const { before, toLocal } = await parse(now, value);
      const { state, result } = work(before, now + toLocal);
      if (isRead === true || state === before) return result;
      const after = stringifyState(shift(state, -toLocal));
      const ends = [...state.windows.map(({ resetAt }) => resetAt), state.block?.until ?? 0, now + toLocal];
      const keptMs = Math.ceil(Math.max(...ends) - now - toLocal + KEPT_MS);
      const [later, swapped, found] = await run('swap', value, after, String(keptMs));
      if (swapped) return result;
      await parse(later, found);
      // At random, so that the clients that met here do not meet again.
      await clock.sleep(random() * Math.min(2 ** tries, MOST_PAUSE_MS));
    }
    throw new RedisFailure(new Error('too many clients change the same ledger'));
  };
  return createLedger(wrap(step));
}
