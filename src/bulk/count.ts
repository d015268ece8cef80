/** `inventory count`: a stocktake. Each scan is on the disk at once; at the end the stock is set to what was counted. */
import { parseInteger } from '../api/values.ts';
import { type Catalog, petLabel, petOfCode } from '../catalog/local-catalog.ts';
import { openCatalog } from '../session/catalog.ts';
import { connect, type Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { resumeCommand } from '../session/run-commands.ts';
import { assertWriteAllowed, canAsk } from '../session/write-policy.ts';
import { Failure, isFailure, stoppedByUser } from '../errors.ts';
import type { Journal, Run, Scan } from '../state/journal.ts';
import { confirmation, type RecordView, type View } from '../view/view.ts';
import { readStock } from './runner.ts';
import { applyPlan, assertCanConfirm, dryRunPlan } from './apply.ts';
import { lockStocktake, takeTurn, withWritableJournal } from './open-journal.ts';
import { assertSameOrigin } from './runs.ts';
import { whereOf } from './write-one.ts';
import { makePlan, type Stock } from './plan.ts';
import type { Problem } from './records.ts';
import { plural } from '../view/words.ts';

export interface CountOptions {
  /** What the scanner puts before each id. */
  readonly prefix?: string;
  /** A stocktake's number, or true for the newest. */
  readonly resume?: bigint | true;
  readonly dryRun?: boolean;
}

interface Pets {
  readonly stock: Stock;
  /** Undefined where this machine has none for the service. */
  readonly catalog: Catalog | undefined;
}

const COMMAND = 'inventory count';

const HELP = [
  '  7          counts one of pet 7, as a scan does',
  '  7 12       counts twelve of pet 7, as 3x 7 counts three',
  '  In place of the id, a barcode of the catalog.',
  '  -          takes the last scan back',
  '  list       shows what is counted so far',
  '  done       shows what will change, and asks (also Ctrl-D)',
  '  q          stops; the count can be kept for later',
];

/** @throws {Failure} `cannot-resume`, `interrupted`, and what connect throws */
export async function count(context: CommandContext, options: CountOptions): Promise<View> {
  if (options.dryRun !== true) {
    await assertWriteAllowed(context, COMMAND);
    assertCanConfirm(context);
  }
  return withWritableJournal(context, async (journal): Promise<View> => {
    const { run, stock, catalog } = await prepare(context, journal, options);
    using _lock = await lockStocktake(context, run.id);
    const tally = new Tally(context, journal, run, { stock, catalog });
    const end = await tally.read(options.prefix ?? '');
    const { problems } = tally;
    // A person scans it again; of a script nothing is applied.
    if (problems.length > 0 && !context.stdin.isTTY) {
      throw new Failure('invalid-rows', { source: 'stdin', problems, hint: savedText(run) });
    }
    if (end === 'quit') return await putAside(context, journal, run);
    const rows = tally.rows();
    if (rows.length === 0) {
      await journal.end(run.id, context.clock.now());
      throw new Failure('cannot-resume', { problem: 'Nothing was scanned', hint: 'Scan at least one pet.' });
    }
    context.notices.info(`${plural(tally.scans, 'scan')} of ${plural(rows.length, 'pet')}.`);
    const plan = (present: Stock) => makePlan(rows, present);
    if (options.dryRun === true) {
      context.notices.info(savedText(run));
      return await dryRunPlan(context, { plan });
    }
    using turn = await takeTurn(context, journal, 'count');
    try {
      return await applyPlan({ context, journal, turn }, { kind: 'count', command: COMMAND, run, plan });
    } catch (error) {
      if (isDeclined(error)) context.notices.info(savedText(run));
      throw error;
    }
  });
}

/** True where the user did not agree to the change: it is not begun, and the scans are all there is of the run. */
function isDeclined(error: unknown): boolean {
  if (!isFailure(error)) return false;
  return error.is('cancelled') || (error.is('interrupted') && error.details.during === 'prompt');
}

function savedText(run: Run): string {
  return `Your count is saved. Continue: ${resumeCommand({ ...run, left: 0 })}`;
}

/** `q`: keeps the stocktake, or discards it where the user says so. */
async function putAside(context: CommandContext, journal: Journal, run: Run): Promise<RecordView> {
  const members = [['run', run.id] as const];
  const isKept = !canAsk(context) || (await context.prompt.confirm('Keep this count for later?', context.signal, true));
  if (isKept) return confirmation(savedText(run), members);
  await journal.end(run.id, context.clock.now());
  return confirmation(`Stocktake ${run.id} is discarded. Nothing was changed.`, members);
}

async function prepare(
  context: CommandContext,
  journal: Journal,
  { resume }: CountOptions,
): Promise<{ run: Run } & Pets> {
  await using session = await connect(context, { isBulk: true });
  const pets = { stock: await readStock(session.service), catalog: await openCatalog(context, session.origin) };
  return {
    ...pets,
    run: resume === undefined ? await begin(context, journal, session) : find(journal, resume, session),
  };
}

async function begin(context: CommandContext, journal: Journal, session: Session): Promise<Run> {
  const where = whereOf(context, session, COMMAND);
  const { environment, origin } = where;
  return await journal.begin({ kind: 'count', startedAt: context.clock.now(), environment, origin }, where, []);
}

function find(journal: Journal, wanted: bigint | true, session: Session): Run {
  const open = journal.unfinished().filter(({ kind }) => kind === 'count');
  const run = wanted === true ? open[0] : open.find(({ id }) => id === wanted);
  if (run !== undefined && journal.changesOf(run.id).length === 0) {
    assertSameOrigin(session, run, `Stocktake ${run.id}`, `inventory count --resume ${run.id}`);
    return run;
  }
  throw new Failure('cannot-resume', {
    problem: wanted === true ? 'No stocktake was left unfinished' : `Run ${wanted} is not an unfinished stocktake`,
    hint: 'See all runs: petstore inventory runs',
  });
}

class Tally {
  private readonly context: CommandContext;
  private readonly journal: Journal;
  private readonly run: Run;
  private readonly pets: Pets;
  private readonly kept: Scan[];
  private readonly counts = new Map<bigint, bigint>();
  /** Lines that were not counted. */
  readonly problems: Problem[] = [];
  private line = 0;

  constructor(context: CommandContext, journal: Journal, run: Run, pets: Pets) {
    this.context = context;
    this.journal = journal;
    this.run = run;
    this.pets = pets;
    this.kept = journal.scans(run.id);
    for (const { petId, quantity } of this.kept) this.add(petId, quantity);
  }

  get scans(): number {
    return this.kept.length;
  }

  rows(): { line: number; petId: bigint; quantity: bigint }[] {
    return [...this.counts].map(([petId, quantity], i) => ({ line: i + 1, petId, quantity }));
  }

  /** Reads scans and commands until one of them, or the end of the input, ends it. */
  async read(prefix: string): Promise<'done' | 'quit'> {
    const { notices, signal, stdin } = this.context;
    const lines = stdin.lines(signal);
    notices.info(this.greeting());
    try {
      for await (const line of lines) {
        this.line++;
        const text = line.trim();
        const word = text.toLowerCase();
        if (word === 'done' || word === '.') return 'done';
        if (word === 'q' || word === 'quit') return 'quit';
        await this.take(word, text, prefix);
      }
      return 'done';
    } catch (error) {
      notices.info(savedText(this.run));
      throw stoppedByUser(error, 'input');
    }
  }

  private greeting(): string {
    const { environment, id } = this.run;
    return this.scans > 0
      ? `Stocktake ${id} continues: ${plural(this.scans, 'scan')} so far.`
      : `Stocktake ${id} in ${environment}: scan, or type "id quantity". done ends it, ? is help.`;
  }

  private async take(word: string, text: string, prefix: string): Promise<void> {
    if (word === '?' || word === 'help') for (const line of HELP) this.context.notices.info(line);
    else if (word === 'list') this.show();
    else if (word === '-') await this.takeBack();
    else if (word !== '') await this.scan(text, prefix);
  }

  private show(): void {
    const { notices } = this.context;
    for (const [petId, counted] of this.counts) notices.info(this.tallied(petId, counted));
    notices.info(`${plural(this.scans, 'scan')} of ${plural(this.counts.size, 'pet')}.`);
  }

  private tallied(petId: bigint, counted: bigint): string {
    return `${petLabel(petId, this.pets.catalog)}: ${counted} counted, ${this.pets.stock.get(petId)?.quantity ?? 0n} in the list`;
  }

  private async scan(text: string, prefix: string): Promise<void> {
    const read = parseScan(text, prefix);
    if (read === undefined) return this.refuse(`${JSON.stringify(text)} is not an id, or an id and a quantity`);
    const { code, quantity } = read;
    const petId = petOfCode(code, this.pets.stock, this.pets.catalog);
    if (typeof petId === 'string') return this.refuse(petId);
    if (!this.pets.stock.has(petId)) return this.refuse(`${petLabel(petId, this.pets.catalog)} does not exist`);
    const scan = { seq: (this.kept.at(-1)?.seq ?? 0) + 1, petId, quantity };
    await this.journal.scan(this.run.id, scan);
    this.kept.push(scan);
    this.add(petId, quantity);
    this.context.notices.info(this.tallied(petId, this.counts.get(petId) ?? 0n));
  }

  private async takeBack(): Promise<void> {
    const last = this.kept.pop();
    if (last === undefined) return this.refuse('there is nothing to take back');
    await this.journal.unscan(this.run.id, last.seq);
    this.add(last.petId, -last.quantity);
    if (!this.kept.some(({ petId }) => petId === last.petId)) this.counts.delete(last.petId);
    this.context.notices.info(
      `${petLabel(last.petId, this.pets.catalog)}: taken back, ${this.counts.get(last.petId) ?? 0n} counted`,
    );
  }

  /** Rings the bell, too: people who scan look at the shelf, not at the screen. */
  private async refuse(reason: string): Promise<void> {
    const { notices, stderr } = this.context;
    this.problems.push({ line: this.line, reason });
    notices.warning(`Not counted: ${reason}.`);
    if (stderr.isTTY) await stderr.write('\u0007');
  }

  private add(petId: bigint, quantity: bigint): void {
    this.counts.set(petId, (this.counts.get(petId) ?? 0n) + quantity);
  }
}

export interface ScannedCode {
  /** Digits: an id or a barcode, perhaps padded with zeros. */
  readonly code: string;
  readonly quantity: bigint;
}

/** Parses `7`, `7 12`, `7,12` and `3x 7`; the prefix may be before the code. */
export function parseScan(text: string, prefix = ''): ScannedCode | undefined {
  const [, times, rest = ''] =
    text.startsWith(prefix) && prefix !== '' ? [] : (/^(\d+) *[x\u00d7] *(.+)$/i.exec(text) ?? []);
  const scanned = times === undefined ? text : rest;
  const words = (scanned.startsWith(prefix) ? scanned.slice(prefix.length) : scanned).trim().split(/[\s,;]+/);
  const [code = '', quantityText = times ?? '1'] = words;
  const quantity = parseInteger(quantityText);
  const isCode = /^-?\d+$/.test(code) && words.length <= (times === undefined ? 2 : 1);
  return isCode && quantity !== undefined && quantity >= 0n ? { code, quantity } : undefined;
}
