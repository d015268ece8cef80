/** `inventory browse --plain`: the same table by lines of text, for screen readers and terminals that cannot do more. */
import type { InventoryItem } from '../api/item.ts';
import { isOneOf, PET_STATUSES, parseInt64 } from '../api/values.ts';
import { Failure, stoppedByUser } from '../errors.ts';
import type { CommandContext } from '../session/globals.ts';
import { plural } from '../view/words.ts';
import { type Browser, type End, parseQuantity, type Reload, type Show } from './browser.ts';
import { ORDERS } from './rows.ts';

const PAGE = 10;
const HELP = [
  '  7 12           sets the quantity of pet 7 to 12 once it is applied; 7 +3 adds, 7 -3 takes away',
  '  7 =            takes the change of pet 7 back',
  '  find TEXT      only pets with this in their id or name, or with this barcode; find alone: all',
  `  status WORD    only this status: ${PET_STATUSES.join(', ')}; status alone: all`,
  '  low            only low stock; low again: all',
  `  sort COLUMN    sorts by ${ORDERS.filter((order) => !order.includes(' ')).join(', ')}`,
  '  list, next     the first pets, the next ones',
  '  changes        the changes that are not applied yet',
  '  refresh        reads the stock again',
  '  apply          shows what will change, and asks',
  '  q              leaves; changes are kept (discard leaves without them)',
];

