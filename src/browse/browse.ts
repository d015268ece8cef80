/** `inventory browse`: the stock as a table to search and change. What is changed is applied as an import is. */
import type { Filter } from '../api/select.ts';
import { applyPlan, dryRunPlan } from '../bulk/apply.ts';
import { lockBrowse, takeTurn, withWritableJournal } from '../bulk/open-journal.ts';
import { makePlan, type Plan, type Stock } from '../bulk/plan.ts';
import { Failure, isFailure } from '../errors.ts';
import { originOf } from '../session/environments.ts';
import type { CommandContext } from '../session/globals.ts';
import { assertWriteAllowed, canAsk } from '../session/write-policy.ts';
import { Draft, type DraftChange } from '../state/draft.ts';
import type { Journal } from '../state/journal.ts';
import { confirmation, type RecordView, type View } from '../view/view.ts';
import { plural } from '../view/words.ts';
import { Browser, type End, type Reload } from './browser.ts';
import { loadRows } from './load.ts';
import { byLines } from './lines.ts';
import { browseOnScreen } from './on-screen.ts';

export interface BrowseOptions extends Filter {
  /** The largest quantity that counts as low stock. */
  readonly low: bigint;
  /** Lines of text in place of a full screen. */
  readonly plain?: boolean;
  readonly dryRun?: boolean;
}

const COMMAND = 'inventory browse';

/** @throws {Failure} `no-terminal`, and what connect throws */
export async function browse(context: CommandContext, options: BrowseOptions): Promise<View> {
  const show = options.plain === true ? byLines(context) : browseOnScreen;
  if (options.plain !== true) needScreen(context);
  if (options.dryRun !== true) await assertWriteAllowed(context, COMMAND);
  const target = await context.target();
  return withWritableJournal(context, undefined, async (journal) => {
    using _lock = await lockBrowse(context, target.environment);
    const draft = new Draft(journal.state, originOf(target));
    const kept = await keptChanges(context, draft);
    const onChange = (petId: bigint, change: DraftChange | undefined): void => {
      if (change === undefined) draft.remove(petId);
      else draft.put(change);
    };
    const browser = new Browser({ low: options.low, draft: kept, onChange });
    const reload: Reload = async (own) => {
      browser.replace(await loadRows(own, options));
    };
    let done: RecordView | undefined;
    for (;;) {
      const end = await show(context, browser, reload);
      await draft.settled();
      if (end !== 'apply') return await left({ context, browser, draft, end, done });
      const changes = [...browser.pending.values()];
      const plan = (stock: Stock): Plan => makePlan(changes, stock, conflictOf);
      if (options.dryRun === true) return await dryRunPlan(context, { plan });
      const applied = await apply(context, journal, plan);
      if (applied === undefined) {
        browser.message = `Nothing was applied: ${browser.pendingWords} pending.`;
        continue;
      }
      done = applied;
      browser.forgetAll();
      draft.clear();
      await draft.settled();
      // What went wrong has to be read before all else.
      if (done.failure !== undefined) return done;
      browser.message = done.text.split('\n')[0] ?? '';
    }
  });
}

/** Asks for a terminal that can show a full screen. @throws {Failure} `no-terminal` */
function needScreen({ env, globals, stdin, stdout }: CommandContext): void {
  if (globals.input && stdin.isTTY && stdout.isTTY && env.TERM !== 'dumb') return;
  const instead = 'Use petstore inventory browse --plain, which reads and prints lines, or petstore inventory list.';
  throw new Failure('no-terminal', { what: 'keys', instead });
}

/** Returns the changes that an earlier run has left, unless the user discards them. */
async function keptChanges(context: CommandContext, draft: Draft): Promise<DraftChange[]> {
  const kept = draft.read();
  if (kept.length === 0) return kept;
  const [are, them] = kept.length === 1 ? ['is', 'it'] : ['are', 'them'];
  const found = `${plural(kept.length, 'change')} of an earlier petstore ${COMMAND} ${are} not applied.`;
  if (!canAsk(context)) {
    context.notices.warning(found);
    return kept;
  }
  if (await context.prompt.confirm(`${found} Continue with ${them}?`, context.signal, true)) return kept;
  draft.clear();
  await draft.settled();
  return [];
}

function conflictOf({ current, quantity }: DraftChange, present: bigint): string | undefined {
  return present === current || present === quantity ? undefined : `you saw ${current}, but there are ${present}`;
}

/** Shows the plan, asks, and applies it. Returns undefined where the user does not agree. */
async function apply(
  context: CommandContext,
  journal: Journal,
  plan: (stock: Stock) => Plan,
): Promise<RecordView | undefined> {
  using turn = await takeTurn(context, journal, true, 'browse');
  try {
    return await applyPlan({ context, journal, turn }, { kind: 'edit', command: COMMAND, plan });
  } catch (error) {
    if (isFailure(error) && error.is('cancelled')) return undefined;
    throw error;
  }
}

interface Leaving {
  readonly context: CommandContext;
  readonly browser: Browser;
  readonly draft: Draft;
  readonly end: End;
  readonly done: RecordView | undefined;
}

async function left({ context, browser, draft, end, done }: Leaving): Promise<RecordView> {
  if (end === 'discard') {
    draft.clear();
    await draft.settled();
  } else if (browser.pending.size > 0) {
    context.notices.info(`${browser.pendingWords} kept for the next petstore ${COMMAND}.`);
  }
  return done ?? confirmation('Nothing was changed.', [['applied', 0]]);
}
