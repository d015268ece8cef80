/**
 * The ledger that all processes of this user share: one row per key in the state database. A salted hash names the row,
 * so neither the file nor this code reveals the key. Each step is one immediate transaction, never open during a
 * request.
 */
import type { Context } from '../ports.ts';
import { together } from '../state/batch.ts';
import type { State } from '../state/database.ts';
import { abandon, type Instant, type LedgerState, lose, UNKNOWN } from './governor.ts';
import { isDeadOwner, shift, type Step, type StepOptions, type Work } from './ledger.ts';

export interface Moment extends Instant {
  /** Empty if the system does not name its boots. */
  readonly boot: string;
}

interface Item {
  readonly how: StepOptions;
  readonly work: Work<unknown>;
}

/**
 * @param nameOf returns the row's name for the database's salt
 * @param isBusy runs all steps of one turn of the event loop in one transaction that reads and writes the row once
 */
export function sqliteStep(
  { clock, machine }: Pick<Context, 'clock' | 'machine'>,
  state: State,
  nameOf: (salt: string) => string,
  isBusy = false,
): Step {
  const { database } = state;
  const nameIn = (): string => {
    const salt = database.get("SELECT value FROM meta WHERE name = 'salt'")?.value;
    return salt === undefined ? '' : nameOf(String(salt));
  };
  const read = (name: string, now: Moment): LedgerState => {
    const row = database.get('SELECT state, boot, monotonic, wall FROM ledger WHERE name = ?', name);
    if (row === undefined) return UNKNOWN;
    const saved = { boot: String(row.boot), monotonic: Number(row.monotonic), wall: Number(row.wall) };
    const known = rebase(parseState(String(row.state)), saved, now);
    // Give up on requests whose process was killed.
    const dead = known.inFlight.filter(({ id }) => isDeadOwner(id, machine));
    return dead.reduce((left, each) => abandon(left, now.monotonic, each), known);
  };
  const write = (name: string, after: LedgerState, { boot, monotonic, wall }: Moment): void => {
    if (name === '') database.run("INSERT INTO meta VALUES ('salt', lower(hex(randomblob(32))))");
    database.run(
      'INSERT OR REPLACE INTO ledger (name, state, boot, monotonic, wall) VALUES (?, ?, ?, ?, ?)',
      ...[name || nameIn(), JSON.stringify(after), boot, monotonic, wall],
    );
  };
  const run = (items: readonly Item[], keeps: boolean): unknown[] => {
    const now = { boot: machine.bootId, monotonic: clock.monotonic(), wall: clock.now() };
    const name = nameIn();
    const before = read(name, now);
    let after = before;
    const results = items.map(({ work }) => {
      const worked = work(after, now.monotonic);
      after = worked.state;
      return worked.result;
    });
    if (keeps && after !== before) write(name, after, now);
    return results;
  };
  const add = isBusy
    ? together<Item>(state, clock, (items) => run(items, true))
    : async (item: Item) => (await state.exclusively(() => run([item], true), item.how))[0];
  return async <T>(work: Work<T>, how: StepOptions = {}): Promise<T> => {
    const item = { how, work };
    try {
      return (how.isRead === true ? run([item], false)[0] : await add(item)) as T;
    } catch (error) {
      // A damaged database that a read finds is replaced first; what was in it is lost.
      if (how.isRead !== true || !(await state.recover(error))) throw error;
      return run([item], false)[0] as T;
    }
  };
}

/** Parses a stored state. Anything else counts as unknown: one probe goes first, and the reserve file has the block too. */
function parseState(text: string): LedgerState {
  try {
    const state = JSON.parse(text) as LedgerState;
    return Array.isArray(state.inFlight) && Array.isArray(state.windows) ? { ...UNKNOWN, ...state } : UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}

/**
 * Converts the state to the current boot's monotonic clock. Within one boot that clock only advances, whatever the wall
 * clock says. After a reboot the wall clock counts, and no wait becomes longer than it was. Without a name of the boot,
 * a reboot may go unnoticed: waits then only become longer.
 */
export function rebase(state: LedgerState, saved: Moment, now: Moment): LedgerState {
  if (saved.boot === now.boot && saved.monotonic <= now.monotonic) return state;
  // If the clock was set back, no time counts as passed.
  const passed = Math.max(0, now.wall - saved.wall);
  const { lease: _ended, pace: _old, ...known } = shift(state, now.monotonic - saved.monotonic - passed);
  // Requests that were in flight when the machine stopped may have been sent.
  return known.inFlight.reduce<LedgerState>((left, { id, at }) => lose(left, at, id, true), known);
}
