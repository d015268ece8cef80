import { listInventory } from '../client/list.ts';
import { defineCommand, flag } from '../cli/command.ts';
import { connect } from '../session/connect.ts';
import { openLedger } from '../session/open-ledger.ts';
import type { CommandContext } from '../session/globals.ts';
import { canAsk } from '../session/resolve.ts';
import { Failure } from '../errors.ts';
import type { LedgerState } from '../rate-limit/governor.ts';
import { ownerName } from '../rate-limit/ledger.ts';
import { blockWords, isoTime, limitsJson, rateLimitWords, sharingWords } from '../session/limit-words.ts';
import { duration } from '../view/progress.ts';
import { type Labelled, labelled, type RecordView } from '../view/view.ts';

const RISK =
  'Requests before the time that the service named may get the key banned. ' +
  'Clear a block only if you know that it has ended, for example after a plan upgrade.';

export const limits = defineCommand({
  path: 'limits',
  summary: 'Show the remaining rate limit, without a request',
  description:
    'Shows what this machine knows about the key: the remaining rate limit, any block, requests under way, and when ' +
    'the service last answered. With PETSTORE_LEDGER, it also asks the Redis server, for at most two seconds, and ' +
    `shows how many machines share the key, or since when the server has not worked. ${RISK}`,
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
      await listInventory(session.service, 'show').next();
    }
    await using opened = await openLedger(context, target, { isShown: true });
    let view = await opened.view();
    if (input.clearBlock === true && view.block === undefined) context.notices.info('No block is active.');
    else if (input.clearBlock === true) {
      await confirmClearing(context);
      await opened.ledger.clearBlock();
      view = await opened.view();
    }
    return describe(view, opened.ledger.isAlone, target.environment, context.clock.now());
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
  const { block, inFlight, lease, seenAt } = view;
  const requests = inFlight.map(({ id, at }) => `${ownerName(id)}, for ${duration(now - at)}`).join('; ');
  const lines: Labelled[] = [
    ['environment', environment],
    ...rateLimitWords(view, now).map((words): Labelled => ['rate limit', words]),
    // What other processes know cannot be read.
    ['block', isAlone && block === undefined ? 'unknown' : blockWords(view, now)],
    ['requests', requests || 'none under way'],
    ['shared', lease && sharingWords(lease, now)],
    ['last answer', seenAt === undefined ? 'none' : ago(now - seenAt)],
  ];
  const members = { environment, ...limitsJson(view, now) };
  const { windows: _, block: _block, inFlight: _inFlight, ledger: _ledger, ...cells } = members;
  return labelled(lines, members, { ...cells, blockedUntil: isoTime(block?.until) });
}
