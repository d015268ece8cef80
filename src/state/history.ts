/** Reads the journal: runs, changes and scans. */
import type { SqlRow } from '../ports.ts';
import { Failure } from '../errors.ts';
import { BadValue } from './columns.ts';
import type { State } from './database.ts';
import {
  type Change,
  type ChangeState,
  type Run,
  type RunSummary,
  type Scan,
  toChange,
  toRun,
  toRunSummary,
  toScan,
} from './rows.ts';
import type { Target } from './written.ts';

export interface HistoryFilter {
  readonly environment?: string | undefined;
  readonly pet?: readonly bigint[] | undefined;
  readonly run?: bigint | undefined;
  readonly id?: bigint;
  /** Sent at this time or later, epoch ms. */
  readonly since?: number | undefined;
  /** Sent before this time, epoch ms. */
  readonly until?: number | undefined;
  readonly limit: number;
}

export interface RunFilter {
  readonly environment?: string | undefined;
  readonly isUnfinished?: boolean;
  readonly limit?: number;
}

/** What a change may have done to the service's stock. */
const MAY_BE_WRITTEN = "('sent', 'applied', 'unknown')";
/** Name of a row of `meta`. */
export const HOLDER = 'run-holder';

export interface JournalOptions {
  /** The state database, if the journal is another file. */
  readonly shared?: State | undefined;
  /** Removes secrets from the texts that are stored. */
  redact?(text: string): string;
  /** Receives warnings about damaged rows that are left out. */
  warn?(text: string): void;
}

export class History {
  readonly state: State;
  /** The state database: every command of this machine notes its writes there, whichever journal it keeps. */
  readonly shared: State;
  protected readonly redact: (text: string) => string;
  private readonly warn: ((text: string) => void) | undefined;

  constructor(state: State, { shared = state, redact = (text) => text, warn }: JournalOptions = {}) {
    this.state = state;
    this.shared = shared;
    this.redact = redact;
    this.warn = warn;
  }

  /** Returns the newest other change that this machine sent to the same pet. `since`: epoch ms. */
  newestOther({ id, origin, petId }: Target & Pick<Change, 'id'>, since: number): Change | undefined {
    const rows = this.shared.database.all(
      `SELECT * FROM change WHERE petId = ? AND origin = ? AND sentAt >= ? AND state IN ${MAY_BE_WRITTEN}
         AND id <> ? ORDER BY sentAt DESC, id DESC LIMIT 1`,
      petId,
      origin,
      BigInt(Math.round(since)),
      // In another journal the same id belongs to another change.
      this.shared === this.state ? id : 0n,
    );
    return this.readSound('change', rows, toChange)[0];
  }

  run(id: bigint): Run | undefined {
    return this.readAll('run', this.state.database.all('SELECT * FROM run WHERE id = ?', id), toRun)[0];
  }

  /** Returns runs with the number of their rows, newest first. */
  runs({ environment, isUnfinished = false, limit = -1 }: RunFilter = {}): RunSummary[] {
    const rowsIn = (...states: readonly ChangeState[]): string =>
      `(SELECT count(*) FROM change WHERE run = run.id AND state IN (${states.map((state) => `'${state}'`).join(', ')}))`;
    const sql = `SELECT *, ${rowsIn('applied', 'unchanged')} AS done, ${rowsIn('planned', 'sent', 'unknown')} AS open,
        ${rowsIn('discarded')} AS discarded, (SELECT count(*) FROM scan WHERE run = run.id) AS scans
      FROM run WHERE environment = coalesce(?, environment) AND (? OR endedAt IS NULL) ORDER BY id DESC LIMIT ?`;
    const rows = this.state.database.all(sql, environment ?? null, isUnfinished ? 0n : 1n, BigInt(limit));
    return this.readSound('run', rows, toRunSummary);
  }

  /** Newest first. */
  unfinished(): RunSummary[] {
    return this.runs({ isUnfinished: true });
  }

  /** Returns the newest change of an environment that was sent: that of the last command. */
  newestSent(environment: string): Change | undefined {
    const sql = `SELECT * FROM change WHERE environment = ? AND state IN ${MAY_BE_WRITTEN} ORDER BY sentAt DESC, id DESC LIMIT 1`;
    return this.readSound('change', this.state.database.all(sql, environment), toChange)[0];
  }

  /** Returns the newest process that began to apply a run: `import (process 123)`. */
  holder(): string {
    const value = this.state.database.get('SELECT value FROM meta WHERE name = ?', HOLDER)?.value;
    return typeof value === 'string' ? value : 'run';
  }

  changesOf(run: bigint): Change[] {
    const rows = this.state.database.all('SELECT * FROM change WHERE run = ? ORDER BY id', run);
    return this.readAll('change', rows, toChange);
  }

  /** Returns the changes that were sent, newest first. */
  history(filter: HistoryFilter): Change[] {
    const { pet, limit } = filter;
    const columns = (['environment', 'run', 'id'] as const).filter((name) => filter[name] !== undefined);
    const { since, until } = filter;
    const times = `${since === undefined ? '' : 'AND sentAt >= ?'} ${until === undefined ? '' : 'AND sentAt < ?'}`;
    const pets = pet === undefined ? '' : `AND petId IN (${pet.map(() => '?').join(', ')})`;
    const sql = `SELECT * FROM change WHERE sentAt IS NOT NULL ${columns.map((name) => `AND ${name} = ?`).join(' ')} ${times} ${pets}
      ORDER BY sentAt DESC, id DESC LIMIT ?`;
    const instants = [since, until].flatMap((at) => (at === undefined ? [] : [BigInt(Math.round(at))]));
    const values = [...columns.map((name) => filter[name]!), ...instants];
    const rows = this.state.database.all(sql, ...values, ...(pet ?? []), BigInt(limit));
    return this.readSound('change', rows, toChange);
  }

  scans(run: bigint): Scan[] {
    const rows = this.state.database.all('SELECT seq, petId, quantity FROM scan WHERE run = ? ORDER BY seq', run);
    return this.readAll('scan', rows, toScan);
  }

  /** Reads rows that are useless without one another. @throws {Failure} `state`: one is damaged */
  private readAll<T>(table: string, rows: readonly SqlRow[], read: (row: SqlRow) => T): T[] {
    return rows.map((row) => {
      try {
        return read(row);
      } catch (error) {
        if (!(error instanceof BadValue)) throw error;
        const detail = `row ${String(row.id ?? row.seq)} of ${table} is damaged: ${error.message}`;
        throw new Failure('state', { path: this.state.path, what: 'journal', problem: 'row', detail }, error);
      }
    });
  }

  /** Reads rows that each count alone: a damaged one is reported and left out. */
  private readSound<T>(table: string, rows: readonly SqlRow[], read: (row: SqlRow) => T): T[] {
    return rows.flatMap((row) => {
      try {
        return this.readAll(table, [row], read);
      } catch (error) {
        if (this.warn === undefined || !(error instanceof Failure) || !error.is('state')) throw error;
        this.warn(`Left out of ${this.state.path}: ${error.details.detail ?? ''}.`);
        return [];
      }
    });
  }
}
