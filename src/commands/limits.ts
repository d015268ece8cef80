import type { JsonValue } from '../api/json.ts';
import { listInventory } from '../client/list.ts';
import { defineCommand, flag } from '../cli/command.ts';
import { connect } from '../session/connect.ts';
import { openLedger } from '../session/open-ledger.ts';
import type { CommandContext } from '../session/globals.ts';
import { canAsk } from '../session/write-policy.ts';
import { Failure } from '../errors.ts';
import { type LedgerView, tightestWindow, ownerName } from '../rate-limit/ledger.ts';
import { blockWords, rateLimitWords } from '../session/limit-words.ts';
import { shift } from '../rate-limit/rebase.ts';
import type { Window } from '../rate-limit/windows.ts';
import { duration } from '../view/progress.ts';
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
    const view = await opened.ledger.view();
    const isBlocked = view.block !== undefined;
    if (input.clearBlock === true && !isBlocked) context.notices.info('No block is active.');
    if (input.clearBlock !== true || !isBlocked) return describe(view, target.environment, context);
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
  const word = await prompt.text('Type "clear" to clear the block', undefined, signal);
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
    ...rateLimitWords(view, now).map((words): [string, string] => ['rate limit', words]),
    ['block', blockWords(view, now)],
    ['in flight', inFlightWords(view, now)],
    ['others', isShared ? 'another client uses this key too' : 'none seen'],
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

function windowJson({ operations, limit, remaining }: Window, resetAt: string | null): JsonValue {
  return new Map<string, JsonValue>([
    ['operations', [...operations]],
    ['limit', limit],
    ['remaining', remaining],
    ['resetAt', resetAt],
  ]);
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
