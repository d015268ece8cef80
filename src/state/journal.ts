/**
 * Stores every write of this machine, before it is sent and after, so that a bulk run can be resumed and
 * `inventory history` can show it.
 *
 *     planned ──► sent ──► applied
 *        │          ├────► failed     the service refused it
 *        │          ├────► unknown    not confirmed, and the list did not show it
 *        │          └────► conflict   not confirmed, and another client has set the pet since
 *        ├────────► unchanged         the pet already has the quantity
 *        ├────────► conflict          another program has changed it since
 *        └────────► discarded         the user discarded what was left of the run, or has undone a row without an answer
 *
 * `sent` is on the disk before the request is sent. A row that is still `sent` later may or may not have been applied.
 */
import type { SqlValue } from '../ports.ts';
import { Failure } from '../errors.ts';
import { insertInto, integer, text, type Change, type DraftChange, type Run, type Scan } from './journal-rows.ts';
import type { Exclusive, State } from './database.ts';
import { History, HOLDER, withoutProfile } from './history.ts';

export * from './journal-rows.ts';

export type NewRun = Omit<Run, 'id' | 'endedAt' | 'environment' | 'origin'>;
/** `cause`, `note`: for this change only; default: those of the run. */
export type NewChange = Pick<Change, 'petId' | 'after'> &
  Partial<Pick<Change, 'before' | 'line' | 'state' | 'reason' | 'cause' | 'note'>>;
/** A single write, which is stored as it is sent. `run`: that of a smoke test. */
export type NewWrite = NewChange & { readonly where: Where; readonly run?: bigint | undefined };
export type Where = Pick<Change, 'environment' | 'origin' | 'command' | 'person' | 'cause' | 'note'>;
/** Outcome of a change. `isUnsent`: true if the service never received it. */
export type Settled = Pick<Change, 'state' | 'reason'> & { readonly isUnsent?: boolean };

/** Options for a write that must survive a power cut. */
const DURABLE: Exclusive = { durable: true };
/** Options for an outcome, which is recorded in spite of a stop signal. */
const CERTAIN: Exclusive = { despiteSignal: true };
const DURABLE_AND_CERTAIN: Exclusive = { ...DURABLE, ...CERTAIN };

export class Journal extends History {
  /**
   * Stores a run with all its rows, or nothing. Of a stocktake whose scans are complete, it stores the rows.
   * @throws {Failure} `state`
   */
  begin(run: NewRun | Run, where: Where, changes: readonly NewChange[]): Promise<Run> {
    return this.state.exclusively(() => {
      const { environment, origin } = where;
      const made = { ...run, environment, origin };
      if ('id' in run) this.requireStocktake(run.id);
      else insertInto(this.state.database, 'run', { ...made, source: run.source && this.redact(run.source) });
      const id = 'id' in run ? run.id : this.lastId();
      for (const change of changes) this.insert(where, change, id);
      return { id, ...made };
    }, DURABLE);
  }

  /** Marks a change as sent, and stores a new one first; on disk once it resolves. @throws {Failure} `state` */
  send(change: Pick<Change, 'id'> | NewWrite, now: number): Promise<bigint> {
    return this.state.exclusively(() => {
      if ('where' in change) this.insert(change.where, change, change.run);
      const id = 'id' in change ? change.id : this.lastId();
      const [at, turn] = [BigInt(Math.round(now)), momentOf(this.state) + 1n];
      this.change("UPDATE change SET state = 'sent', sentAt = ?, turn = ?, noted = ? WHERE id = ?", at, turn, turn, id);
      return id;
    }, DURABLE);
  }

  /** @param isNow false for a write of which the stock has shown the outcome later */
  async settle(id: bigint, { state, reason, isUnsent = state === 'planned' }: Settled, isNow = true): Promise<void> {
    await this.state.exclusively(() => {
      const noted = isNow ? momentOf(this.state) + 1n : null;
      const values = [state, reason === undefined ? null : this.redact(reason), noted];
      this.change('UPDATE change SET state = ?, reason = ?, noted = coalesce(?, noted) WHERE id = ?', ...values, id);
      if (!isUnsent) return;
      // The history has only what was sent: a row that no run can send later is deleted.
      this.state.database.run('UPDATE change SET sentAt = NULL WHERE id = ?', id);
      this.state.database.run('DELETE FROM change WHERE id = ? AND run IS NULL', id);
    }, CERTAIN);
  }

