/**
 * Every write that this machine makes, before it is sent and after: what makes a bulk run resumable, and what
 * `inventory history` shows.
 *
 *     planned ──► sent ──► applied
 *        │          ├────► failed     the service refused it
 *        │          └────► unknown    no answer, and looking did not tell
 *        ├────────► unchanged         it is already so
 *        └────────► conflict          somebody else has changed it since
 *
 * `sent` is on the disk before the request leaves. Whatever is found `sent` later may or may not have been applied.
 */
import type { SqlRow, SqlValue } from '../ports.ts';
import { Failure } from '../errors.ts';
import type { State } from './database.ts';
import { BadValue, integer } from './columns.ts';
import { type Change, type Run, toChange, toRun, toScan, type ChangeState } from './rows.ts';
import { hasWrittenSince, momentOf, noteWrite, shareWrite, type Target } from './written.ts';

export type { Change, ChangeState, Run, RunKind } from './rows.ts';

export type NewRun = Omit<Run, 'id' | 'endedAt'>;
export type NewChange = Pick<Change, 'petId' | 'after'> & Partial<Pick<Change, 'before' | 'line' | 'state' | 'reason'>>;
export type Where = Pick<Change, 'environment' | 'origin' | 'command' | 'person'>;

export interface HistoryFilter {
  readonly environment?: string;
  readonly pet?: readonly bigint[];
  readonly run?: bigint;
  readonly id?: bigint;
  readonly limit: number;
}

