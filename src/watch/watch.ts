/** `inventory list --watch` and `wait`: read the stock repeatedly, as often as the rate limit allows. */
import { type InventoryItem, itemToJson, UnexpectedFields, warnOfUnexpected } from '../api/item.ts';
import { jsonObject, type JsonValue, stringifyJson } from '../api/json.ts';
import { listInventory } from '../api/routes.ts';
import { type Filter, matcher } from '../api/select.ts';
import type { Orders } from '../catalog/added-fields.ts';
import { connect } from '../session/connect.ts';
import { tableNames } from '../session/open-catalog.ts';
import type { CommandContext } from '../session/globals.ts';
import { splitWords } from '../value-parsers.ts';
import { Failure, isFailure, stoppedByUser } from '../errors.ts';
import { countDown } from '../stop.ts';
import { operationOf } from '../client/attempt.ts';
import type { Service } from '../client/service.ts';
import { describeFailure } from '../report/failures.ts';
import { clockTime, duration } from '../view/progress.ts';
import { petLabel, plural, signed, visible } from '../view/words.ts';
import type { StreamView } from '../view/view.ts';
import { readStock, type Stock } from '../stock/runner.ts';

interface Change {
  /** Epoch ms. */
  readonly at: number;
  readonly event: 'listed' | 'changed' | 'appeared' | 'gone';
  readonly item: InventoryItem;
  readonly before?: InventoryItem;
  readonly name?: string | undefined;
}

/** Fraction of the remaining requests that a watch may use. */
const SHARE = 0.5;

/**
 * Yields changes in the stock as they happen.
 * @param intervalMs least time between two requests
 * @param onChange command to run with the changes
 * @param orders how many to order, with --low
 */
export function watchView(
  context: CommandContext,
  filter: Filter,
  intervalMs = 10_000,
  onChange?: string,
  orders?: Orders,
): StreamView<Change> {
  const alerts = onChange === undefined ? undefined : alertsBy(context, '--on-change', onChange);
  const json = ({ at, event, item, before }: Change): JsonValue => {
    const own = jsonObject({ at: new Date(at).toISOString(), event });
    return new Map<string, JsonValue>([
      ...own,
      ...itemToJson(item),
      // A service's field of the same name does not replace ours.
      ...own,
      ...jsonObject(orders === undefined ? {} : { order: orders(item) ?? null }),
      ...jsonObject(before === undefined ? {} : { before: before.quantity, statusBefore: before.status }),
    ]);
  };
  async function* events(): AsyncGenerator<Change> {
    try {
      for await (const found of watch(context, matcher(filter), intervalMs)) {
        if (found.some(({ event }) => event !== 'listed')) alerts?.add(found.map(json));
        yield* found;
      }
    } finally {
      await alerts?.ended();
    }
  }
  return {
    view: 'stream',
    events: events(),
    text: (change) => ({ text: line(change), isNews: change.event !== 'listed' }),
    json,
  };
}

/** Time limit for the user's command, in ms. */
const ALERT_MS = 60_000;

/**
 * Runs the user's command with rows on its stdin, one run at a time.
 * @throws {Failure} `invalid-value`: the command cannot be split into words
 */
export function alertsBy(context: CommandContext, option: string, command: string) {
  const { clock, machine, notices, signal } = context;
  const words = splitWords(command, machine.platform, option);
  const waiting: JsonValue[] = [];
  let running: Promise<void> | undefined;
  /** @throws {Failure} `alert-command`; the reason of the command's signal */
  const run = async (rows: readonly JsonValue[]): Promise<void> => {
    await context.runCommand(words, {
      input: `${stringifyJson([...rows])}\n`,
      timeoutMs: ALERT_MS,
      signal,
      onLine: (line) => {
        notices.info(`${words[0]}: ${line}`);
      },
      fail: (problem) => new Failure('alert-command', { option, command, problem }),
    });
  };
  const drain = async (): Promise<void> => {
    while (waiting.length > 0 && !signal.aborted) {
      try {
        await run(waiting.splice(0));
      } catch (error) {
        if (!isFailure(error) || !error.is('alert-command')) return;
        notices.warning(describeFailure(error, clock.now()).message);
      }
    }
  };
  return {
    run,
    /** Starts the command without waiting for it. Rows that arrive while it runs go to its next run. Warns if it fails. */
    add: (rows: readonly JsonValue[]): void => {
      waiting.push(...rows);
      running ??= drain().finally(() => (running = undefined));
    },
    /** Resolves when the command has ended. */
    ended: async (): Promise<void> => running,
  };
}

