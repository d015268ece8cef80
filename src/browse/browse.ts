/** `inventory browse`: a table of the stock to search and change. Applies changes as an import does. */
import { hash } from 'node:crypto';
import { type InventoryItem, unexpectedIn } from '../api/item.ts';
import { type Filter, matcher } from '../api/select.ts';
import { listInventory } from '../client/list.ts';
import { noteValue, type Parser, wordValue } from '../value-parsers.ts';
import { applyPlan } from '../stock/apply.ts';
import { lockHere, takeTurn, withWritableJournal } from '../stock/open-journal.ts';
import { dryRunPlan, isUnexpected, makePlan, type Plan } from '../stock/plan.ts';
import type { Stock } from '../stock/runner.ts';
import { Failure, isFailure, midway, usageFailure } from '../errors.ts';
import { describeFailure } from '../report/failures.ts';
import { connect } from '../session/connect.ts';
import { openCatalog } from '../session/open-catalog.ts';
import { nextSteps } from '../session/run-commands.ts';
import { originOf } from '../session/environments.ts';
import type { CommandContext, Why } from '../session/globals.ts';
import { assertWriteAllowed, canAsk } from '../session/resolve.ts';
import { CAUSES, type Journal } from '../state/journal.ts';
import { confirmation, type RecordView, type View } from '../view/view.ts';
import { displayWidth, prepareWidths } from '../view/width.ts';
import { firstFew, plural, visible } from '../view/words.ts';
import { Browser, type Reload } from './browser.ts';
import { byLines } from './lines.ts';
import { browseOnScreen } from './on-screen.ts';
import type { Listing } from './selection.ts';

export interface BrowseOptions extends Filter {
  /** The largest quantity that counts as low stock. */
  readonly low: bigint;
  /** Uses lines of text instead of the full screen. */
  readonly plain?: boolean;
  readonly dryRun?: boolean;
}

const COMMAND = 'inventory browse';
/** How many names are measured, the longest ones. */
const MEASURED = 100;

interface Visit {
  readonly context: CommandContext;
  readonly journal: Journal;
  readonly options: BrowseOptions;
  readonly origin: string;
  readonly browser: Browser;
  /** True if changes that are not applied are kept for the next time. */
  readonly keeps: boolean;
  /** Cause and note of the changes that are applied next. */
  why: Why;
}

/** @throws {Failure} `usage`: without a terminal; and what connect throws */
export async function browse(context: CommandContext, options: BrowseOptions): Promise<View> {
  const hasScreen = canAsk(context) && context.stdout.isTTY && context.env.TERM !== 'dumb';
  if (options.plain !== true && !hasScreen)
    throw usageFailure(
      `${COMMAND} needs a terminal with a full screen, and does not work with --no-input.`,
      `For lines of text: petstore ${COMMAND} --plain`,
    );
  if (options.dryRun !== true) await assertWriteAllowed(context);
  const target = await context.target();
  const { environment } = target;
  const origin = originOf(target);
  return withWritableJournal(context, async (journal) => {
    const browser = new Browser(options.low);
    browser.petstore = `petstore --env ${environment}`;
    browser.changesOf = (petId, limit) =>
      [...journal.history({ environment, pet: [petId], limit })].flat().filter((change) => change.origin === origin);
    // Only a person continues with earlier changes. Scripts and dry runs start without any, and leave none.
    const keeps = options.dryRun !== true && canAsk(context);
    const visit: Visit = { context, journal, options, origin, browser, keeps, why: {} };
    if (!keeps) return await run(visit);
    using _lock = await lockHere(context, `browse-${hash('sha256', origin).slice(0, 16)}`, 'the table');
    tellUnfinished(visit);
    await offerDraft(visit);
    return await run(visit);
  });
}

/** Reports a run of changes that was cut off, for example by a power cut. */
function tellUnfinished({ browser, context, journal, origin }: Visit): void {
  const found = journal.unfinished().find((each) => each.kind === 'browse' && each.origin === origin);
  if (found === undefined) return;
  browser.message = `Run ${found.id} was not finished; ${browser.petstore} inventory runs shows it.`;
  const steps = nextSteps(found).map((step) => `  ${step}`);
  for (const text of [`Run ${found.id} (browse) was not finished:`, ...steps]) context.notices.info(text);
}

