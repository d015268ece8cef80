/** `inventory list --watch` and `wait`: read the stock again and again, as often as the rate limit allows. */
import { type InventoryItem, itemToJson } from '../api/item.ts';
import { jsonObject, type JsonValue } from '../api/json.ts';
import { listInventory } from '../api/routes.ts';
import { type Filter, matcher } from '../api/select.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure, stoppedByUser } from '../errors.ts';
import { operationOf } from '../client/attempt.ts';
import type { Service } from '../client/service.ts';
import { clockTime } from '../view/progress.ts';
import type { StreamView } from '../view/view.ts';
import { readStock } from '../stock/runner.ts';
import type { Stock } from '../stock/plan.ts';
import { plural, signed } from '../view/words.ts';

interface Change {
  /** Epoch ms. */
  readonly at: number;
  readonly event: 'listed' | 'changed' | 'appeared' | 'gone';
  readonly item: InventoryItem;
  readonly before?: InventoryItem;
}

const USUAL_MS = 10_000;
/** The share of the remaining requests that a watch may use. */
const SHARE = 0.5;

/** Returns what changes in the stock, as it changes. @param intervalMs the least time between two requests */
export function watchView(context: CommandContext, filter: Filter, intervalMs = USUAL_MS): StreamView<Change> {
  return {
    view: 'stream',
    events: watch(context, filter, intervalMs),
    text: (change) => ({ text: line(change), isNews: change.event !== 'listed' }),
    json: ({ at, event, item, before }) =>
      new Map<string, JsonValue>([
        ['at', new Date(at).toISOString()],
        ['event', event],
        ...itemToJson(item),
        ...jsonObject(before === undefined ? {} : { before: before.quantity, statusBefore: before.status }),
      ]),
  };
}

async function* watch(context: CommandContext, filter: Filter, intervalMs: number): AsyncGenerator<Change> {
  const { clock, notices, signal, globals } = context;
  const matches = matcher(filter);
  let before: Stock | undefined;
  try {
    await using session = await connect(context);
    for (;;) {
      const stock = await readStock(session.service);
      const at = clock.now();
      if (before === undefined) {
        const shown = [...stock.values()].filter(matches);
        for (const item of shown) yield { at, event: 'listed', item };
        notices.info(`Watching ${plural(shown.length, 'pet')}; press Ctrl-C to stop.`);
      } else yield* changes(before, stock, matches, at);
      before = stock;
      await clock.sleep(await pauseMs(session.service, globals.reserve, intervalMs), signal);
    }
  } catch (error) {
    throw stoppedByUser(error, 'watch');
  }
}

function* changes(before: Stock, now: Stock, matches: (item: InventoryItem) => boolean, at: number): Generator<Change> {
  for (const item of now.values()) {
    const old = before.get(item.petId);
    // Also what the filter let through before: with `--min 1`, a pet that is sold out is shown once more.
    if (!matches(item) && (old === undefined || !matches(old))) continue;
    if (old === undefined) yield { at, event: 'appeared', item };
    else if (old.quantity !== item.quantity || old.status !== item.status) {
      yield { at, event: 'changed', item, before: old };
    }
  }
  for (const old of before.values()) {
    if (!now.has(old.petId) && matches(old)) yield { at, event: 'gone', item: old };
  }
}

export interface WaitCondition extends Pick<Filter, 'min' | 'max'> {
  readonly pet: bigint;
  readonly quantity?: bigint;
  readonly status?: string;
  /** ms. */
  readonly for: number;
  readonly interval: number;
  /** Waits for a pet that is not in the list, in place of a failure. */
  readonly allowMissing?: boolean;
}

/**
 * Resolves with the pet once it meets all conditions. Checks a last time when the time is over.
 * @throws {Failure} `wait-timeout`, `pet-not-found`, and what ends a read of the list
 */
export async function waitFor(context: CommandContext, wanted: WaitCondition): Promise<InventoryItem> {
  const { clock, globals, notices, signal } = context;
  const giveUp = clock.monotonic() + wanted.for;
  await using session = await connect(context);
  for (let isFirst = true; ; isFirst = false) {
    const found = (await readStock(session.service)).get(wanted.pet);
    if (found === undefined && wanted.allowMissing !== true) {
      throw new Failure('pet-not-found', { petId: wanted.pet, environment: session.environment });
    }
    if (found !== undefined && holds(found, wanted)) return found;
    const state =
      found === undefined ? 'is not in the list' : `has a quantity of ${found.quantity} and is ${found.status}`;
    const left = giveUp - clock.monotonic();
    if (left <= 0) throw new Failure('wait-timeout', { petId: wanted.pet, ms: wanted.for, found: state });
    if (isFirst) notices.info(`Pet ${wanted.pet} ${state}; waiting. Press Ctrl-C to stop.`);
    const pause = await pauseMs(session.service, globals.reserve, wanted.interval);
    await clock.sleep(Math.min(pause, left), signal);
  }
}

function holds({ quantity, status }: InventoryItem, wanted: WaitCondition): boolean {
  return (
    (wanted.quantity === undefined || quantity === wanted.quantity) &&
    (wanted.min === undefined || quantity >= wanted.min) &&
    (wanted.max === undefined || quantity <= wanted.max) &&
    (wanted.status === undefined || status === wanted.status)
  );
}

/** Returns the time until the next request, ms, so that a watch uses only its share of the rate limit. */
async function pauseMs({ clock, gate }: Service, reserve: number, intervalMs: number): Promise<number> {
  const held = await gate.forecast({ operation: operationOf(listInventory), reserve, share: SHARE });
  return Math.max(intervalMs, (held?.until ?? 0) - clock.monotonic());
}

function line({ at, event, item, before }: Change): string {
  const { petId, quantity, status } = item;
  const time = clockTime(at, at);
  if (event === 'listed') return `${time}  pet ${petId}: ${quantity} (${status})`;
  if (event === 'gone') return `${time}  pet ${petId}: gone from the list`;
  if (before === undefined) return `${time}  pet ${petId}: new, ${quantity} (${status})`;
  const statuses = before.status === status ? status : `${before.status} → ${status}`;
  return `${time}  pet ${petId}: ${before.quantity} → ${quantity} (${signed(quantity - before.quantity)}, ${statuses})`;
}
