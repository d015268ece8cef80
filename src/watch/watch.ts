/** `inventory list --watch` and `wait`: read the stock repeatedly, as often as the rate limit allows. */
import { type InventoryItem, itemToJson, unexpectedIn, warnOfUnexpected } from '../api/item.ts';
import { jsonObject, type JsonValue, stringifyJson } from '../api/json.ts';
import { listInventory } from '../api/routes.ts';
import { type Filter, matcher } from '../api/select.ts';
import type { Orders } from '../catalog/added-fields.ts';
import { connect, type Session } from '../session/connect.ts';
import { tableNames } from '../session/open-catalog.ts';
import type { CommandContext } from '../session/globals.ts';
import { splitWords } from '../value-parsers.ts';
import { Failure, isFailure, stoppedByUser } from '../errors.ts';
import { countDown } from '../stop.ts';
import { operationOf } from '../client/attempt.ts';
import { describeFailure } from '../report/failures.ts';
import { clockTime, duration } from '../view/progress.ts';
import { petLabel, plural, signed, visible } from '../view/words.ts';
import type { StreamEvent } from '../view/view.ts';
import { readStock, type Stock } from '../stock/runner.ts';

interface Change {
  readonly event: 'listed' | 'changed' | 'appeared' | 'gone';
  readonly item: InventoryItem;
  readonly before?: InventoryItem;
  readonly words: string;
}

/** Fraction of the remaining requests that a watch may use. */
const SHARE = 0.5;

/**
 * Yields the pets that match, then changes in the stock as they happen.
 * @param intervalMs least time between two requests
 * @param onChange command to run with the changes
 * @param orders how many to order, with --low
 */
export async function* watch(
  context: CommandContext,
  filter: Filter,
  intervalMs = 10_000,
  onChange?: string,
  orders?: Orders,
): AsyncGenerator<StreamEvent> {
  const { clock, notices, signal } = context;
  const alert = alertBy(context, '--on-change', onChange);
  const matches = matcher(filter);
  const oddities = unexpectedIn();
  let before: Stock | undefined;
  const waiting: JsonValue[] = [];
  let alerted = Promise.resolve();
  const alertOfWaiting = async (): Promise<void> => {
    if (waiting.length === 0 || signal.aborted) return;
    await alert?.(waiting.splice(0)).catch((error: unknown) => {
      if (isFailure(error) && error.is('alert-command')) notices.warning(describeFailure(error, clock.now()).message);
    });
  };
  try {
    await using session = await connect(context);
    for (;;) {
      const stock = await readStock(session.service, 'show');
      const at = clock.now();
      const found = [...changes(before, stock, matches)];
      const items = found.map(({ item }) => item);
      warnOfUnexpected(items, notices, oddities);
      const names = await tableNames(context, session.origin, items);
      const json = (change: Change): JsonValue => jsonOf(change, at, orders);
      if (alert !== undefined && before !== undefined) {
        // Does not wait for the command. Rows that arrive while it runs go to its next run.
        waiting.push(...found.map(json));
        alerted = alerted.then(alertOfWaiting);
      }
      for (const change of found) {
        const { event, item, words } = change;
        const text = `${clockTime(at, at)}  ${petLabel(item.petId, names?.get(item.petId))}: ${words}`;
        yield { text, isNews: event !== 'listed', json: json(change) };
      }
      if (before === undefined) notices.info(`Watching ${plural(found.length, 'pet')}.`);
      before = stock;
      await pause(context, session, intervalMs);
    }
  } catch (error) {
    throw stoppedByUser(error, 'watch');
  } finally {
    await alerted;
  }
}

function jsonOf({ event, item, before }: Change, at: number, orders: Orders): JsonValue {
  const own = jsonObject({ at: new Date(at).toISOString(), event });
  return new Map<string, JsonValue>([
    ...own,
    ...itemToJson(item),
    // A service's field of the same name does not replace ours.
    ...own,
    ...jsonObject(orders === undefined ? {} : { order: orders(item) ?? null }),
    ...jsonObject(before === undefined ? {} : { before: before.quantity, statusBefore: before.status }),
  ]);
}

/** Returns the pets that match, and after the first time (with `before`) what has changed in them. */
function* changes(before: Stock | undefined, now: Stock, matches: (item: InventoryItem) => boolean): Generator<Change> {
  for (const item of now.values()) {
    const old = before?.get(item.petId);
    // Also pets that matched before: with `--min 1`, a pet that has sold out is shown once more.
    if (!matches(item) && (old === undefined || !matches(old))) continue;
    const status = visible(item.status);
    const words = `${item.quantity} (${status})`;
    if (before === undefined) yield { event: 'listed', item, words };
    else if (old === undefined) yield { event: 'appeared', item, words: `new, ${words}` };
    else if (old.quantity !== item.quantity || old.status !== item.status) {
      const statuses = old.status === item.status ? status : `${visible(old.status)} → ${status}`;
      const difference = `${signed(item.quantity - old.quantity)}, ${statuses}`;
      yield { event: 'changed', item, before: old, words: `${old.quantity} → ${item.quantity} (${difference})` };
    }
  }
  for (const item of before?.values() ?? []) {
    if (!now.has(item.petId) && matches(item)) yield { event: 'gone', item, words: 'gone from the list' };
  }
}

/** Time limit for the user's command, in ms. */
const ALERT_MS = 60_000;

/**
 * Returns a function that runs the user's command with rows on its stdin; undefined without a command. The function
 * throws `alert-command`, or the reason of the command's signal.
 * @throws {Failure} `invalid-value`: the command cannot be split into words
 */
export function alertBy(context: CommandContext, option: string, command: string | undefined) {
  if (command === undefined) return undefined;
  const { machine, notices, signal } = context;
  const words = splitWords(command, machine.platform, option);
  return (rows: readonly JsonValue[]): Promise<string> =>
    context.runCommand(words, {
      input: `${stringifyJson([...rows])}\n`,
      timeoutMs: ALERT_MS,
      signal,
      onLine: (line) => {
        notices.warning(`${words[0]}: ${line}`);
      },
      fail: (problem) => new Failure('alert-command', { option, command, problem }),
    });
}

/** Sleeps until the next request, so that a watch uses only its share of the rate limit. Shows a countdown on a terminal. */
export async function pause(
  context: CommandContext,
  { gate }: Session,
  leastMs: number,
  mostMs = Infinity,
  state = '',
) {
  const { clock, notices } = context;
  const held = await gate.forecast({ operation: operationOf(listInventory), share: SHARE });
  const now = clock.monotonic();
  await countDown(context, Math.min(mostMs, Math.max(leastMs, (held?.until ?? 0) - now)), (left) => {
    notices.progress(`Next check in ${duration(left)}. Ctrl-C stops.${state}`);
  });
  notices.progress(undefined);
}