/** Continues with the changes of an earlier session, unless the user discards them. Keeps all changes from now on. */
async function offerDraft(visit: Visit): Promise<void> {
  const { browser, context, journal, origin } = visit;
  const { prompt, signal } = context;
  browser.onChange = () => {
    // The next change stores all of them.
    save(visit).catch((error: unknown) => {
      browser.message = `The changes could not be saved: ${messageOf(context, error)}`;
    });
  };
  const kept = journal.draft(origin);
  if (kept.length === 0) return;
  const them = kept.length === 1 ? 'it' : 'them';
  const changes = kept.map(({ petId, current, quantity }) => `pet ${petId}: ${current} → ${quantity}`);
  const what = `You did not apply ${plural(kept.length, 'change')} (${firstFew(changes)}).`;
  if (await prompt.confirm(`${what}\nKeep ${them}? No throws ${them} away.`, signal, true)) {
    for (const change of kept) browser.pending.set(change.petId, change);
  } else await save(visit);
}

async function save({ browser, journal, keeps, origin }: Visit): Promise<void> {
  if (keeps) await journal.saveDraft(origin, browser.pending);
}

/** Shows the table, again after each apply, until the user leaves it. */
async function run(visit: Visit): Promise<View> {
  const { browser, context, options } = visit;
  const show = options.plain === true ? byLines(context) : browseOnScreen;
  const reload: Reload = async (own) => {
    const { catalog } = browser;
    browser.replace(await readListing(own, options, (petId) => browser.pending.has(petId)));
    catalog?.[Symbol.dispose]();
  };
  let done: RecordView | undefined;
  /** The result that is not printed yet. The greeting of the lines prints each. */
  let untold: RecordView | undefined;
  try {
    for (;;) {
      const end = await show(context, browser, reload);
      if (end === 'discard') browser.keep(new Set());
      await save(visit);
      if (end === 'why') {
        await askWhy(visit);
        continue;
      }
      if (end !== 'apply') return done ?? confirmation('Nothing was changed.', [['applied', 0]]);
      if (options.dryRun === true) return await dryRunPlan(context, { plan: (stock) => planOf(browser, stock) });
      context.notices.info(untold?.text ?? '');
      untold = undefined;
      const applied = await apply(visit);
      // An error must be readable before anything else.
      if (applied?.failure !== undefined) return applied;
      done = applied ?? done;
      if (options.plain !== true) untold = applied;
    }
  } catch (error) {
    if (done === undefined || !isFailure(error)) throw error;
    // What was applied before stays applied, and is reported.
    const failure = error.is('invalid-rows') ? new Failure('rows-after-apply', error.details, error) : midway(error);
    return { ...done, failure };
  } finally {
    if (browser.pending.size > 0 && options.dryRun !== true) {
      const again = ` Continue: ${browser.petstore} ${COMMAND}${options.plain === true ? ' --plain' : ''}`;
      context.notices.info(`You did not apply ${browser.pendingWords}.${visit.keeps ? again : ''}`);
    }
    browser.catalog?.[Symbol.dispose]();
  }
}

/**
 * Reads the stock.
 * @param isWanted adds pets that the filter leaves out
 * @throws {Failure} what connect throws, and what ends a read of the list
 */
async function readListing(
  context: CommandContext,
  filter: Filter,
  isWanted: (petId: bigint) => boolean,
): Promise<Listing> {
  await using session = await connect(context);
  const matches = matcher(filter);
  const oddities = unexpectedIn(filter.pet);
  const items: InventoryItem[] = [];
  let id = 0;
  let quantity = 0;
  for await (const batch of listInventory(session.service, 'show')) {
    oddities.see(batch);
    for (const item of batch) {
      if (!matches(item) && !isWanted(item.petId)) continue;
      items.push(item);
      id = Math.max(id, String(item.petId).length);
      quantity = Math.max(quantity, String(item.quantity).length);
    }
    context.notices.progress(`Reading the stock: ${plural(items.length, 'pet')}`);
  }
  context.notices.progress(undefined);
  for (const warning of oddities.warnings()) context.notices.warning(warning);
  const catalog = await openCatalog(context, session.origin);
  const names = catalog?.longestNames(MEASURED).map(visible) ?? [];
  await prepareWidths(names);
  const name = Math.max(0, ...names.map(displayWidth));
  return { items, catalog, widths: { id, name, quantity } };
}

