import type { JsonValue } from '../api/json.ts';
import { listInventory } from '../client/list.ts';
import type { CommandSpec } from '../command.ts';
import { connect, findLedgerOwner } from '../config/connect.ts';
import { openLedger } from '../config/ledger.ts';
import type { CommandContext } from '../config/globals.ts';
import { Failure } from '../errors.ts';
import type { LedgerView } from '../limits/ledger.ts';
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

/** @throws {Failure} `declined`, `no-terminal` */
async function confirmClearing(context: CommandContext): Promise<void> {
  const { globals, notices, prompt, signal, stdin, stderr } = context;
  if (globals.yes) return;
  if (!globals.input || !stdin.isTTY || !stderr.isTTY) {
    throw new Failure('no-terminal', { what: 'Whether to clear the block', instead: `${RISK} Then add --yes.` });
  }
  notices.warning(RISK);
  const word = await prompt.text('Type "clear" to forget the block', undefined, signal);
  if (word !== 'clear') throw new Failure('declined', { action: 'Clearing the block' });
}

/** Instants of the ledger are monotonic; people and programs want the wall clock. */
function describe(view: LedgerView, environment: string, { clock }: CommandContext): RecordView {
  const now = clock.now();
  const toWall = (at: number): number => now + at - clock.monotonic();
  const text = [
    ['environment', environment],
    ['allowance', allowanceWords(view, toWall, now)],
    ['block', blockWords(view, toWall, now)],
    ['in flight', inFlightWords(view, toWall, now)],
    ['others', view.foreign ? 'another client draws on the key too' : 'none seen'],
    ['known since', view.seenAt === undefined ? 'never' : `${duration(now - toWall(view.seenAt))} ago`],
  ].map(([name = '', words = '']) => `${name.padEnd(11)}  ${words}`);
  const { window, block } = view;
  const live = window !== undefined && toWall(window.resetAt) > now ? window : undefined;
  const iso = (at: number | undefined): string | null => (at === undefined ? null : new Date(toWall(at)).toISOString());
  const members: [string, JsonValue][] = [
    ['environment', environment],
    ['limit', window?.limit ?? null],
    ['remaining', live?.remaining ?? null],
    ['resetAt', iso(live?.resetAt)],
    ['block', block === undefined ? null : blockJson(view, iso(block.until), toWall(block.until) <= now)],
    [
      'inFlight',
      view.inFlight.map(({ id, at }) => new Map([['by', ownerOf(id)] as const, ['since', iso(at)] as const])),
    ],
    ['othersSeen', view.foreign],
    ['knownAt', iso(view.seenAt)],
  ];
  return {
    view: 'record',
    text: text.join('\n'),
    json: new Map(members),
    fields: members
      .filter(([name]) => !['block', 'inFlight'].includes(name))
      .map(([name, value]) => ({ name, value: value === null ? '' : (value as string | number | boolean).toString() }))
      .concat({ name: 'blockedUntil', value: block === undefined ? '' : (iso(block.until) ?? '') }),
  };
}

type ToWall = (at: number) => number;

function allowanceWords({ window }: LedgerView, toWall: ToWall, now: number): string {
  if (window === undefined) return 'unknown';
  const resetAt = toWall(window.resetAt);
  if (resetAt <= now) return `the window of ${window.limit} is over; the next request tells what is left`;
  return limitWords({ ...window, resetAt, now });
}

function blockWords({ block, strikes }: LedgerView, toWall: ToWall, now: number): string {
  if (block === undefined) return 'none';
  const until = toWall(block.until);
  const why = block.why === 'banned' ? '403, perhaps a ban' : `429, ${strikes} in a row`;
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
  return inFlight.map(({ id, at }) => `${ownerOf(id)}, for ${duration(now - toWall(at))}`).join('; ');
}

/** Before the first slash of a reservation's id. */
function ownerOf(id: string): string {
  return id.split('/')[0] ?? id;
}