/** Yields the pets that match, then what has changed at each further check. */
async function* watch(
  context: CommandContext,
  matches: (item: InventoryItem) => boolean,
  intervalMs: number,
): AsyncGenerator<readonly Change[]> {
  const { clock, notices } = context;
  try {
    await using session = await connect(context);
    let before = await readStock(session.service);
    const at = clock.now();
    const listed = [...before.values()].filter(matches);
    const oddities = new UnexpectedFields();
    const withNames = async (found: readonly Change[]): Promise<Change[]> => {
      const items = found.map(({ item }) => item);
      warnOfUnexpected(items, notices, oddities);
      const names = await tableNames(context, session.origin, items);
      return found.map((change) => ({ ...change, name: names?.get(change.item.petId) }));
    };
    yield await withNames(listed.map((item) => ({ at, event: 'listed', item })));
    notices.info(`Watching ${plural(listed.length, 'pet')}.`);
    for (;;) {
      await pause(context, session.service, intervalMs);
      const stock = await readStock(session.service);
      yield await withNames([...changes(before, stock, matches, clock.now())]);
      before = stock;
    }
  } catch (error) {
    throw stoppedByUser(error, 'watch');
  }
}

function* changes(before: Stock, now: Stock, matches: (item: InventoryItem) => boolean, at: number): Generator<Change> {
  for (const item of now.values()) {
    const old = before.get(item.petId);
    // Also pets that matched before: with `--min 1`, a pet that has sold out is shown once more.
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

export interface WaitOptions {
  readonly pet: bigint;
  /** `Pet 7 (Goldfish)` */
  readonly label: string;
  /** In ms. */
  readonly for: number;
  readonly interval: number;
  holds(item: InventoryItem): boolean;
}

/**
 * Resolves with the pet once the condition holds. Checks a last time when the time is up.
 * @throws {Failure} `wait-timeout`, `pet-not-found`, and failures of reading the list
 */
export async function waitFor(context: CommandContext, wanted: WaitOptions): Promise<InventoryItem> {
  const { clock, notices } = context;
  const { label } = wanted;
  const giveUp = clock.monotonic() + wanted.for;
  await using session = await connect(context);
  for (let isFirst = true; ; isFirst = false) {
    const found = (await readStock(session.service)).get(wanted.pet);
    if (found === undefined) {
      throw new Failure('pet-not-found', { petId: wanted.pet, environment: session.environment });
    }
    if (wanted.holds(found)) return found;
    const state = `has a quantity of ${found.quantity} and is ${found.status}`;
    const left = giveUp - clock.monotonic();
    if (left <= 0) throw new Failure('wait-timeout', { petId: wanted.pet, ms: wanted.for, found: state });
    if (isFirst) notices.info(`${label} ${state}; waiting.`);
    await pause(context, session.service, wanted.interval, left, ` ${label} ${state}.`);
  }
}

/** Sleeps until the next request, so that a watch uses only its share of the rate limit. Shows a countdown on a terminal. */
async function pause(context: CommandContext, { gate }: Service, leastMs: number, mostMs = Infinity, state = '') {
  const { clock, notices } = context;
  const held = await gate.forecast({ operation: operationOf(listInventory), share: SHARE });
  const now = clock.monotonic();
  await countDown(context, Math.min(mostMs, Math.max(leastMs, (held?.until ?? 0) - now)), (left) => {
    notices.progress(`Next check in ${duration(left)}. Ctrl-C stops.${state}`);
  });
  notices.progress(undefined);
}

function line({ at, event, item, before, name }: Change): string {
  const { quantity } = item;
  const pet = `${clockTime(at, at)}  ${petLabel(item.petId, name)}`;
  const status = visible(item.status);
  if (event === 'listed') return `${pet}: ${quantity} (${status})`;
  if (event === 'gone') return `${pet}: gone from the list`;
  if (before === undefined) return `${pet}: new, ${quantity} (${status})`;
  const statuses = before.status === item.status ? status : `${visible(before.status)} → ${status}`;
  return `${pet}: ${before.quantity} → ${quantity} (${signed(quantity - before.quantity)}, ${statuses})`;
}
