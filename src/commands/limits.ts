import type { JsonValue } from '../api/json.ts';
import { listInventory } from '../client/list.ts';
import type { CommandSpec } from '../cli/command.ts';
import { connect, findLedgerOwner } from '../session/connect.ts';
import { openLedger } from '../session/open-ledger.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure } from '../errors.ts';
import { type LedgerView, tightestWindow } from '../rate-limit/ledger.ts';
import { ownerName } from '../rate-limit/owner.ts';
import type { Window } from '../rate-limit/windows.ts';
import { clockTime, duration, limitWords } from '../view/progress.ts';
import type { RecordView } from '../view/view.ts';

interface LimitsInput {
  readonly refresh?: boolean;
  readonly clearBlock?: boolean;
}

const RISK =
  'Requests that come before the time the service named may get the key banned. ' +
  'Clear a block only if you know that it is over, after a plan upgrade for instance.';

export const limits: CommandSpec<LimitsInput> = {
  path: 'limits',
  summary: "Show what is left of the key's allowance, without a request",
  description:
    'Shows what petstore on this machine knows of the key: the allowance, a block after a 429, requests under way, ' +
    `and how old that knowledge is. ${RISK}`,
  examples: [
    { says: 'What is known', command: 'petstore limits' },
    { says: 'Ask the service once, then show', command: 'petstore limits --refresh' },
    { says: 'For a script', command: 'petstore limits --json' },
  ],
  options: [
    { flags: '--refresh', description: 'ask the service first, with one request', conflicts: ['clearBlock'] },
    { flags: '--clear-block', description: 'forget a block; asks for the word, or --yes' },
  ],
  more: ['rate-limits'],
  async run(input, context) {
    const owner = await findLedgerOwner(context);
    if (input.refresh === true) await askService(context);
    const { ledger, close } = await openLedger(context, owner, owner.environment === 'sandbox');
    try {
      if (input.clearBlock !== true) return describe(await ledger.view(), owner.environment, context);
      await confirmClearing(context);
      return describe(await ledger.clearBlock(), owner.environment, context);
    } finally {
      close();
    }
  },
};

async function askService(context: CommandContext): Promise<void> {
  const session = await connect(context);
  try {
    await listInventory(session.service).next();
  } finally {
    await session.close();
  }
}

/** @throws {Failure} `cancelled`, `no-terminal` */
async function confirmClearing(context: CommandContext): Promise<void> {
  const { globals, notices, prompt, signal, stdin, stderr } = context;
  if (globals.yes) return;
  if (!globals.input || !stdin.isTTY || !stderr.isTTY) {
    throw new Failure('no-terminal', { what: 'Whether to clear the block', instead: `${RISK} Then add --yes.` });
  }
  notices.warning(RISK);
  const word = await prompt.text('Type "clear" to forget the block', undefined, signal);
  if (word !== 'clear') throw new Failure('cancelled', { action: 'Clearing the block' });
}

/** Instants of the ledger are monotonic; people and programs want the wall clock. */
function describe(view: LedgerView, environment: string, { clock }: CommandContext): RecordView {
  const now = clock.now();
  const toWall = (at: number): number => now + at - clock.monotonic();
  const live = view.windows.filter(({ resetAt }) => toWall(resetAt) > now);
  const isShared = live.some(({ sharedWithOthers }) => sharedWithOthers);
  const lines: [string, string][] = [
    ['environment', environment],
    ...allowanceWords(view, live, toWall, now).map((words): [string, string] => ['allowance', words]),
    ['block', blockWords(view, toWall, now)],
    ['in flight', inFlightWords(view, toWall, now)],
    ['others', isShared ? 'another client draws on the key too' : 'none seen'],
    ['known since', view.seenAt === undefined ? 'never' : `${duration(now - toWall(view.seenAt))} ago`],
  ];
  const { block } = view;
  const tightest = tightestWindow(view, clock.monotonic());
  const iso = (at: number | undefined): string | null => (at === undefined ? null : new Date(toWall(at)).toISOString());
  const members: [string, JsonValue][] = [
    ['environment', environment],
    ['limit', (tightest ?? view.windows.at(-1))?.limit ?? null],
    ['remaining', tightest?.remaining ?? null],
    ['resetAt', iso(tightest?.resetAt)],
    // Where operations have limits of their own.
    ...(live.length > 1
      ? [['windows', live.map((window) => windowJson(window, iso(window.resetAt)))] as [string, JsonValue]]
      : []),
    ['block', block === undefined ? null : blockJson(view, iso(block.until), toWall(block.until) <= now)],
    [
      'inFlight',
      view.inFlight.map(({ id, at }) => new Map([['by', ownerName(id)] as const, ['since', iso(at)] as const])),
    ],
    ['othersSeen', isShared],
    ['knownAt', iso(view.seenAt)],
  ];
  return {
    view: 'record',
    text: lines.map(([name, words]) => `${name.padEnd(11)}  ${words}`).join('\n'),
    json: new Map(members),
    fields: members
      .filter(([name]) => !['windows', 'block', 'inFlight'].includes(name))
      .map(([name, value]) => ({ name, value: value === null ? '' : (value as string | number | boolean).toString() }))
      .concat({ name: 'blockedUntil', value: block === undefined ? '' : (iso(block.until) ?? '') }),
  };
}

type ToWall = (at: number) => number;

/** One line, or one for each window where operations have limits of their own. */
function allowanceWords({ windows }: LedgerView, live: LedgerView['windows'], toWall: ToWall, now: number): string[] {
  const [last] = windows.slice(-1);
  if (last === undefined) return ['unknown'];
  if (live.length === 0) return [`the window of ${last.limit} is over; the next request tells what is left`];
  return live.map((window) => {
    const names = live.length > 1 ? ` for ${window.operations.join(', ')}` : '';
    return `${limitWords({ ...window, resetAt: toWall(window.resetAt), now })}${names}`;
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

function blockWords({ block, strikes }: LedgerView, toWall: ToWall, now: number): string {
  if (block === undefined) return 'none';
  const until = toWall(block.until);
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

function inFlightWords({ inFlight }: LedgerView, toWall: ToWall, now: number): string {
  if (inFlight.length === 0) return 'none';
  return inFlight.map(({ id, at }) => `${ownerName(id)}, for ${duration(now - toWall(at))}`).join('; ');
}
