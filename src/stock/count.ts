/** `inventory count`: a stocktake. Stores each scan at once; at the end sets the stock to what was counted. */
import { parseInteger } from '../api/values.ts';
import { barcodeIn } from '../catalog/barcode.ts';
import { type Catalog, petOfCode } from '../catalog/local-catalog.ts';
import { openCatalog } from '../session/open-catalog.ts';
import { connect, type Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { resumeCommand } from '../session/run-commands.ts';
import { assertWriteAllowed, canAsk } from '../session/resolve.ts';
import { Failure, isFailure, stoppedByUser, usageFailure } from '../errors.ts';
import type { Journal, Run, RunSummary, Scan } from '../state/journal.ts';
import { confirmation, type RecordView, type View } from '../view/view.ts';
import { seeStock, type Seen, type Stock } from './runner.ts';
import { applyPlan, assertCanConfirm } from './apply.ts';
import { isStocktakeOpen, lockStocktake, takeTurn, withWritableJournal } from './open-journal.ts';
import { whereOf } from './write-one.ts';
import { dryRunPlan, unscanned, type Wanted } from './plan.ts';
import { findStopped, notApplied, planCount, showUnscanned } from './stocktake.ts';
import type { Problem } from '../catalog/store.ts';
import { clockTime } from '../view/progress.ts';
import { petLabel, plural } from '../view/words.ts';

export interface CountOptions {
  /** Prefix that the scanner types before each id. */
  readonly prefix?: string;
  /** A stocktake's number, or true for the newest. */
  readonly resume?: bigint | true;
  readonly dryRun?: boolean;
  /** What to do with pets that were not scanned. Default: leave them. */
  readonly rest?: 'leave' | 'zero';
}

interface Stocktake {
  readonly context: CommandContext;
  readonly journal: Journal;
  readonly run: Run;
  readonly seen: Seen;
  /** Undefined if this machine has no catalog for the service. */
  readonly catalog: Catalog | undefined;
}

const COMMAND = 'inventory count';

const HELP = [
  '  7          counts one of pet 7, as a scan does',
  '  7 12       counts twelve of pet 7, as 3x 7 counts three',
  '  In place of the id, a barcode of the catalog.',
  '  -          takes back the last scan',
  '  list       shows what is counted so far',
  '  done       shows what will change, and asks (also Ctrl-D)',
  '  q          stops; the count can be kept for later',
];

/**
 * @throws {Failure} `cannot-resume`, `run-locked`, `interrupted`; `usage`: nothing was scanned; `invalid-rows`; and see
 * assertWriteAllowed, connect and applyPlan
 */
export async function count(context: CommandContext, options: CountOptions): Promise<View> {
  if (options.dryRun !== true) {
    await assertWriteAllowed(context);
    assertCanConfirm(context);
  }
  return withWritableJournal(context, async (journal): Promise<View> => {
    const stocktake = await prepare(context, journal, options);
    const { run } = stocktake;
    using _catalog = stocktake.catalog;
    using _lock = await lockStocktake(context, run.id);
    const tally = new Tally(stocktake);
    // Another process may have ended it before the lock was free.
    if (tally.scans.length > 0) await findStopped(context, journal, run.id);
    try {
      return (await tally.read(options.prefix ?? '')) === 'quit'
        ? await putAside(stocktake)
        : await finish(stocktake, tally, options);
    } catch (error) {
      // None of the changes was begun, so the run only has scans. The hint of bad lines says so itself.
      const isSaved = journal.scans(run.id).length > 0 && journal.changesOf(run.id).length === 0;
      if (isSaved && !(isFailure(error) && error.is('invalid-rows'))) context.notices.info(savedText(run));
      throw error;
    }
  });
}

async function finish({ context, journal, run, seen }: Stocktake, tally: Tally, options: CountOptions): Promise<View> {
  const { problems, scans } = tally;
  // A person can scan it again; a script's count is not applied.
  if (problems.length > 0 && !context.stdin.isTTY) {
    const hint = `The other lines are saved. Correct these and scan only them: ${resumeCommand({ ...run, left: 0 })}`;
    const saved = scans.length > 0 && { hint };
    throw new Failure('invalid-rows', { source: 'stdin', problems, ...saved });
  }
  const rows = tally.rows();
  if (rows.length === 0) throw usageFailure('Nothing was scanned; nothing was changed.', 'Scan at least one pet.');
  const rest = unscanned(rows, seen.stock);
  const zeroed = options.rest === 'zero' ? rest : [];
  await showUnscanned(context, run, options.rest === 'zero' ? [] : rest);
  context.notices.info(`${plural(scans.length, 'scan')} of ${plural(rows.length, 'pet')}.`);
  const plan = (present: Stock) => planCount(rows, zeroed, present);
  const question = (steps: number) =>
    `Change ${plural(steps, 'pet')}${zeroed.length === 0 ? '' : `, and set to 0 those that were not scanned (${zeroed.length}),`}`;
  if (options.dryRun === true) {
    const shown = await dryRunPlan(context, { plan });
    context.notices.info(savedText(run));
    return shown;
  }
  using turn = await takeTurn(context, journal, 'count');
  const spec = { kind: 'count', command: COMMAND, run, plan, question } as const;
  return await applyPlan({ context, journal, turn }, spec);
}

function savedText(run: Run): string {
  return `Your count is saved. Continue: ${resumeCommand({ ...run, left: 0 })}`;
}

/** Handles `q`: keeps the stocktake, or discards it if the user wants that. @throws {Failure} `cancelled`, `interrupted` */
async function putAside({ context, journal, run }: Stocktake): Promise<RecordView> {
  const members = [['run', run.id] as const];
  if (journal.scans(run.id).length === 0) return confirmation('Nothing was counted.', members);
  const isKept = !canAsk(context) || (await context.prompt.confirm('Keep this count for later?', context.signal, true));
  if (isKept) return confirmation(savedText(run), members);
  await journal.end(run.id, context.clock.now());
  return confirmation(`Stocktake ${run.id} is discarded. Nothing was changed.`, members);
}

async function prepare(context: CommandContext, journal: Journal, { resume }: CountOptions): Promise<Stocktake> {
  const wanted = resume === undefined ? undefined : await findStopped(context, journal, resume);
  await using session = await connect(context, { isBulk: true });
  const seen = await seeStock(session.service, journal);
  const catalog = await openCatalog(context, session.origin);
  const stopped = wanted ?? (await offerStopped(context, journal, session));
  const begun = { kind: 'count', startedAt: context.clock.now() } as const;
  const run = stopped ?? (await journal.begin(begun, whereOf(context, session, COMMAND), []));
  return { context, journal, run, seen, catalog };
}

/**
 * Asks at a terminal whether to continue the newest unfinished stocktake. Names one that was being applied. Omits those
 * that are open in another window.
 */
async function offerStopped(context: CommandContext, journal: Journal, session: Session): Promise<Run | undefined> {
  const { clock, globals, notices, prompt, signal } = context;
  const stopped: RunSummary[] = [];
  for (const run of journal.unfinished()) {
    const isHere = run.kind === 'count' && run.environment === session.environment && run.origin === session.origin;
    if (isHere && !(await isStocktakeOpen(context, run.id))) stopped.push(run);
  }
  const applying = stopped.find(({ left }) => left > 0);
  if (applying !== undefined) notices.warning(notApplied(applying).join('. '));
  const open = stopped.find(({ left }) => left === 0);
  if (open === undefined || globals.yes || !canAsk(context)) return undefined;
  const what = `Stocktake ${open.id} of ${clockTime(open.startedAt, clock.now())} was not finished`;
  const continues = await prompt.confirm(`${what} (${plural(open.scans, 'scan')}). Continue it?`, signal, true);
  return continues ? open : undefined;
}

class Tally {
  private readonly stocktake: Stocktake;
  readonly scans: Scan[];
  /** Sum of the scans of each pet. */
  private readonly counted = new Map<bigint, bigint>();
  /** Lines that were not counted. */
  readonly problems: Problem[] = [];
  private line = 0;

  constructor(stocktake: Stocktake) {
    this.stocktake = stocktake;
    this.scans = stocktake.journal.scans(stocktake.run.id);
    for (const { petId, quantity } of this.scans) this.add(petId, quantity);
  }

  rows(): Wanted[] {
    const byPet = [...Map.groupBy(this.scans, ({ petId }) => petId)];
    return byPet.map(([petId, scans]) => ({ petId, quantity: this.counted.get(petId)!, current: scans[0]!.stock }));
  }

  private add(petId: bigint, quantity: bigint): void {
    this.counted.set(petId, (this.counted.get(petId) ?? 0n) + quantity);
  }

  /** Reads scans and commands until `done`, `q` or the end of the input. */
  async read(prefix: string): Promise<'done' | 'quit'> {
    const { context, run } = this.stocktake;
    const { notices, signal, stdin } = context;
    const lines = stdin.lines(signal);
    notices.info(
      this.scans.length > 0
        ? `Stocktake ${run.id} continues: ${plural(this.scans.length, 'scan')} so far.`
        : `Stocktake ${run.id} in ${run.environment}: scan, or type "id quantity". done ends it, ? is help.`,
    );
    try {
      for await (const line of lines) {
        // Lets a signal arrive: the lines of a file are there at once.
        await context.clock.turn();
        signal.throwIfAborted();
        this.line++;
        const text = line.trim();
        const word = text.toLowerCase();
        if (word === 'done' || word === '.') return 'done';
        if (word === 'q' || word === 'quit') return 'quit';
        if (word === '?' || word === 'help') for (const each of HELP) notices.info(each);
        else if (word === 'list') this.show();
        else if (word === '-') await this.takeBack();
        else if (word !== '') await this.scan(text, prefix);
      }
      return 'done';
    } catch (error) {
      throw stoppedByUser(error, 'input');
    }
  }

  private show(): void {
    const { notices } = this.stocktake.context;
    const rows = this.rows();
    for (const { petId } of rows) notices.info(this.tallied(petId));
    notices.info(`${plural(this.scans.length, 'scan')} of ${plural(rows.length, 'pet')}.`);
  }

  private tallied(petId: bigint): string {
    const label = petLabel(petId, this.stocktake.catalog?.nameOf(petId));
    return `${label}: ${this.counted.get(petId)} counted (stock: ${this.present(petId) ?? 0n})`;
  }

  /** Returns the stock that this machine knows: what it has set since the stock was read, or what was read. */
  private present(petId: bigint): bigint | undefined {
    const { journal, run, seen } = this.stocktake;
    const own = journal.newestOther({ id: 0n, origin: run.origin, petId, turn: seen.moment });
    return own?.state === 'applied' ? own.after : seen.stock.get(petId)?.quantity;
  }

  private async scan(text: string, prefix: string): Promise<void> {
    const { catalog, context, journal, run, seen } = this.stocktake;
    const read = parseScan(text, prefix);
    if (read === undefined) return this.refuse(`${JSON.stringify(text)} is not an id, or an id and a quantity`);
    // A scan in place of a quantity would count millions.
    const barcode = barcodeIn(`${read.quantity}`, catalog);
    if (barcode !== undefined) return this.refuse(`${barcode} is a barcode: scan it on a line of its own`);
    const petId = petOfCode(read.code, seen.stock, catalog);
    if (typeof petId === 'string') return this.refuse(petId);
    const present = this.present(petId);
    if (present === undefined) return this.refuse(`${petLabel(petId, catalog?.nameOf(petId))} does not exist`);
    const scan = { seq: (this.scans.at(-1)?.seq ?? 0) + 1, petId, quantity: read.quantity, stock: present };
    await journal.scan(run.id, scan);
    this.scans.push(scan);
    this.add(petId, read.quantity);
    context.notices.info(this.tallied(petId));
  }

  private async takeBack(): Promise<void> {
    const last = this.scans.pop();
    if (last === undefined) return this.refuse('there is nothing to take back');
    const { petId, quantity, seq } = last;
    const { catalog, context, journal, run } = this.stocktake;
    await journal.unscan(run.id, seq);
    this.add(petId, -quantity);
    context.notices.info(`${petLabel(petId, catalog?.nameOf(petId))}: taken back, ${this.counted.get(petId)} counted`);
  }

  /** Warns, and rings the bell: people who scan look at the shelf, not at the screen. */
  private async refuse(reason: string): Promise<void> {
    const { notices, stderr } = this.stocktake.context;
    this.problems.push({ line: this.line, reason });
    notices.warning(`Not counted: ${reason}.`);
    if (stderr.isTTY) await stderr.write('\u0007');
  }
}

/**
 * Parses `7`, `7 12`, `7,12` and `3x 7`, but not `7 x3` and `0x7`, which could be either; the prefix may be before the
 * code: the digits of an id or a barcode, perhaps padded with zeros.
 */
export function parseScan(text: string, prefix = '') {
  const [, times, rest = ''] =
    text.startsWith(prefix) && prefix !== '' ? [] : (/^(\d+)(?: *[x\u00d7] +|(?<!^0)[x\u00d7])(.+)$/i.exec(text) ?? []);
  const scanned = times === undefined ? text : rest;
  const words = (scanned.startsWith(prefix) ? scanned.slice(prefix.length) : scanned).trim().split(/[\s,;]+/);
  const [code = '', quantityText = times ?? '1'] = words;
  const quantity = parseInteger(quantityText);
  const isCode = /^-?\d+$/.test(code) && words.length <= (times === undefined ? 2 : 1);
  return isCode && quantity !== undefined && quantity >= 0n ? { code, quantity } : undefined;
}
