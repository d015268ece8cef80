import type { JsonValue } from '../api/json.ts';
import { listInventory } from '../client/list.ts';
import { defineCommand, flag } from '../cli/command.ts';
import { connect } from '../session/connect.ts';
import { openLedger } from '../session/open-ledger.ts';
import type { CommandContext } from '../session/globals.ts';
import { canAsk } from '../session/write-policy.ts';
import { Failure } from '../errors.ts';
import { type LedgerView, tightestWindow } from '../rate-limit/ledger.ts';
import { ownerName } from '../rate-limit/owner.ts';
import { shift } from '../rate-limit/rebase.ts';
import type { Window } from '../rate-limit/windows.ts';
import { clockTime, duration, limitWords } from '../view/progress.ts';
import { record, type RecordView } from '../view/view.ts';

const RISK =
  'Requests that come before the time the service named may get the key banned. ' +
  'Clear a block only if you know that it has ended, for example after a plan upgrade.';

export const limits = defineCommand({
  path: 'limits',
  summary: 'Show the remaining rate limit, without a request',
  description:
    'Shows what this machine knows about the key: the remaining rate limit, a block after a 429, requests in flight, ' +
    `and when it was last updated. ${RISK}`,
  examples: [
    { says: 'What is known', command: 'petstore limits' },
    { says: 'Ask the service once, then show', command: 'petstore limits --refresh' },
    { says: 'For a script', command: 'petstore limits --json' },
  ],
  options: {
    refresh: flag('--refresh', 'ask the service first, with one request', { conflicts: ['clearBlock'] }),
    clearBlock: flag('--clear-block', 'clear a block; asks you to type "clear", unless --yes'),
  },
  more: ['rate-limits'],
  async run(input, context) {
    const target = await context.target();
    if (input.refresh === true) await askService(context);
    using opened = await openLedger(context, target);
    if (input.clearBlock !== true) return describe(await opened.ledger.view(), target.environment, context);
    await confirmClearing(context);
    return describe(await opened.ledger.clearBlock(), target.environment, context);
  },
});

async function askService(context: CommandContext): Promise<void> {
  await using session = await connect(context);
  await listInventory(session.service).next();
}

/** @throws {Failure} `cancelled`, `no-terminal` */
async function confirmClearing(context: CommandContext): Promise<void> {
  const { globals, notices, prompt, signal } = context;
  if (globals.yes) return;
  if (!canAsk(context)) {
    throw new Failure('no-terminal', { what: 'confirmation', instead: `${RISK} Then add --yes.` });
  }
  notices.warning(RISK);
  const word = await prompt.text('Type "clear" to forget the block', undefined, signal);
  if (word !== 'clear') throw new Failure('cancelled', {});
}

function describe(known: LedgerView, environment: string, { clock }: CommandContext): RecordView {
  const now = clock.now();
  // Instants of the ledger are monotonic; people and programs want the wall clock.
  const view = shift(known, now - clock.monotonic());
  const live = view.windows.filter(({ resetAt }) => resetAt > now);
  const isShared = live.some(({ sharedWithOthers }) => sharedWithOthers);
  const lines: [string, string][] = [
    ['environment', environment],
    ...allowanceWords(view, live, now).map((words): [string, string] => ['rate limit', words]),
    ['block', blockWords(view, now)],
    ['in flight', inFlightWords(view, now)],
    ['others', isShared ? 'another client uses the key too' : 'none seen'],
    ['known since', view.seenAt === undefined ? 'never' : `${duration(now - view.seenAt)} ago`],
  ];
  const { block } = view;
  const tightest = tightestWindow(view, now);
  const iso = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());
  const members: [string, JsonValue][] = [
    ['environment', environment],
    ['limit', (tightest ?? view.windows.at(-1))?.limit ?? null],
    ['remaining', tightest?.remaining ?? null],
    ['resetAt', iso(tightest?.resetAt)],
    // Where operations have limits of their own.
    ...(live.length > 1
      ? [['windows', live.map((window) => windowJson(window, iso(window.resetAt)))] as [string, JsonValue]]
      : []),
    ['block', block === undefined ? null : blockJson(view, iso(block.until), block.until <= now)],
    [
      'inFlight',
      view.inFlight.map(({ id, at }) => new Map([['by', ownerName(id)] as const, ['since', iso(at)] as const])),
    ],
    ['othersSeen', isShared],
    ['knownAt', iso(view.seenAt)],
  ];
  const cells = members.filter(([name]) => !['windows', 'block', 'inFlight'].includes(name));
  return record(lines.map(([name, words]) => `${name.padEnd(11)}  ${words}`).join('\n'), members, {
    csv: [...cells, ['blockedUntil', iso(block?.until)]],
  });
}

/** One line, or one for each window where operations have limits of their own. */
function allowanceWords({ windows }: LedgerView, live: LedgerView['windows'], now: number): string[] {
  const [last] = windows.slice(-1);
  if (last === undefined) return ['unknown'];
  if (live.length === 0) return [`the window of ${last.limit} is over; the next request tells what is left`];
  return live.map((window) => {
    const names = live.length > 1 ? ` for ${window.operations.join(', ')}` : '';
    return `${limitWords({ ...window, now })}${names}`;
  });
}

function windowJson({ operations, limit, remaining }: Window, resetAt: string | null): JsonValue {
  return new Map<string, JsonValue>([
    ['operations', [...operations]],
    ['limit', limit],
    ['remaining', remaining],
    ['resetAt', resetAt],
  ]);
}

function blockWords({ block, strikes }: LedgerView, now: number): string {
  if (block === undefined) return 'none';
  const { until } = block;
  const why = { banned: '403, perhaps a ban', paused: '503', 'rate-limited': `429, ${strikes} in a row` }[block.why];
  if (until <= now) return `over (${why}); the next request is a probe`;
  return `${why}: nothing is sent for ${duration(until - now)}, until ${clockTime(until, now)}`;
}

function blockJson({ block, strikes }: LedgerView, until: JsonValue, over: boolean): JsonValue {
  return new Map<string, JsonValue>([
    ['why', block?.why ?? null],
    ['strikes', strikes],
    ['until', until],
    ['over', over],
  ]);
}

function inFlightWords({ inFlight }: LedgerView, now: number): string {
  if (inFlight.length === 0) return 'none';
  return inFlight.map(({ id, at }) => `${ownerName(id)}, for ${duration(now - at)}`).join('; ');
}
