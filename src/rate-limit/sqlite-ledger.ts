/**
 * The ledger that all processes of this user share: one row for each key in the state database, named by a salted hash, so that neither the file nor this code knows which key it is about.
 * Each step is one immediate transaction. It is never held while a request is under way.
 */
import type { Context } from '../ports.ts';
import type { State } from '../state/database.ts';
import { abandon, type LedgerState, UNKNOWN } from './governor.ts';
import { createLedger, isDeadOwner, type Ledger, type MakeLedger, type Step } from './ledger.ts';
import { type Moment, rebase } from './rebase.ts';

type Ports = Pick<Context, 'clock' | 'machine' | 'randomBytes'>;

/** @param nameOf the row's name, by the database's salt */
export function sqliteLedger(
  ports: Ports,
  state: State,
  nameOf: (salt: string) => string,
  make: MakeLedger = createLedger,
): Ledger {
  const read = (now: Moment): LedgerState => {
    const salt = knownSalt(state);
    const row =
      salt === undefined
        ? undefined
        : state.database.get('SELECT state, boot, monotonic, wall FROM ledger WHERE name = ?', nameOf(salt));
    if (row === undefined) return UNKNOWN;
    const saved = { boot: String(row.boot), monotonic: Number(row.monotonic), wall: Number(row.wall) };
    return withoutDead(rebase(parseState(String(row.state)), saved, now), ports, now);
  };
  const write = (after: LedgerState, { boot, monotonic, wall }: Moment): void => {
    const name = nameOf(knownSalt(state) ?? newSalt(ports, state));
    state.database.run(
      'INSERT OR REPLACE INTO ledger (name, state, boot, monotonic, wall) VALUES (?, ?, ?, ?, ?)',
      ...[name, JSON.stringify(after), boot, monotonic, wall],
    );
  };
  const step: Step = async (work, { isRead, ...how } = {}) => {
    if (isRead === true) {
      try {
        const now = momentOf(ports);
        return work(read(now), now.monotonic).result;
      } catch (error) {
        // Damage that this read has met is healed by then: what was known is not.
        if (await state.recover(error)) return work(UNKNOWN, ports.clock.monotonic()).result;
        throw error;
      }
    }
    return state.exclusively(() => {
      const now = momentOf(ports);
      const before = read(now);
      const { state: after, result } = work(before, now.monotonic);
      if (after !== before) write(after, now);
      return result;
    }, how);
  };
  return make(step);
}

function momentOf({ clock, machine }: Ports): Moment {
  return { boot: machine.bootId, monotonic: clock.monotonic(), wall: clock.now() };
}

/** Gives up on requests whose process was killed. */
function withoutDead(state: LedgerState, { machine }: Ports, { monotonic }: Moment): LedgerState {
  return state.inFlight
    .filter(({ id }) => isDeadOwner(id, machine))
    .reduce((left, { id }) => abandon(left, monotonic, id), state);
}

function knownSalt({ database }: State): string | undefined {
  const known = database.get("SELECT value FROM meta WHERE name = 'salt'")?.value;
  return typeof known === 'string' ? known : undefined;
}

function newSalt({ randomBytes }: Ports, { database }: State): string {
  const salt = Buffer.from(randomBytes(32)).toString('hex');
  database.run("INSERT INTO meta VALUES ('salt', ?)", salt);
  return salt;
}

/** Parses a state. What is none is unknown: one probe finds out, and a block is in the reserve file, too. */
function parseState(text: string): LedgerState {
  try {
    const state = JSON.parse(text) as LedgerState;
    return Array.isArray(state.windows) && Array.isArray(state.inFlight) ? state : UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}
