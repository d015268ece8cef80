/**
 * Stores every write of this machine, before it is sent and after, so that a bulk run can be resumed and
 * `inventory history` can show it.
 *
 *     planned ──► sent ──► applied
 *        │          ├────► failed     the service refused it
 *        │          └────► unknown    no answer, and the list did not show it
 *        ├────────► unchanged         it is already so
 *        └────────► conflict          another program has changed it since
 *
 * `sent` is on the disk before the request leaves. A row found as `sent` later may or may not have been applied.
 */
import type { SqlRow, SqlValue } from '../ports.ts';
import { Failure } from '../errors.ts';
import type { Exclusive, State } from './database.ts';
import { BadValue, integer } from './columns.ts';
import { type Change, type Run, type Scan, toChange, toRun, toScan } from './rows.ts';
import { noteWrite, shareWrite, type Target } from './written.ts';

export type { Change, ChangeState, Run, RunKind, Scan } from './rows.ts';

export type NewRun = Omit<Run, 'id' | 'endedAt'>;
export type NewChange = Pick<Change, 'petId' | 'after'> & Partial<Pick<Change, 'before' | 'line' | 'state' | 'reason'>>;
export type Where = Pick<Change, 'environment' | 'origin' | 'command' | 'person'>;

export interface HistoryFilter {
  readonly environment?: string | undefined;
  readonly pet?: readonly bigint[] | undefined;
  readonly run?: bigint | undefined;
  readonly id?: bigint;
  readonly limit: number;
}

export interface JournalOptions {
  /** The state database, if the journal is another file. */
  readonly shared?: State | undefined;
  /** Removes secrets from the texts that are stored. */
  redact?(text: string): string;
  /** Receives warnings about damaged rows that are left out. */
  warn?(text: string): void;
}

/** How a write that must survive a power cut is stored. */
const DURABLE: Exclusive = { durable: true };
/** How an outcome is stored: what happened is recorded, signal or not. */
const CERTAIN: Exclusive = { despiteSignal: true };
const DURABLE_AND_CERTAIN: Exclusive = { ...DURABLE, ...CERTAIN };