export interface JournalOptions {
  /** The state database, where the journal is another file. */
  readonly shared?: State | undefined;
  /** Takes secrets out of the texts that are kept. */
  redact?(text: string): string;
  /** Hears of rows that are left out because they are damaged. */
  warn?(text: string): void;
}

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

  /** Returns a point in the order of this machine's writes, for `hasWrittenSince`. */
  moment(): bigint {
    return momentOf(this.shared);
  }

  /** True when a command of this machine may have written to that pet after that moment. */
  hasWrittenSince(target: Target, moment: bigint): boolean {
    return hasWrittenSince(this.shared, target, moment);
  }

  /** Returns the newest other change that this machine sent to the same pet. `since`: epoch ms. */
  newestOther({ id, origin, petId }: Target & Pick<Change, 'id'>, since: number): Change | undefined {
    const row = this.shared.database.get(
      `SELECT * FROM change WHERE petId = ? AND origin = ? AND sentAt >= ? AND state IN ('sent', 'applied', 'unknown')
         AND id <> ? ORDER BY sentAt DESC, id DESC LIMIT 1`,
      petId,
      origin,
      BigInt(Math.round(since)),
      // Numbers of another journal name other changes.
      this.shared === this.state ? id : 0n,
    );
    return row === undefined ? undefined : this.readSound('change', [row], toChange)[0];
  }

  /** A run with all its rows, or none of it. @throws {Failure} `state` */
  begin(run: NewRun, where: Where, changes: readonly NewChange[]): Promise<Run> {
    const { database } = this.state;
    return this.state.exclusively(
      () => {
        const row = database.get(
          'INSERT INTO run (kind, startedAt, environment, origin, source, hash) VALUES (?, ?, ?, ?, ?, ?) RETURNING id',
          run.kind,
          BigInt(Math.round(run.startedAt)),
          run.environment,
          run.origin,
          run.source === undefined ? null : this.redact(run.source),
          run.hash ?? null,
        );
        const id = integer(row, 'id');
        for (const change of changes) this.insert(where, change, id);
        return { id, ...run };
      },
      { durable: true },
    );
  }

  /** A single write, about to be sent. */
  sendOne(where: Where, change: NewChange, now: number): Promise<bigint> {
    return this.state.exclusively(
      () => {
        const id = this.insert(where, { ...change, state: 'sent' });
        this.state.database.run('UPDATE change SET sentAt = ? WHERE id = ?', BigInt(Math.round(now)), id);
        noteWrite(this.state, id);
        return id;
      },
      { durable: true },
    );
  }

  /** On the disk when it returns. @throws {Failure} `state` */
  async sent(id: bigint, now: number): Promise<void> {
    await this.state.exclusively(
      () => {
        this.change("UPDATE change SET state = 'sent', sentAt = ? WHERE id = ?", BigInt(Math.round(now)), id);
        noteWrite(this.state, id);
      },
      { durable: true },
    );
    await shareWrite(this, id);
  }

  async settle(
    id: bigint,
    now: number,
    outcome: { readonly state: ChangeState; readonly reason?: string; readonly before?: bigint },
  ): Promise<void> {
    const { state, reason, before } = outcome;
    const hasWritten = state === 'applied' || state === 'unknown';
    await this.state.exclusively(
      () => {
        this.change(
          // What was held back after all has never been sent: the history is of writes.
          `UPDATE change SET state = ?, reason = ?, settledAt = ?, before = coalesce(?, before),
             sentAt = iif(?, NULL, sentAt) WHERE id = ?`,
          state,
          reason === undefined ? null : this.redact(reason),
          BigInt(Math.round(now)),
          before?.toString() ?? null,
          state === 'planned' ? 1n : 0n,
          id,
        );
        if (hasWritten) noteWrite(this.state, id);
      },
      // What happened is recorded, signal or not.
      { despiteSignal: true },
    );
    if (hasWritten) await shareWrite(this, id);
  }

  async end(run: bigint, now: number): Promise<void> {
    await this.state.exclusively(
      () => {
        this.change('UPDATE run SET endedAt = ? WHERE id = ?', BigInt(Math.round(now)), run);
      },
      { despiteSignal: true },
    );
  }

  run(id: bigint): Run | undefined {
    const row = this.state.database.get('SELECT * FROM run WHERE id = ?', id);
    return row === undefined ? undefined : this.readAll('run', [row], toRun)[0];
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

  /** Those that were sent, newest first. */
  history({ environment, pet, run, id, limit }: HistoryFilter): Change[] {
    const conditions: [string, string | bigint][] = [];
    if (environment !== undefined) conditions.push(['environment = ?', environment]);
    if (run !== undefined) conditions.push(['run = ?', run]);
    if (id !== undefined) conditions.push(['id = ?', id]);
    const pets = pet === undefined ? '' : `AND petId IN (${pet.map(() => '?').join(', ')})`;
    const sql = `SELECT * FROM change WHERE sentAt IS NOT NULL ${conditions.map(([each]) => `AND ${each}`).join(' ')} ${pets}
      ORDER BY sentAt DESC, id DESC LIMIT ?`;
    const values = conditions.map(([, value]) => value);
    const rows = this.state.database.all(sql, ...values, ...(pet ?? []), BigInt(limit));
    return this.readSound('change', rows, toChange);
  }

  /** What a stocktake has scanned, durably, one at a time. */
  async scan(run: bigint, seq: number, petId: bigint, quantity: bigint): Promise<void> {
    await this.state.exclusively(
      () => {
        this.requireRun(run);
        this.state.database.run('INSERT INTO scan VALUES (?, ?, ?, ?)', run, BigInt(seq), petId, quantity.toString());
      },
      { durable: true, despiteSignal: true },
    );
  }

  async unscan(run: bigint, seq: number): Promise<void> {
    await this.state.exclusively(
      () => {
        this.change('DELETE FROM scan WHERE run = ? AND seq = ?', run, BigInt(seq));
      },
      { durable: true, despiteSignal: true },
    );
  }

  scans(run: bigint): { seq: number; petId: bigint; quantity: bigint }[] {
    const rows = this.state.database.all('SELECT seq, petId, quantity FROM scan WHERE run = ? ORDER BY seq', run);
    return this.readAll('scan', rows, toScan);
  }

  /** Rows for a run that has none yet: a stocktake that is over. */
  async plan(run: bigint, where: Where, changes: readonly NewChange[]): Promise<void> {
    await this.state.exclusively(
      () => {
        this.requireRun(run);
        for (const change of changes) this.insert(where, change, run);
      },
      { durable: true },
    );
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

  /** Of rows that all count: a damaged one is refused. @throws {Failure} `state` */
  private readAll<T>(table: string, rows: readonly SqlRow[], read: (row: SqlRow) => T): T[] {
    return rows.map((row) => {
      try {
        return read(row);
      } catch (error) {
        if (!(error instanceof BadValue)) throw error;
        const detail = `row ${nameOf(row)} of ${table} is damaged: ${error.message}`;
        throw new Failure('state', { path: this.state.path, what: 'journal', problem: 'row', detail }, error);
      }
    });
  }

  /** Of rows that each count alone: a damaged one is named, and left out. */
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

function nameOf({ id, seq }: SqlRow): string {
  return String(id ?? seq);
}
