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
  '  7 =            takes the change of pet 7 back',
  '  undo, redo     takes the last change back, makes it again',
  '  find TEXT      only pets with this in their id or name, or with this barcode; find alone: all',
  `  status WORD    only this status: ${PET_STATUSES.join(', ')}; status alone: all`,
  '  low            only low stock; low again: all',
  `  sort COLUMN    sorts by ${ORDERS.filter((order) => !order.includes(' ')).join(', ')}`,
  '  list, next     the first pets, the next ones',
  '  changes        the changes that are not applied yet',
  '  refresh        reads the stock again',
  '  apply          shows what will change, and asks',
  '  why            asks for a cause and a remark, which the history keeps',
  '  q              leaves; changes are kept (discard leaves without them)',
];

export function byLines({ signal, stdin }: CommandContext): Show {
  const open = (): AsyncIterator<string> => stdin.lines(signal)[Symbol.asyncIterator]();
  // Questions are answered on the same terminal; from a pipe, no line may be lost.
  const piped = stdin.isTTY ? undefined : open();
  let number = 0;
  return async (context, browser, reload) => {
    const greeting = browser.hasStock ? browser.message : 'Type help for the commands.';
    await reload(context);
    const reader = new Lines(context, browser, reload);
    context.notices.info(greeting);
    reader.list(0);
    const lines = piped ?? open();
    try {
      for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
        const end = await reader.take(line.value.trim(), ++number);
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

class Lines {
  private readonly context: CommandContext;
  private readonly browser: Browser;
  private readonly reload: Reload;
  private at = 0;
  /** Number of the current line. */
  private number = 0;

  constructor(context: CommandContext, browser: Browser, reload: Reload) {
    this.context = context;
    this.browser = browser;
    this.reload = reload;
  }

  /** Runs the command of a line. Returns how the session ends, if it does. */
  async take(line: string, number: number): Promise<End | undefined> {
    const { browser } = this;
    this.number = number;
    browser.message = '';
    const [first = '', ...words] = line.split(/\s+/);
    const rest = words.join(' ');
    const command = line.toLowerCase();
    if (command === 'q' || command === 'quit') return 'leave';
    if (command === 'discard' || command === 'why') return command;
    if (command === 'apply' && browser.pending.size > 0) return command;
    if (command === 'apply') this.say('There is no change to apply.');
    else if (command === '?' || command === 'help') for (const text of HELP) this.say(text);
    else if (command === 'changes') this.changes();
    else if (command === 'undo' || command === 'redo') {
      browser[command]();
      this.say(browser.message);
    } else if (command === 'next') this.list(this.at);
    else if (command === 'refresh') {
      await this.reload(this.context);
      this.list(0);
    } else if (this.select(first.toLowerCase(), rest)) this.list(0);
    else if (line !== '') this.change(first, rest, line);
    return undefined;
  }

  /** Filters or sorts. Returns whether the words are one of these commands. @throws {Failure} as `refuse` */
  private select(word: string, rest: string): boolean {
    const { browser } = this;
    const wanted = rest.toLowerCase();
    const order = browser.orders.find((each) => each.toLowerCase() === wanted);
    if (word === 'find') browser.searchFor(rest);
    else if (word === 'low' && rest === '') browser.show({ isLowOnly: !browser.isLowOnly });
    else if (word === 'status' && wanted === '') browser.show({ status: undefined });
    else if (word === 'status' && isOneOf(PET_STATUSES, wanted)) browser.show({ status: wanted });
    else if (word === 'status') this.refuse(`status is one of ${PET_STATUSES.join(', ')}`);
    else if (word === 'sort' && order !== undefined) browser.show({ order });
    else if (word === 'sort') this.refuse(`sort by one of ${browser.orders.join('; ')}`);
    else return word === 'list' && rest === '';
    return true;
  }

  /** Shows pets from this one on. */
  list(from: number): void {
    const { browser } = this;
    const found = browser.found.length;
    const items = browser.found.slice(from, from + PAGE);
    for (const item of items) this.say(this.line(item));
    this.at = from + items.length;
    if (items.length === 0) this.say(from === 0 ? 'No pet matches.' : 'These were all of them.');
    else if (this.at < found) this.say(`${from + 1} to ${this.at} of ${plural(found, 'pet')}; next shows more.`);
  }

  private changes(): void {
    const { browser } = this;
    for (const { petId, current, quantity } of browser.pending.values()) {
      this.say(`${petLabel(petId, browser.catalog?.nameOf(petId))}: ${current} → ${quantity}`);
    }
    this.say(`${browser.pendingWords} to apply.`);
  }

  private change(code: string, amount: string, line: string): void {
    const { browser } = this;
    const itemOf = (petId: bigint): InventoryItem | undefined => browser.among(new Set([petId]))[0];
    const found = petOfCode(code, { has: (petId) => itemOf(petId) !== undefined }, browser.catalog);
    const item = typeof found === 'bigint' ? itemOf(found) : undefined;
    if (!/^-?\d+$/.test(code)) this.refuse(`unknown command ${JSON.stringify(line)}; type help`);
    else if (item === undefined) this.refuse(typeof found === 'string' ? found : `pet ${found} is not in this list`);
    else if (amount === '' || browser.change([item], amount)) this.say(this.line(item));
    else this.refuse(browser.message);
  }

  private line(item: InventoryItem): string {
    const change = this.browser.pending.get(item.petId);
    const pending = change === undefined ? '' : `, to be ${change.quantity}`;
    return `${petLabel(item.petId, this.browser.catalog?.nameOf(item.petId))}: ${item.quantity}${pending}, ${item.status}`;
  }

  private say(text: string): void {
    this.context.notices.info(text);
  }

  /** Warns on a terminal, where the user can try again; ends a script. @throws {Failure} `invalid-rows` */
  private refuse(reason: string): void {
    if (!this.context.stdin.isTTY) {
      throw new Failure('invalid-rows', { source: 'stdin', problems: [{ line: this.number, reason }] });
    }
    this.context.notices.warning(`Nothing was changed: ${reason}`);
  }
}
