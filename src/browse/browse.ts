/** `inventory browse`: a table of the stock to search and change. Applies changes as an import does. */
import { hash } from 'node:crypto';
import type { Filter } from '../api/select.ts';
import { noteValue, wordValue } from '../cli/value-parsers.ts';
import { applyPlan, dryRunPlan } from '../stock/apply.ts';
import { lockHere, takeTurn, withWritableJournal } from '../stock/open-journal.ts';
import { makePlan, type Plan, type Stock } from '../stock/plan.ts';
import { Failure, isFailure } from '../errors.ts';
import { describeFailure } from '../report/failures.ts';
import { nextSteps } from '../session/run-commands.ts';
import { originOf } from '../session/environments.ts';
import type { CommandContext, Why } from '../session/globals.ts';
import { assertWriteAllowed, canAsk } from '../session/resolve.ts';
import { readDraft, saveDraft } from '../state/draft.ts';
import { CAUSES } from '../state/journal-rows.ts';
import type { Journal } from '../state/journal.ts';
import { confirmation, type RecordView, type View } from '../view/view.ts';
import { plural } from '../view/words.ts';
import { Browser, type Reload } from './browser.ts';
import { byLines } from './lines.ts';
import { browseOnScreen } from './on-screen.ts';
import { readListing } from './listing.ts';

export interface BrowseOptions extends Filter {
  /** The largest quantity that counts as low stock. */
  readonly low: bigint;
  /** Uses lines of text instead of the full screen. */
  readonly plain?: boolean;
  readonly dryRun?: boolean;
}

const COMMAND = 'inventory browse';
/** How many changes are listed. */
const LISTED = 10;

/** @throws {Failure} `usage`: without a terminal; and what connect throws */
export async function browse(context: CommandContext, options: BrowseOptions): Promise<View> {
  if (options.plain !== true) needScreen(context);
  if (options.dryRun !== true) await assertWriteAllowed(context);
  const target = await context.target();
  const origin = originOf(target);
  return withWritableJournal(context, async (journal) => {
    const visit = new Visit(context, journal, options, origin);
    const { environment } = target;
    visit.browser.changesOf = (petId, limit) =>
      [...journal.history({ environment, pet: [petId], limit })].flat().filter((change) => change.origin === origin);
    if (options.dryRun === true || !canAsk(context)) return await visit.run();
    // Only a person continues with earlier changes. Scripts and dry runs start without any, and leave none.
    using _lock = await lockHere(context, `browse-${hash('sha256', origin).slice(0, 16)}`, 'the table');
    visit.tellUnfinished();
    await visit.offerDraft();
    return await visit.run();
  });
}

/** Requires a terminal that can show a full screen. @throws {Failure} `usage` */
function needScreen({ env, globals, stdin, stdout }: CommandContext): void {
  if (globals.input && stdin.isTTY && stdout.isTTY && env.TERM !== 'dumb') return;
  throw new Failure('usage', {
    problem: `${COMMAND} needs a terminal.`,
    hint: `For lines of text: petstore ${COMMAND} --plain`,
  });
}

class Visit {
  private readonly context: CommandContext;
  private readonly journal: Journal;
  private readonly options: BrowseOptions;
  private readonly origin: string;
  readonly browser: Browser;
  /** True if changes that are not applied are kept for the next time. */
  private keeps = false;
  /** Cause and note of the changes that are applied next. */
  private why: Why = {};

  constructor(context: CommandContext, journal: Journal, options: BrowseOptions, origin: string) {
    this.context = context;
    this.journal = journal;
    this.options = options;
    this.origin = origin;
    this.browser = new Browser(options.low);
  }

  /** Reports a run of changes that was cut off, for example by a power cut. */
  tellUnfinished(): void {
    const { browser, context, journal, origin } = this;
    const run = journal.unfinished().find((each) => each.kind === 'browse' && each.origin === origin);
    if (run === undefined) return;
    browser.message = `Run ${run.id} was not finished; petstore inventory runs shows it.`;
    const steps = nextSteps(run).map((step) => `  ${step}`);
    for (const text of [`Run ${run.id} (browse) was not finished:`, ...steps]) context.notices.info(text);
  }

  /** Continues with the changes of an earlier session, unless the user discards them. Keeps all changes from now on. */
  async offerDraft(): Promise<void> {
    const { browser, context, journal, origin } = this;
    const kept = readDraft(journal.state, origin);
    this.keeps = true;
    browser.onChange = () => {
      // The next change stores all of them.
      this.save().catch((error: unknown) => {
        browser.message = `The changes could not be saved: ${messageOf(context, error)}`;
      });
    };
    if (kept.length === 0) return;
    const { notices, prompt, signal } = context;
    const them = kept.length === 1 ? 'it' : 'them';
    notices.info(`You did not apply ${plural(kept.length, 'change')}:`);
    for (const { petId, current, quantity } of kept.slice(0, LISTED)) {
      notices.info(`  pet ${petId}: ${current} → ${quantity}`);
    }
    if (kept.length > LISTED) notices.info(`  and ${kept.length - LISTED} more`);
    if (await prompt.confirm(`Keep ${them}? (n throws ${them} away)`, signal, true)) {
      for (const change of kept) browser.pending.set(change.petId, change);
    } else await this.save();
  }

  private async save(): Promise<void> {
    if (this.keeps) await saveDraft(this.journal.state, this.origin, this.browser.pending);
  }

