import { jsonObject, type JsonValue } from '../api/json.ts';
import { listInventory } from '../client/list.ts';
import { defineCommand, flag } from '../cli/command.ts';
import { connect } from '../session/connect.ts';
import { openLedger } from '../session/open-ledger.ts';
import type { CommandContext } from '../session/globals.ts';
import { canAsk } from '../session/resolve.ts';
import { Failure } from '../errors.ts';
import type { LedgerState } from '../rate-limit/governor.ts';
import { ownerName } from '../rate-limit/ledger.ts';
import { blockWords, rateLimitWords, sharingJson, sharingWords } from '../session/limit-words.ts';
import { isLive, liveWindows, shownOperation } from '../rate-limit/windows.ts';
import { duration } from '../view/progress.ts';
import { labelled, type RecordView } from '../view/view.ts';

const RISK =
  'Requests that come before the time the service named may get the key banned. ' +
  'Clear a block only if you know that it has ended, for example after a plan upgrade.';

export const limits = defineCommand({
  path: 'limits',
  summary: 'Show the remaining rate limit, without a request',
  description:
    'Shows what this machine knows about the key: the remaining rate limit, a block after a 429, requests under ' +
    'way, and when the service last answered. With PETSTORE_LEDGER it asks the Redis server, for at most two seconds, and shows ' +
    `how many machines share the key, or since when the server has not answered. ${RISK}`,
  examples: {
    'What is known': 'petstore limits',
    'Ask the service once, then show': 'petstore limits --refresh',
    'For a script': 'petstore limits --json',
  },
  options: {
    refresh: flag('--refresh', 'ask the service first, with one request', { conflicts: ['clearBlock'] }),
    clearBlock: flag('--clear-block', 'clear a block; asks you to type "clear", unless --yes'),
  },
  more: ['rate-limits'],
  async run(input, context) {
    const target = await context.target();
    if (input.refresh === true) {
      await using session = await connect(context);
      await listInventory(session.service).next();
    }
    await using opened = await openLedger(context, target, { isShown: true });
    let view = await opened.view();
    if (input.clearBlock === true && view.block === undefined) context.notices.info('No block is active.');
    else if (input.clearBlock === true) {
      await confirmClearing(context);
      await opened.ledger.clearBlock();
      view = await opened.view();
    }
    return describe(view, opened.isAlone, target.environment, context.clock.now());
  },
});

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

function ago(ms: number): string {
  return ms < 1_000 ? 'just now' : `${duration(ms)} ago`;
}

function describe(view: LedgerState, isAlone: boolean, environment: string, now: number): RecordView {
  const live = view.windows.filter((each) => isLive(each, now));
  const lines: [string, string][] = [
    ['environment', environment],
    ...rateLimitWords(view, now).map((words): [string, string] => ['rate limit', words]),
    // What other processes know cannot be read.
    ['block', isAlone && view.block === undefined ? 'unknown' : blockWords(view, now)],
    [
      'requests',
      view.inFlight.map(({ id, at }) => `${ownerName(id)}, for ${duration(now - at)}`).join('; ') || 'none under way',
    ],
    ...(view.lease === undefined ? [] : [['shared', sharingWords(view.lease, now)] satisfies [string, string]]),
    ['last answer', view.seenAt === undefined ? 'none' : ago(now - view.seenAt)],
  ];
  const { block } = view;
  const [tightest] = liveWindows(view, now);
  const iso = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());
  const members: [string, JsonValue][] = [
    ['environment', environment],
    ['limit', (tightest ?? view.windows[0])?.limit ?? null],
    ['remaining', tightest?.remaining ?? null],
    ['resetAt', iso(tightest?.resetAt)],
    [
      'windows',
      live.map(({ operation, limit, remaining, resetAt }) =>
        jsonObject({ operation: shownOperation(operation), limit, remaining, resetAt: iso(resetAt) }),
      ),
    ],
    [
      'block',
      block === undefined
        ? null
        : jsonObject({ why: block.why, strikes: view.strikes, until: iso(block.until), over: block.until <= now }),
    ],
    ['inFlight', view.inFlight.map(({ id, at }) => jsonObject({ by: ownerName(id), since: iso(at) }))],
    ['ledger', sharingJson(view.lease, now)],
    ['knownAt', iso(view.seenAt)],
  ];
  const cells = members.filter(([name]) => !['windows', 'block', 'inFlight', 'ledger'].includes(name));
  return labelled(lines, members, [...cells, ['blockedUntil', iso(block?.until)]]);
}
