/** `inventory browse --plain`: the same table as lines of text, for screen readers and simple terminals. */
import type { InventoryItem } from '../api/item.ts';
import { isOneOf, PET_STATUSES } from '../api/values.ts';
import { petOfCode } from '../catalog/local-catalog.ts';
import { Failure, stoppedByUser } from '../errors.ts';
import type { CommandContext } from '../session/globals.ts';
import { petLabel, plural } from '../view/words.ts';
import type { Browser, End, Reload, Show } from './browser.ts';
import { ORDERS } from './selection.ts';

const PAGE = 10;
const HELP = [
  '  7 12           sets the quantity of pet 7 to 12 once it is applied; 7 +3 adds, 7 -3 takes away',
  '  7 =            undoes the change of pet 7',
  '  undo, redo     undoes the last change, redoes it',
  '  find TEXT      only pets with this in their id or name, or with this barcode; find alone: all',
  `  status WORD    only this status: ${PET_STATUSES.join(', ')}; status alone: all`,
  '  low            only low stock; low again: all',
  `  sort COLUMN    sorts by ${ORDERS.filter((order) => !order.includes(' ')).join(', ')}`,
  '  list, next     the first pets, the next ones',
  '  changes        the changes that are not applied yet',
  '  refresh        reads the stock again',
  '  apply          shows what will change, and asks',
  '  why            asks for a cause and a note, which the history keeps',
  '  q              leaves; at a terminal, changes are kept (discard leaves without them)',
];

interface Dialog {
  readonly context: CommandContext;
  readonly browser: Browser;
  readonly reload: Reload;
  /** How many pets are before those that `next` shows. */
  at: number;
  /** Number of the current line. */
  number: number;
}

export function byLines({ signal, stdin }: CommandContext): Show {
  const open = (): AsyncIterator<string> => stdin.lines(signal)[Symbol.asyncIterator]();
  // Questions are answered on the same terminal; from a pipe, no line may be lost.
  const piped = stdin.isTTY ? undefined : open();
  let number = 0;
  return async (context, browser, reload) => {
    const greeting = browser.hasStock ? browser.message : 'Type help for the commands.';
    await reload(context);
    const dialog = { context, browser, reload, at: 0, number };
    context.notices.info(greeting);
    list(dialog, 0);
    const lines = piped ?? open();
    try {
      for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
        dialog.number = ++number;
        const end = await take(dialog, line.value.trim());
        if (end !== undefined) return end;
      }
      return 'leave';
    } catch (error) {
      throw stoppedByUser(error, 'input');
    } finally {
      if (piped === undefined) await lines.return?.();
    }
  };
}

/** Runs the command of a line. Returns how the dialog ends, if it does. */
async function take(dialog: Dialog, line: string): Promise<End | undefined> {
  const { browser, context, reload } = dialog;
  const { notices } = context;
  browser.message = '';
  const [first = '', ...words] = line.split(/\s+/);
  const rest = words.join(' ');
  const command = line.toLowerCase();
  if (command === 'q' || command === 'quit') return 'leave';
  if (command === 'discard' || command === 'why') return command;
  if (command === 'apply' && browser.pending.size > 0) return command;
  if (command === 'apply') notices.info('There is no change to apply.');
  else if (command === '?' || command === 'help') for (const text of HELP) notices.info(text);
  else if (command === 'changes') {
    for (const { petId, current, quantity } of browser.pending.values()) {
      notices.info(`${petLabel(petId, browser.catalog?.nameOf(petId))}: ${current} → ${quantity}`);
    }
    notices.info(`${browser.pendingWords} to apply.`);
  } else if (command === 'undo' || command === 'redo') {
    browser[command]();
    notices.info(browser.message);
  } else if (command === 'next') list(dialog, dialog.at);
  else if (command === 'refresh') {
    await reload(context);
    list(dialog, 0);
  } else if (select(dialog, first.toLowerCase(), rest)) list(dialog, 0);
  else if (line !== '') change(dialog, first, rest, line);
  return undefined;
}

/** Filters or sorts. Returns whether the words are one of these commands. @throws {Failure} as `refuse` */
function select(dialog: Dialog, word: string, rest: string): boolean {
  const { browser } = dialog;
  const wanted = rest.toLowerCase();
  const order = browser.orders.find((each) => each.toLowerCase() === wanted);
  if (word === 'find') browser.searchFor(rest);
  else if (word === 'low' && rest === '') browser.show({ isLowOnly: !browser.isLowOnly });
  else if (word === 'status' && wanted === '') browser.show({ status: undefined });
  else if (word === 'status' && isOneOf(PET_STATUSES, wanted)) browser.show({ status: wanted });
  else if (word === 'status')
    refuse(dialog, `status must be one of ${PET_STATUSES.join(', ')}, not ${JSON.stringify(rest)}`);
  else if (word === 'sort' && order !== undefined) browser.show({ order });
  else if (word === 'sort')
    refuse(dialog, `sort must be one of ${browser.orders.join('; ')}, not ${JSON.stringify(rest)}`);
  else return word === 'list' && rest === '';
  return true;
}

/** Shows pets from this one on. */
function list(dialog: Dialog, from: number): void {
  const { browser, context } = dialog;
  const { length } = browser.found;
  const items = browser.found.slice(from, from + PAGE);
  dialog.at = from + items.length;
  for (const item of items) context.notices.info(lineOf(browser, item));
  const sought = [browser.text, ...browser.filters].filter((each) => each !== '').join(', ');
  const none = `No pet matches ${sought}`.trim();
  if (items.length === 0) context.notices.info(from === 0 ? `${none}.` : 'There are no more.');
  else if (dialog.at < length) {
    context.notices.info(`${from + 1} to ${dialog.at} of ${plural(length, 'pet')}; next shows more.`);
  }
}

function change(dialog: Dialog, code: string, amount: string, line: string): void {
  const { browser, context } = dialog;
  const found = petOfCode(code, browser.byId, browser.catalog);
  const item = typeof found === 'bigint' ? browser.byId.get(found) : undefined;
  if (!/^-?\d+$/.test(code)) refuse(dialog, `unknown command ${JSON.stringify(line)}; type help`);
  else if (item === undefined) refuse(dialog, typeof found === 'string' ? found : `pet ${found} is not in this list`);
  else if (amount === '' || browser.change([item], amount)) context.notices.info(lineOf(browser, item));
  else refuse(dialog, browser.message);
}

/** `!`: someone else has changed the stock since. */
function lineOf({ catalog, pending }: Browser, { petId, quantity, status }: InventoryItem): string {
  const wanted = pending.get(petId);
  const then = wanted === undefined ? '' : `, to be ${wanted.quantity}`;
  const mark = wanted === undefined || wanted.current === quantity ? '' : '! ';
  return `${mark}${petLabel(petId, catalog?.nameOf(petId))}: ${quantity}${then}, ${status}`;
}

/** Warns on a terminal, where the user can try again; ends a script. @throws {Failure} `invalid-rows` */
function refuse({ context, number }: Dialog, reason: string): void {
  if (context.stdin.isTTY) context.notices.warning(`Nothing was changed: ${reason}`);
  else throw new Failure('invalid-rows', { source: 'stdin', problems: [{ line: number, reason }] });
}