  async run(): Promise<View> {
    const { browser, context, options } = this;
    const show = options.plain === true ? byLines(context) : browseOnScreen;
    const reload: Reload = async (own) => {
      using _old = browser.catalog;
      browser.replace(await readListing(own, options, (petId) => browser.pending.has(petId)));
    };
    let done: RecordView | undefined;
    try {
      for (;;) {
        const end = await show(context, browser, reload);
        if (end === 'discard') browser.keep(new Set());
        await this.save();
        if (end === 'why') {
          await this.askWhy();
          continue;
        }
        if (end !== 'apply') break;
        if (options.dryRun === true) return await dryRunPlan(context, { plan: (stock) => this.plan(stock) });
        const applied = await this.apply();
        if (applied === undefined) continue;
        // An error must be readable before anything else.
        if (applied.failure !== undefined) return applied;
        if (done !== undefined) context.notices.info(done.text);
        done = applied;
      }
    } catch (error) {
      this.tellKept();
      // A later line of the script is wrong. What was applied before stays applied.
      if (done !== undefined && isFailure(error) && error.is('invalid-rows')) {
        return { ...done, failure: new Failure('rows-after-apply', error.details, error) };
      }
      throw error;
    } finally {
      browser.catalog?.[Symbol.dispose]();
    }
    this.tellKept();
    return done ?? confirmation('Nothing was changed.', [['applied', 0]]);
  }

  /** Asks for the cause and the note, at the user's request. Both may stay empty. */
  private async askWhy(): Promise<void> {
    const { browser, context } = this;
    if (!canAsk(context)) throw new Failure('no-terminal', { what: 'the cause', instead: 'Use --cause and --note.' });
    const given = { ...context.why, ...this.why };
    try {
      const word = await context.prompt.text(`Cause (${CAUSES.join(', ')}; Esc leaves)`, given.cause, context.signal);
      const cause = word === '' ? undefined : wordValue(CAUSES).parse(word, 'The cause');
      const text = await context.prompt.text('Note', given.note, context.signal);
      const note = text === '' ? undefined : noteValue.parse(text, 'The note');
      this.why = { cause, note };
      const answers = [cause, note].filter((each) => each !== undefined).join(', ');
      browser.message = answers === '' ? 'The history will have no cause.' : `For the history: ${answers}.`;
    } catch (error) {
      if (!isFailure(error) || error.is('interrupted')) throw error;
      browser.message = error.is('cancelled') ? 'The cause was not changed.' : messageOf(context, error);
    }
  }

  private plan(stock: Stock): Plan {
    return makePlan([...this.browser.pending.values()], stock, ({ current, quantity }, present) =>
      present === current || present === quantity
        ? undefined
        : `it was ${current} when you changed it, and is now ${present}`,
    );
  }

  /** Shows the plan, asks, and applies it. Returns undefined if nothing was applied: the changes stay. */
  private async apply(): Promise<RecordView | undefined> {
    const { browser, context, journal } = this;
    const run = { hasBegun: false, conflicts: new Set<bigint>() };
    const onBegin = async (): Promise<void> => {
      run.hasBegun = true;
      browser.keep(run.conflicts);
      await this.save();
    };
    // Conflicts stay in the table, for the user to decide.
    const plan = (stock: Stock): Plan => {
      const whole = this.plan(stock);
      if (!canAsk(context)) return whole;
      const found = whole.obstacles.filter(({ state }) => state === 'conflict');
      run.conflicts = new Set(found.map(({ petId }) => petId));
      for (const { petId, reason } of found) context.notices.warning(`Pet ${petId} is left as it is: ${reason}.`);
      if (found.length > 0 && whole.steps.length === 0) throw new Failure('cancelled', {});
      return { ...whole, obstacles: whole.obstacles.filter(({ state }) => state !== 'conflict') };
    };
    try {
      using turn = await takeTurn(context, journal, 'browse');
      const applied = await applyPlan(
        { context: { ...context, why: { ...context.why, ...this.why } }, journal, turn },
        { kind: 'browse', command: COMMAND, plan, onBegin },
      );
      if (!run.hasBegun) await onBegin();
      this.why = {};
      browser.message = `${applied.text.split('\n')[0] ?? ''} ${conflictWords(run.conflicts.size)}`.trim();
      return applied;
    } catch (error) {
      if (run.hasBegun || !isFailure(error) || error.is('interrupted') || error.is('deadline')) throw error;
      // A script cannot try again.
      if (!error.is('cancelled') && !canAsk(context)) throw error;
      const why = error.is('cancelled') ? conflictWords(run.conflicts.size) : messageOf(context, error);
      browser.message = `Nothing was applied. ${why}`.trim();
      return undefined;
    }
  }

  private tellKept(): void {
    const { browser, context, keeps } = this;
    const { size } = browser.pending;
    if (size === 0) return;
    const them = size === 1 ? 'it' : 'them';
    const kept = !keeps ? '.' : `: the next petstore ${COMMAND} offers ${them}.`;
    context.notices.info(`You did not apply ${browser.pendingWords}${kept}`);
  }
}

/** Returns '' for 0. */
function conflictWords(count: number): string {
  if (count === 0) return '';
  return count === 1
    ? 'The stock of 1 pet was changed by someone else since; it is marked with !.'
    : `The stock of ${count} pets was changed by someone else since; they are marked with !.`;
}

function messageOf({ clock }: CommandContext, error: unknown): string {
  return isFailure(error) ? describeFailure(error, clock.now()).message : String(error);
}
