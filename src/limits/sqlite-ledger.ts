/**
 * The ledger that all processes of this machine share: one row for each origin and key in the state database,
 * named by a salted hash, so that the file tells nobody which key it is about.
 * Each step is one immediate transaction: read, decide, keep. It is never held while a request is under way.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Context } from '../context.ts';
import type { State } from '../state/database.ts';
import { abandon, decide, type LedgerState, lose, observe, unblock, UNKNOWN } from './governor.ts';
import { type Ledger, type LedgerView, viewOf } from './ledger.ts';
import { type Moment, rebase } from './timeline.ts';

type Ports = Pick<Context, 'clock' | 'machine' | 'randomBytes'>;

interface Step<T> {
  readonly state: LedgerState;
  readonly result: T;
}

export function sqliteLedger(ports: Ports, state: State, origin: string, apiKey: string): Ledger {
  const rows = new Rows(ports, state, origin, apiKey);
  return {
    admit: (intent) =>
      rows.step((before, now) => {
        const { state: after, decision } = decide(before, now, intent);
        return { state: after, result: decision };
      }),
    answered: (answer) =>
      rows.step((before, now) => keep(observe(before, now, answer)), {
        despiteSignal: true,
        // A block must outlive a power cut: it is on the disk before anybody sleeps.
        durable: answer.status === 429 || answer.status === 403,
      }),
    lost: async (id, mayHaveBeenSent) => {
      await rows.step((before, now) => keep(lose(before, now, id, mayHaveBeenSent)), { despiteSignal: true });
    },
    view: () => rows.step(keep),
    clearBlock: () => rows.step((before) => keep(unblock(before)), { durable: true }),
  };
}

function keep(state: LedgerState): Step<LedgerView> {
  return { state, result: viewOf(state) };
}

class Rows {
  private readonly ports: Ports;
  private readonly state: State;
  private readonly pair: string;

  constructor(ports: Ports, state: State, origin: string, apiKey: string) {
    this.ports = ports;
    this.state = state;
    this.pair = JSON.stringify([origin, apiKey]);
  }

  step<T>(
    work: (before: LedgerState, now: number) => Step<T>,
    how: Parameters<State['exclusively']>[1] = {},
  ): Promise<T> {
    return this.state.exclusively(() => {
      const now = this.now();
      const name = this.name();
      const kept = this.read(name, now);
      const { state, result } = work(this.withoutDead(kept, now), now.monotonic);
      if (state !== kept) this.write(name, state, now);
      return result;
    }, how);
  }

  /** Nobody waits for the answer to a request whose process was killed. */
  private withoutDead(state: LedgerState, { monotonic }: Moment): LedgerState {
    const { machine } = this.ports;
    const isDead = (id: string): boolean => {
      const pid = Number(/^process (\d+)\//.exec(id)?.[1] ?? machine.pid);
      return pid !== machine.pid && !machine.isAlive(pid);
    };
    return state.inFlight.filter(({ id }) => isDead(id)).reduce((left, { id }) => abandon(left, monotonic, id), state);
  }

  private now(): Moment {
    const { clock, machine } = this.ports;
    return { boot: machine.bootId, monotonic: clock.monotonic(), wall: clock.now() };
  }

  private name(): string {
    const { database } = this.state;
    const known = database.get("SELECT value FROM meta WHERE name = 'salt'")?.value;
    const salt = typeof known === 'string' ? known : Buffer.from(this.ports.randomBytes(32)).toString('hex');
    if (known === undefined) database.run("INSERT INTO meta VALUES ('salt', ?)", salt);
    // Nobody appends to it: the salt comes first. Not node:crypto, which takes a fifth of Node's own start to load.
    return bytesToHex(sha256(utf8ToBytes(salt + this.pair)));
  }

  private read(name: string, now: Moment): LedgerState {
    const row = this.state.database.get('SELECT state, boot, monotonic, wall FROM ledger WHERE name = ?', name);
    if (row === undefined) return UNKNOWN;
    const saved = { boot: String(row.boot), monotonic: Number(row.monotonic), wall: Number(row.wall) };
    return rebase(JSON.parse(String(row.state)) as LedgerState, saved, now);
  }

  private write(name: string, state: LedgerState, { boot, monotonic, wall }: Moment): void {
    this.state.database.run(
      'INSERT OR REPLACE INTO ledger (name, state, boot, monotonic, wall) VALUES (?, ?, ?, ?, ?)',
      name,
      JSON.stringify(state),
      boot,
      monotonic,
      wall,
    );
  }
}