  /** Ends a run: rows that are left are never applied. A row that was sent may have been applied. */
  async end(run: bigint, now: number): Promise<void> {
    await this.state.exclusively(() => {
      this.state.database.run("UPDATE change SET state = 'discarded' WHERE run = ? AND state = 'planned'", run);
      this.state.database.run("UPDATE change SET state = 'unknown' WHERE run = ? AND state = 'sent'", run);
      this.change('UPDATE run SET endedAt = ? WHERE id = ?', BigInt(Math.round(now)), run);
    }, DURABLE_AND_CERTAIN);
  }

  /** Removes the history of an environment whose stock has been replaced. */
  async forget(environment: string): Promise<void> {
    const runs = 'SELECT id FROM run WHERE environment = ?';
    await this.state.exclusively(() => {
      this.state.database.run(`DELETE FROM scan WHERE run IN (${runs})`, environment);
      this.state.database.run('DELETE FROM change WHERE environment = ?', environment);
      this.state.database.run('DELETE FROM run WHERE environment = ?', environment);
    });
  }

  /** Notes which process applies a run, for processes that wait: `import (process 123)`. */
  async noteHolder(holder: string): Promise<void> {
    await this.state.exclusively(() => {
      this.state.database.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', HOLDER, holder);
    });
  }

  /** Stores one scan of a stocktake; it is on the disk when this resolves. */
  async scan(run: bigint, scan: Scan): Promise<void> {
    await this.state.exclusively(() => {
      this.requireStocktake(run);
      insertInto(this.state.database, 'scan', { run, ...scan });
    }, DURABLE_AND_CERTAIN);
  }

  async unscan(run: bigint, seq: number): Promise<void> {
    await this.state.exclusively(() => {
      this.change('DELETE FROM scan WHERE run = ? AND seq = ?', run, BigInt(seq));
    }, DURABLE_AND_CERTAIN);
  }

  /** Replaces all changes of `browse` for a service. A stop signal must not lose what the user has typed. */
  async saveDraft(origin: string, changes: ReadonlyMap<bigint, DraftChange>): Promise<void> {
    await this.state.exclusively(() => {
      this.state.database.run('DELETE FROM draft WHERE origin = ?', origin);
      for (const change of changes.values()) insertInto(this.state.database, 'draft', { origin, ...change });
    }, CERTAIN);
  }

  private insert(where: Where, change: NewChange, run?: bigint): void {
    const { environment, origin, command, person } = where;
    const { line, petId, before, after, state = 'planned', reason } = change;
    const { cause = where.cause, note = where.note } = change;
    const { redact } = this;
    const texts = { command: redact(command), person: redact(person), note: note && redact(note) };
    const turn = momentOf(this.state) + 1n;
    const row = { run, line, environment, origin, ...texts, cause, petId, before, after, state, turn };
    insertInto(this.state.database, 'change', { ...row, reason: reason && redact(reason) });
  }

  private lastId(): bigint {
    return integer(this.state.database.get('SELECT last_insert_rowid() AS id')!, 'id');
  }

  /** Updates a row that must exist. @throws {Failure} `state`: the file was replaced */
  private change(sql: string, ...params: SqlValue[]): void {
    if (this.state.database.run(sql, ...params).changes === 0n) throw replaced(this.state);
  }

  /** Requires the stocktake: after a reset of the sandbox, another run may have its number. @throws {Failure} `state` */
  private requireStocktake(run: bigint): void {
    const found = this.state.database.get("SELECT 1 FROM run WHERE id = ? AND kind = 'count'", run);
    if (found === undefined) throw replaced(this.state);
  }
}

/** Returns the failure of a state database that no longer has what a command has stored. */
export function replaced({ path }: State, cause?: unknown): Failure {
  return new Failure('state', { path, what: 'state database', problem: 'replaced' }, cause);
}

/** Returns the number of transactions so far. Not a time, since a clock may be set back. */
export function momentOf({ database }: State): bigint {
  const row = database.get("SELECT value FROM meta WHERE name = 'turns'");
  return row === undefined ? 0n : BigInt(text(row, 'value'));
}

/**
 * True if another command on this machine, in any profile, may have written to the change's pet after that point. The
 * write of a process that was killed may have reached the service after it, unless a later change found it there.
 */
export function hasWrittenSince({ database }: State, { id, origin, petId }: Change, moment: bigint): boolean {
  const sql = `SELECT 1 FROM change WHERE petId = ? AND sentAt IS NOT NULL
    AND ${withoutProfile('origin')} = ${withoutProfile('?')} AND (noted > ? OR state = 'sent' AND id <> ? AND NOT EXISTS (
      SELECT 1 FROM change AS later WHERE petId = change.petId AND turn > change.turn AND state = 'applied'))`;
  return database.get(sql, petId, origin, origin, moment, id) !== undefined;
}