export function byLines(context: CommandContext): Show {
  const { signal, stdin } = context;
  const open = (): AsyncIterator<string> => stdin.lines(signal)[Symbol.asyncIterator]();
  // Questions are answered on the same terminal; of a pipe, no line may be lost.
  const piped = stdin.isTTY ? undefined : open();
  const position = { line: 0 };
  return async (own, browser, reload) => {
    const { message } = browser;
    const isFirst = !browser.hasStock;
    await reload(own);
    const reader = new Lines(own, browser, reload);
    if (!isFirst) own.notices.info(message);
    else own.notices.info('Type help for the commands.');
    reader.list(0);
    const lines = piped ?? open();
    try {
      for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
        position.line++;
        const end = await reader.take(next.value.trim(), position.line);
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
  /** Of the line that is read. */
  private number = 0;
  private readonly commands = new Map<string, (rest: string) => void | Promise<void>>([
    [
      'help',
      () => {
        this.help();
      },
    ],
    [
      '?',
      () => {
        this.help();
      },
    ],
    [
      'list',
      () => {
        this.list(0);
      },
    ],
    [
      'next',
      () => {
        this.list(this.at);
      },
    ],
    [
      'changes',
      () => {
        this.changes();
      },
    ],
    [
      'apply',
      () => {
        this.say('No change is pending.');
      },
    ],
    ['refresh', () => this.refresh()],
    [
      'find',
      (text) => {
        this.show(() => {
          this.browser.searchFor(text);
        });
      },
    ],
    [
      'low',
      () => {
        this.show(() => {
          this.browser.showLow(!this.browser.isLowOnly);
        });
      },
    ],
    [
      'status',
      (text) => {
        this.status(text);
      },
    ],
    [
      'sort',
      (text) => {
        this.sort(text);
      },
    ],
  ]);

  constructor(context: CommandContext, browser: Browser, reload: Reload) {
    this.context = context;
    this.browser = browser;
    this.reload = reload;
  }

  /** Does what a line says. Returns how it ends the look at the table, if it does. */
  async take(line: string, number: number): Promise<End | undefined> {
    const { browser } = this;
    this.number = number;
    const [first = '', ...words] = line.split(/\s+/);
    const word = first.toLowerCase();
    browser.message = '';
    if (word === '') return undefined;
    if (word === 'q' || word === 'quit') return 'leave';
    if (word === 'discard') return 'discard';
    if (word === 'apply' && browser.pending.size > 0) return 'apply';
    const command = this.commands.get(word);
    if (command === undefined) this.change(first, words.join(' '), line);
    else await command(words.join(' '));
    return undefined;
  }

  private help(): void {
    for (const text of HELP) this.say(text);
  }

  private async refresh(): Promise<void> {
    await this.reload(this.context);
    this.list(0);
  }

  private show(change: () => void): void {
    change();
    this.list(0);
  }

  private status(text: string): void {
    if (text === '')
      this.show(() => {
        this.browser.showStatus(undefined);
      });
    else if (isOneOf(PET_STATUSES, text))
      this.show(() => {
        this.browser.showStatus(text);
      });
    else this.refuse(`status is one of ${PET_STATUSES.join(', ')}`);
  }

  private sort(text: string): void {
    const order = this.browser.orders.find((each) => each.toLowerCase() === text.toLowerCase());
    if (order === undefined) this.refuse(`sort by one of ${this.browser.orders.join('; ')}`);
    else
      this.show(() => {
        this.browser.orderBy(order);
      });
  }

  /** Shows pets from this one on. */
  list(from: number): void {
    const { browser } = this;
    const { found } = browser.counts;
    const items = browser.between(from, from + PAGE);
    for (const item of items) this.say(this.line(item));
    this.at = from + items.length;
    if (items.length === 0) this.say(from === 0 ? 'No pet matches.' : 'These were all of them.');
    else if (this.at < found) this.say(`${from + 1} to ${this.at} of ${plural(found, 'pet')}; next shows more.`);
  }

  private changes(): void {
    const { browser } = this;
    for (const { petId, current, quantity } of browser.pending.values()) {
      this.say(`${this.named(petId)}: ${current} -> ${quantity}`);
    }
    this.say(`${browser.pendingWords} to apply.`);
  }

  private change(id: string, amount: string, line: string): void {
    const found = this.petFor(id);
    if (found === undefined) this.refuse(`unknown command ${JSON.stringify(line)}; type help`);
    else if (typeof found === 'string') this.refuse(found);
    else if (amount === '') this.say(this.line(found));
    else this.setTo(found, amount);
  }

  /** Returns the pet with this id or barcode, or why there is none; undefined where it is neither. */
  private petFor(code: string): InventoryItem | string | undefined {
    const { browser } = this;
    const petId = parseInt64(code);
    const owner = browser.catalog?.ownerOf(code);
    if (petId === undefined && owner === undefined) return undefined;
    const byId = petId === undefined ? undefined : browser.find(petId);
    if (owner === undefined) return byId ?? `there is no pet ${code} in this list`;
    if (byId !== undefined && byId.petId !== owner.petId && !owner.isForced) {
      return `${code} is the id of a pet and the barcode of pet ${owner.petId}`;
    }
    return browser.find(owner.petId) ?? `there is no pet ${owner.petId} in this list`;
  }

  private setTo(item: InventoryItem, amount: string): void {
    const { browser } = this;
    const quantity = amount === '=' ? item.quantity : parseQuantity(amount, browser.quantityOf(item));
    if (quantity === undefined) this.refuse(`${JSON.stringify(amount)} is not a quantity`);
    else if (browser.change(item, quantity)) this.say(this.line(item));
    else this.refuse(browser.message);
  }

  private line(item: InventoryItem): string {
    const change = this.browser.pending.get(item.petId);
    const pending = change === undefined ? '' : `, to be ${change.quantity}`;
    return `${this.named(item.petId)}: ${item.quantity}${pending}, ${item.status}`;
  }

  /** `pet 7`, or `pet 7 (Goldfish)`. */
  private named(petId: bigint): string {
    const name = this.browser.catalog?.nameOf(petId) ?? '';
    return name === '' ? `pet ${petId}` : `pet ${petId} (${name})`;
  }

  private say(text: string): void {
    this.context.notices.info(text);
  }

  /** A person types the line again; of a script nothing is applied. @throws {Failure} `invalid-rows` */
  private refuse(reason: string): void {
    if (!this.context.stdin.isTTY) {
      throw new Failure('invalid-rows', { source: 'stdin', problems: [{ line: this.number, reason }] });
    }
    this.context.notices.warning(`Nothing was changed: ${reason}`);
  }
}