/** Asks for the cause and the note, at the user's request. Both may stay empty. */
async function askWhy(visit: Visit): Promise<void> {
  const { browser, context } = visit;
  const { prompt, signal } = context;
  if (!canAsk(context)) throw new Failure('no-terminal', { what: 'the cause', instead: 'Use --cause and --note.' });
  const given = { ...context.why, ...visit.why };
  try {
    const answer = async <T extends string>(what: string, present: T | undefined, { parse, words }: Parser<T>) => {
      const keys = [words?.join(', '), present === undefined ? undefined : '- clears', 'Esc leaves'];
      const question = `${what} (${keys.filter((key) => key !== undefined).join('; ')})`;
      const typed = await prompt.text(question, present, signal);
      return ['', '-'].includes(typed) ? undefined : parse(typed, `The ${what.toLowerCase()}`);
    };
    const cause = await answer('Cause', given.cause, wordValue(CAUSES));
    const note = await answer('Note', given.note, noteValue);
    visit.why = { cause, note };
    const answers = [cause, note].filter((each) => each !== undefined).join(', ');
    browser.message = answers === '' ? 'The history will have no cause.' : `For the history: ${answers}.`;
  } catch (error) {
    if (!isFailure(error) || error.is('interrupted')) throw error;
    browser.message = error.is('cancelled') ? 'The cause was not changed.' : messageOf(context, error);
  }
}

function planOf({ pending }: Browser, stock: Stock): Plan {
  return makePlan([...pending.values()], stock, (row, present) =>
    isUnexpected(row, present) ? `it was ${row.current} when you changed it, and is now ${present}` : undefined,
  );
}

/** Shows the plan, asks, and applies it. Returns undefined if nothing was applied: the changes stay. */
async function apply(visit: Visit): Promise<RecordView | undefined> {
  const { browser, context, journal } = visit;
  const state = { hasBegun: false, conflicts: new Set<bigint>() };
  const onBegin = async (): Promise<void> => {
    state.hasBegun = true;
    browser.keep(state.conflicts);
    await save(visit);
  };
  // Conflicts stay in the table, for the user to decide.
  const plan = (stock: Stock): Plan => {
    const whole = planOf(browser, stock);
    if (!canAsk(context)) return whole;
    const found = whole.obstacles.filter((each) => each.state === 'conflict');
    state.conflicts = new Set(found.map(({ petId }) => petId));
    for (const { petId, reason } of found) context.notices.warning(`Pet ${petId} is left as it is: ${reason}.`);
    if (found.length > 0 && whole.steps.length === 0) throw new Failure('cancelled', {});
    return { ...whole, obstacles: whole.obstacles.filter((each) => each.state !== 'conflict') };
  };
  try {
    using turn = await takeTurn(context, journal, 'browse');
    const own = { ...context, why: { ...context.why, ...visit.why } };
    const spec = { kind: 'browse', command: COMMAND, plan, onBegin } as const;
    const applied = await applyPlan({ context: own, journal, turn }, spec);
    visit.why = {};
    browser.message = `${applied.text.split('\n')[0] ?? ''} ${conflictWords(state.conflicts.size)}`.trim();
    return applied;
  } catch (error) {
    if (state.hasBegun || !isFailure(error) || error.is('interrupted') || error.is('deadline')) throw error;
    // A script cannot try again.
    if (!error.is('cancelled') && !canAsk(context)) throw error;
    const why = error.is('cancelled') ? conflictWords(state.conflicts.size) : messageOf(context, error);
    browser.message = `Nothing was applied. ${why}`.trim();
    return undefined;
  }
}

/** Returns '' for 0. */
function conflictWords(count: number): string {
  return count === 0 ? '' : `The stock of ${plural(count, 'pet')} was changed by someone else since (marked with !).`;
}

function messageOf({ clock }: CommandContext, error: unknown): string {
  return isFailure(error) ? describeFailure(error, clock.now()).message : String(error);
}
