/** `inventory count`: a stocktake. Each scan is on the disk at once; at the end the stock is set to what was counted. */
import { parseInt64, parseInteger } from '../api/values.ts';
import { connect, type Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { resumeCommand } from '../session/run-commands.ts';
import { assertWriteAllowed } from '../session/write-policy.ts';
import { Failure } from '../errors.ts';
import type { Journal, Run, Scan } from '../state/journal.ts';
import type { View } from '../view/view.ts';
import { readStock } from './runner.ts';
import { applyPlan, assertCanConfirm, dryRunPlan } from './apply.ts';
import { lockStocktake, takeTurn, withWritableJournal } from './open-journal.ts';
import { assertSameOrigin, whereOf } from './origin.ts';
import { makePlan, type Stock } from './plan.ts';
import { plural } from '../view/words.ts';

export interface CountOptions {
  /** What the scanner puts before each id. */
  readonly prefix?: string;
  /** A stocktake's number, or true for the newest. */
  readonly resume?: bigint | true;
  readonly dryRun?: boolean;
}

const COMMAND = 'inventory count';

/** @throws {Failure} `cannot-resume`, `interrupted`, and what connect throws */
export async function count(context: CommandContext, options: CountOptions): Promise<View> {
  if (options.dryRun !== true) {
    await assertWriteAllowed(context, COMMAND);
    assertCanConfirm(context);
  }
  return withWritableJournal(context, undefined, async (journal): Promise<View> => {
    const { run, stock } = await prepare(context, journal, options);
    using _lock = await lockStocktake(context, run.id);
    const tally = new Tally(context, journal, run, stock);
    await tally.read(options.prefix ?? '');
    const rows = tally.rows();
    if (rows.length === 0) {
      await journal.end(run.id, context.clock.now());
      throw new Failure('cannot-resume', { problem: 'Nothing was scanned', hint: 'Scan at least one pet.' });
    }
    context.notices.info(`${tally.scans} scans of ${plural(rows.length, 'pet')}.`);
    const plan = (present: Stock) => makePlan(rows, present);
    if (options.dryRun === true) {
      context.notices.info(`Your count is saved. Continue: ${resumeCommand({ ...run, left: 0 })}`);
      return await dryRunPlan(context, { plan });
    }
    using turn = await takeTurn(context, journal, true, 'count');
    return await applyPlan({ context, journal, turn }, { kind: 'count', command: COMMAND, run, plan });
  });
}

async function prepare(
  context: CommandContext,
  journal: Journal,
  { resume }: CountOptions,
): Promise<{ run: Run; stock: Stock }> {
  await using session = await connect(context, { isBulk: true });
  const stock = await readStock(session.service);
  return { stock, run: resume === undefined ? await begin(context, journal, session) : find(journal, resume, session) };
}

async function begin(context: CommandContext, journal: Journal, session: Session): Promise<Run> {
  const where = whereOf(context, session, COMMAND);
  const { environment, origin } = where;
  const run = await journal.begin({ kind: 'count', startedAt: context.clock.now(), environment, origin }, where, []);
  context.notices.info(
    `Stocktake ${run.id} in ${environment}: scan, or type "id quantity"; - takes back, done ends it.`,
  );
  return run;
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
  private readonly stock: Stock;
  private readonly kept: Scan[];
  private readonly counts = new Map<bigint, bigint>();

  constructor(context: CommandContext, journal: Journal, run: Run, stock: Stock) {
    this.context = context;
    this.journal = journal;
    this.run = run;
    this.stock = stock;
    this.kept = journal.scans(run.id);
    for (const { petId, quantity } of this.kept) this.add(petId, quantity);
    if (this.kept.length > 0) {
      context.notices.info(`Stocktake ${run.id} goes on: ${this.kept.length} scans so far.`);
    }
  }

  get scans(): number {
    return this.kept.length;
  }

  rows(): { line: number; petId: bigint; quantity: bigint }[] {
    return [...this.counts].map(([petId, quantity], i) => ({ line: i + 1, petId, quantity }));
  }

  async read(prefix: string): Promise<void> {
    const { notices, signal, stdin } = this.context;
    try {
      for await (const line of stdin.lines(signal)) {
        const text = line.trim();
        if (/^(done|\.)$/i.test(text)) return;
        if (text === '-') await this.takeBack();
        else if (text !== '') await this.scan(text.startsWith(prefix) ? text.slice(prefix.length) : text);
      }
    } catch (error) {
      notices.info(
        `Nothing is lost: go on with petstore --env ${this.run.environment} inventory count --resume ${this.run.id}`,
      );
      throw error;
    }
  }

  /** `7`, `7 12` or `7,12`. */
  private async scan(text: string): Promise<void> {
    const [idText = '', quantityText = '1', ...rest] = text.trim().split(/[\s,;]+/);
    const petId = parseInt64(idText);
    const quantity = parseInteger(quantityText);
    if (petId === undefined || quantity === undefined || quantity < 0n || rest.length > 0) {
      await this.refuse(`Not counted: ${JSON.stringify(text)} is no id, nor an id and a quantity.`);
      return;
    }
    const known = this.stock.get(petId);
    if (known === undefined) {
      await this.refuse(`Not counted: there is no pet ${petId}.`);
      return;
    }
    const scan = { seq: (this.kept.at(-1)?.seq ?? 0) + 1, petId, quantity };
    await this.journal.scan(this.run.id, scan);
    this.kept.push(scan);
    this.add(petId, quantity);
    this.context.notices.info(`pet ${petId}: ${this.counts.get(petId) ?? 0n} counted, ${known.quantity} in the list`);
  }

  private async takeBack(): Promise<void> {
    const last = this.kept.pop();
    if (last === undefined) {
      await this.refuse('There is nothing to take back.');
      return;
    }
    await this.journal.unscan(this.run.id, last.seq);
    this.add(last.petId, -last.quantity);
    if (!this.kept.some(({ petId }) => petId === last.petId)) this.counts.delete(last.petId);
    this.context.notices.info(`pet ${last.petId}: taken back, ${this.counts.get(last.petId) ?? 0n} counted`);
  }

  /** Rings the bell, too: people who scan look at the shelf, not at the screen. */
  private async refuse(text: string): Promise<void> {
    const { notices, stderr } = this.context;
    notices.warning(text);
    if (stderr.isTTY) await stderr.write('\u0007');
  }

  private add(petId: bigint, quantity: bigint): void {
    this.counts.set(petId, (this.counts.get(petId) ?? 0n) + quantity);
  }
}
