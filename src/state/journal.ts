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
import type { SqlRow } from '../context.ts';
import type { State } from './database.ts';
import { hasWrittenSince, momentOf, noteWrite, shareWrite, type Target } from './written.ts';

export type ChangeState = 'planned' | 'sent' | 'applied' | 'failed' | 'unknown' | 'unchanged' | 'conflict';
export type RunKind = 'import' | 'count' | 'edit' | 'undo';

export interface Run {
  readonly id: bigint;
  readonly kind: RunKind;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly environment: string;
  /** Of the service. */
  readonly origin: string;
  /** The file that the rows came from. */
  readonly source?: string;
  /** SHA-256 of that file. */
  readonly hash?: string;
}

export interface Change {
  readonly id: bigint;
  readonly run?: bigint;
  /** Of the file. */
  readonly line?: number;
  readonly environment: string;
  readonly origin: string;
  readonly command: string;
  readonly person: string;
  readonly petId: bigint;
  /** What was there, where that is known. */
  readonly before?: bigint;
  readonly after: bigint;
  readonly state: ChangeState;
  readonly reason?: string;
  /** Epoch ms. */
  readonly sentAt?: number;
  readonly settledAt?: number;
}

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

export class Journal {
  readonly state: State;
  /** The state database: every command of this machine notes its writes there, whichever journal it keeps. */
  readonly shared: State;

  constructor(state: State, shared = state) {
    this.state = state;
    this.shared = shared;
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
    return row === undefined ? undefined : toChange(row);
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
          run.source ?? null,
          run.hash ?? null,
        );
        const id = row?.id as bigint;
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
        const sql = "UPDATE change SET state = 'sent', sentAt = ? WHERE id = ?";
        this.state.database.run(sql, BigInt(Math.round(now)), id);
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
        this.state.database.run(
          // What was held back after all has never been sent: the history is of writes.
          `UPDATE change SET state = ?, reason = ?, settledAt = ?, before = coalesce(?, before),
             sentAt = iif(?, NULL, sentAt) WHERE id = ?`,
          state,
          reason ?? null,
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
      () => this.state.database.run('UPDATE run SET endedAt = ? WHERE id = ?', BigInt(Math.round(now)), run),
      { despiteSignal: true },
    );
  }

  run(id: bigint): Run | undefined {
    const row = this.state.database.get('SELECT * FROM run WHERE id = ?', id);
    return row === undefined ? undefined : toRun(row);
  }

  /** Newest first. */
  unfinished(): Run[] {
    return this.state.database.all('SELECT * FROM run WHERE endedAt IS NULL ORDER BY id DESC').map(toRun);
  }

  changesOf(run: bigint): Change[] {
    return this.state.database.all('SELECT * FROM change WHERE run = ? ORDER BY id', run).map(toChange);
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
    return this.state.database
      .all(sql, ...conditions.map(([, value]) => value), ...(pet ?? []), BigInt(limit))
      .map(toChange);
  }

  /** What a stocktake has scanned, durably, one at a time. */
  async scan(run: bigint, seq: number, petId: bigint, quantity: bigint): Promise<void> {
    await this.state.exclusively(
      () =>
        this.state.database.run('INSERT INTO scan VALUES (?, ?, ?, ?)', run, BigInt(seq), petId, quantity.toString()),
      { durable: true, despiteSignal: true },
    );
  }

  async unscan(run: bigint, seq: number): Promise<void> {
    await this.state.exclusively(
      () => this.state.database.run('DELETE FROM scan WHERE run = ? AND seq = ?', run, BigInt(seq)),
      { durable: true, despiteSignal: true },
    );
  }

  scans(run: bigint): { seq: number; petId: bigint; quantity: bigint }[] {
    return this.state.database
      .all('SELECT seq, petId, quantity FROM scan WHERE run = ? ORDER BY seq', run)
      .map((row) => ({ seq: Number(row.seq), petId: row.petId as bigint, quantity: BigInt(String(row.quantity)) }));
  }

  /** Rows for a run that has none yet: a stocktake that is over. */
  async plan(run: bigint, where: Where, changes: readonly NewChange[]): Promise<void> {
    await this.state.exclusively(
      () => {
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
      where.command,
      where.person,
      change.petId,
      change.before?.toString() ?? null,
      change.after.toString(),
      change.state ?? 'planned',
      change.reason ?? null,
    );
    return row?.id as bigint;
  }
}

function toRun(row: SqlRow): Run {
  const { id, kind, startedAt, endedAt, environment, origin, source, hash } = row;
  return {
    id: id as bigint,
    kind: kind as RunKind,
    startedAt: Number(startedAt),
    ...(endedAt !== null && { endedAt: Number(endedAt) }),
    environment: String(environment),
    origin: String(origin),
    ...(source !== null && { source: String(source) }),
    ...(hash !== null && { hash: String(hash) }),
  };
}

function toChange(row: SqlRow): Change {
  const { run, line, before, reason, sentAt, settledAt } = row;
  return {
    id: row.id as bigint,
    ...(run !== null && { run: run as bigint }),
    ...(line !== null && { line: Number(line) }),
    environment: String(row.environment),
    origin: String(row.origin),
    command: String(row.command),
    person: String(row.person),
    petId: row.petId as bigint,
    ...(before !== null && { before: BigInt(String(before)) }),
    after: BigInt(String(row.after)),
    state: row.state as ChangeState,
    ...(reason !== null && { reason: String(reason) }),
    ...(sentAt !== null && { sentAt: Number(sentAt) }),
    ...(settledAt !== null && { settledAt: Number(settledAt) }),
  };
}
