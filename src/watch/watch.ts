/** `inventory list --watch` and `wait`: read the stock again and again, as often as the rate limit allows. */
import { type InventoryItem, itemToJson } from '../api/item.ts';
import { jsonObject, type JsonValue, stringifyJson } from '../api/json.ts';
import { listInventory } from '../api/routes.ts';
import { type Filter, matcher } from '../api/select.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { splitWords } from '../cli/values.ts';
import { Failure, isFailure, stoppedByUser } from '../errors.ts';
import { operationOf } from '../client/attempt.ts';
import type { Service } from '../client/service.ts';
import { describeFailure } from '../report/failures.ts';
import { clockTime, duration } from '../view/progress.ts';
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

const SECOND = 1_000;
const USUAL_MS = 10_000;
/** The share of the remaining requests that a watch may use. */
const SHARE = 0.5;

interface WatchOptions {
  /** The least time between two requests. */
  readonly intervalMs?: number | undefined;
  /** Is run with what has changed. */
  readonly onChange?: string | undefined;
}

/** Returns what changes in the stock, as it changes. */
export function watchView(context: CommandContext, filter: Filter, options: WatchOptions): StreamView<Change> {
  const alerts = options.onChange === undefined ? undefined : new Alerts(context, '--on-change', options.onChange);
  return {
    view: 'stream',
    events: watch(context, filter, options.intervalMs ?? USUAL_MS, alerts),
    text: (change) => ({ text: line(change), isNews: change.event !== 'listed' }),
    json: changeJson,
  };
}

function changeJson({ at, event, item, before }: Change): JsonValue {
  return new Map<string, JsonValue>([
    ['at', new Date(at).toISOString()],
    ['event', event],
    ...itemToJson(item),
    ...jsonObject(before === undefined ? {} : { before: before.quantity, statusBefore: before.status }),
  ]);
}

/** How long the command of an alert may take, in ms. */
const ALERT_MS = 60_000;

/** Runs a command of the user's with rows on its stdin, one at a time: rows that come meanwhile are in the next run. */
export class Alerts {
  private readonly context: CommandContext;
  private readonly option: string;
  private readonly command: string;
  private readonly words: readonly [string, ...string[]];
  private waiting: JsonValue[] = [];
  private running: Promise<void> | undefined;

  /** @throws {Failure} `invalid-value`: the command cannot be split into words */
  constructor(context: CommandContext, option: string, command: string) {
    this.words = splitWords(command, context.machine.platform, option);
    [this.context, this.option, this.command] = [context, option, command];
  }

  /** @throws {Failure} `alert-command`; the reason of the command's signal */
  async run(rows: readonly JsonValue[]): Promise<void> {
    const { notices, signal, runCommand } = this.context;
    const { command, option, words } = this;
    const input = `${stringifyJson([...rows])}\n`;
    const onLine = (line: string): void => {
      notices.info(`${words[0]}: ${line}`);
    };
    const fail = (problem: string): Failure => new Failure('alert-command', { option, command, problem });
    await runCommand(words, { input, timeoutMs: ALERT_MS, signal, onLine, fail });
  }

  /** Does not wait for the command, whose failure is a warning. */
  add(rows: readonly JsonValue[]): void {
    this.waiting.push(...rows);
    this.running ??= this.drain().finally(() => (this.running = undefined));
  }

  /** Resolves when the command has ended. */
  async ended(): Promise<void> {
    await this.running;
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0 && !this.context.signal.aborted) {
      try {
        await this.run(this.waiting.splice(0));
      } catch (error) {
        if (!isFailure(error) || !error.is('alert-command')) return;
        this.context.notices.warning(describeFailure(error, this.context.clock.now()).message);
      }
    }
  }
}

async function* watch(
  context: CommandContext,
  filter: Filter,
  intervalMs: number,
  alerts: Alerts | undefined,
): AsyncGenerator<Change> {
  const { clock, notices, globals } = context;
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
      } else {
        const found = [...changes(before, stock, matches, at)];
        if (found.length > 0) alerts?.add(found.map(changeJson));
        yield* found;
      }
      before = stock;
      await pause(context, await pauseMs(session.service, globals.reserve, intervalMs), 'Watching');
    }
  } catch (error) {
    throw stoppedByUser(error, 'watch');
  } finally {
    await alerts?.ended();
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
  const { clock, globals, notices } = context;
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
    const ms = await pauseMs(session.service, globals.reserve, wanted.interval);
    await pause(context, Math.min(ms, left), `Pet ${wanted.pet} ${state}`);
  }
}

/** Sleeps, on a terminal with a countdown. */
async function pause({ clock, notices, signal }: CommandContext, ms: number, what: string): Promise<void> {
  const until = clock.monotonic() + ms;
  for (let left = ms; left > 0; left = until - clock.monotonic()) {
    notices.progress(`${what}; next check in ${duration(left)}. Ctrl-C stops.`);
    await clock.sleep(notices.isLive ? Math.min(left, SECOND) : left, signal);
  }
  notices.progress(undefined);
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