export class Journal {
  readonly state: State;
  /** The state database: every command of this machine notes its writes there, whichever journal it keeps. */
  readonly shared: State;
  private readonly redact: (text: string) => string;
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
      `SELECT * FROM change WHERE petId = ? AND origin = ? AND sentAt >= ? AND state IN ('sent', 'applied', 'unknown')
         AND id <> ? ORDER BY sentAt DESC, id DESC LIMIT 1`,
      petId,
      origin,
      BigInt(Math.round(since)),
      // In another journal the same id belongs to another change.
      this.shared === this.state ? id : 0n,
    );
    return this.readSound('change', rows, toChange)[0];
  }

  /** Stores a run with all its rows, or nothing. @throws {Failure} `state` */
  begin(run: NewRun, where: Where, changes: readonly NewChange[]): Promise<Run> {
    const { database } = this.state;
    return this.state.exclusively(() => {
      const row = database.get(
        'INSERT INTO run (kind, startedAt, environment, origin, source, hash, adds) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id',
        run.kind,
        BigInt(Math.round(run.startedAt)),
        run.environment,
        run.origin,
        run.source === undefined ? null : this.redact(run.source),
        run.hash ?? null,
        run.adds === true ? 1n : null,
      );
      const id = integer(row, 'id');
      for (const change of changes) this.insert(where, change, id);
      return { id, ...run };
    }, DURABLE);
  }

  /** Stores a single write that is about to be sent. */
  sendOne(where: Where, change: NewChange, now: number): Promise<bigint> {
    return this.state.exclusively(() => {
      const id = this.insert(where, { ...change, state: 'sent' });
      this.state.database.run('UPDATE change SET sentAt = ? WHERE id = ?', BigInt(Math.round(now)), id);
      noteWrite(this.state, id);
      return id;
    }, DURABLE);
  }

  /** Marks a change as sent, on the disk when it resolves. @throws {Failure} `state` */
  async sent(id: bigint, now: number): Promise<void> {
    await this.state.exclusively(() => {
      this.change("UPDATE change SET state = 'sent', sentAt = ? WHERE id = ?", BigInt(Math.round(now)), id);
      noteWrite(this.state, id);
    }, DURABLE);
    await shareWrite(this, id);
  }

  async settle(id: bigint, now: number, { state, reason }: Pick<Change, 'state' | 'reason'>): Promise<void> {
    const hasWritten = state === 'applied' || state === 'unknown';
    await this.state.exclusively(() => {
      this.change(
        // A change that is planned again was not sent, and the history has only what was sent.
        'UPDATE change SET state = ?, reason = ?, settledAt = ?, sentAt = iif(?, NULL, sentAt) WHERE id = ?',
        state,
        reason === undefined ? null : this.redact(reason),
        BigInt(Math.round(now)),
        state === 'planned' ? 1n : 0n,
        id,
      );
      if (hasWritten) noteWrite(this.state, id);
    }, CERTAIN);
    if (hasWritten) await shareWrite(this, id);
  }

  async end(run: bigint, now: number): Promise<void> {
    await this.state.exclusively(() => {
      this.change('UPDATE run SET endedAt = ? WHERE id = ?', BigInt(Math.round(now)), run);
    }, CERTAIN);
  }

  run(id: bigint): Run | undefined {
    return this.readAll('run', this.state.database.all('SELECT * FROM run WHERE id = ?', id), toRun)[0];
  }

  /** Newest first. */
  unfinished(): Run[] {
    const rows = this.state.database.all('SELECT * FROM run WHERE endedAt IS NULL ORDER BY id DESC');
    return this.readSound('run', rows, toRun);
  }

  changesOf(run: bigint): Change[] {
    const rows = this.state.database.all('SELECT * FROM change WHERE run = ? ORDER BY id', run);
    return this.readAll('change', rows, toChange);
  }

  /** Returns the changes that were sent, newest first. */
  history(filter: HistoryFilter): Change[] {
    const { pet, limit } = filter;
    const columns = (['environment', 'run', 'id'] as const).filter((name) => filter[name] !== undefined);
    const pets = pet === undefined ? '' : `AND petId IN (${pet.map(() => '?').join(', ')})`;
    const sql = `SELECT * FROM change WHERE sentAt IS NOT NULL ${columns.map((name) => `AND ${name} = ?`).join(' ')} ${pets}
      ORDER BY sentAt DESC, id DESC LIMIT ?`;
    const values = columns.map((name) => filter[name]!);
    const rows = this.state.database.all(sql, ...values, ...(pet ?? []), BigInt(limit));
    return this.readSound('change', rows, toChange);
  }

  /** Stores one scan of a stocktake, on the disk when it returns. */
  async scan(run: bigint, { seq, petId, quantity }: Scan): Promise<void> {
    await this.state.exclusively(() => {
      this.requireRun(run);
      this.state.database.run('INSERT INTO scan VALUES (?, ?, ?, ?)', run, BigInt(seq), petId, quantity.toString());
    }, DURABLE_AND_CERTAIN);
  }

  async unscan(run: bigint, seq: number): Promise<void> {
    await this.state.exclusively(() => {
      this.change('DELETE FROM scan WHERE run = ? AND seq = ?', run, BigInt(seq));
    }, DURABLE_AND_CERTAIN);
  }

  scans(run: bigint): Scan[] {
    const rows = this.state.database.all('SELECT seq, petId, quantity FROM scan WHERE run = ? ORDER BY seq', run);
    return this.readAll('scan', rows, toScan);
  }

  /** Stores the rows of a run that has none yet: a stocktake that is over. */
  async plan(run: bigint, where: Where, changes: readonly NewChange[]): Promise<void> {
    await this.state.exclusively(() => {
      this.requireRun(run);
      for (const change of changes) this.insert(where, change, run);
    }, DURABLE);
  }

  private insert(where: Where, change: NewChange, run?: bigint): bigint {
    const row = this.state.database.get(
      `INSERT INTO change (run, line, environment, origin, command, person, petId, before, after, state, reason)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
      run ?? null,
      change.line === undefined ? null : BigInt(change.line),
      where.environment,
      where.origin,
      this.redact(where.command),
      where.person,
      change.petId,
      change.before?.toString() ?? null,
      change.after.toString(),
      change.state ?? 'planned',
      change.reason === undefined ? null : this.redact(change.reason),
    );
    return integer(row, 'id');
  }

  /** Changes a row that is known to be there. @throws {Failure} `state`: another file is in its place */
  private change(sql: string, ...params: SqlValue[]): void {
    if (this.state.database.run(sql, ...params).changes === 0n) throw this.replaced();
  }

  private requireRun(run: bigint): void {
    if (this.state.database.get('SELECT 1 FROM run WHERE id = ?', run) === undefined) throw this.replaced();
  }

  private replaced(): Failure {
    return new Failure('state', { path: this.state.path, what: 'journal', problem: 'replaced' });
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
