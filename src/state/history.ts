/** Reads the journal: runs, changes and scans. */
import type { SqlValue } from '../ports.ts';
import { Failure } from '../errors.ts';
import {
  type Cause,
  type Change,
  type ChangeState,
  type DraftChange,
  fromRow,
  type Run,
  type RunSummary,
  type Scan,
  text,
} from './journal-rows.ts';
import type { State } from './database.ts';

export interface HistoryFilter {
  readonly environment?: string | undefined;
  readonly pet?: readonly bigint[] | undefined;
  readonly run?: bigint | undefined;
  readonly cause?: Cause | undefined;
  readonly person?: string | undefined;
  /** Sent at this time or later, epoch ms. */
  readonly since?: number | undefined;
  /** Sent before this time, epoch ms. */
  readonly until?: number | undefined;
  /** Omits undos, redos, and the changes that were undone. */
  readonly isNet?: boolean;
  readonly limit: number;
}

export interface RunFilter {
  readonly environment?: string | undefined;
  readonly isUnfinished?: boolean;
  readonly limit?: number;
}

/** SQL: an origin without its profile: all profiles of this machine write to the same stock. */
export const withoutProfile = (origin: string): string => `substr(${origin}, instr(${origin}, ' ') + 1)`;
/** SQL: states of changes that may have reached the service's stock. */
export const MAY_BE_WRITTEN = "('sent', 'applied', 'unknown')";
/** SQL: the kind of the last undo or redo of a change that has such a row. */
const lastUndo = (row: string): string => `(
  SELECT kind FROM run AS undo WHERE (undoesRun = change.run OR undoesChange = change.id)
    AND EXISTS (SELECT 1 FROM change AS own WHERE ${row}) ORDER BY undo.id DESC LIMIT 1)`;
/** SQL: true for a change that was sent and not refused. */
const SENT = "sentAt IS NOT NULL AND state NOT IN ('failed', 'discarded')";
/** SQL: true for a row of an undo or redo that has sent one, or has found that nothing is to be changed. */
const CARRIED_OUT = `own.run = undo.id AND (${SENT} OR state = 'unchanged')`;
/** SQL: true for its row of the change's pet. The `+` keeps SQLite from reading the whole run each time. */
const OF_PET = 'own.petId = change.petId AND +own.run = undo.id';
/** SQL: the kind of the last one that has changed the pet. */
const LAST_UNDO = lastUndo(`${OF_PET} AND state = 'applied'`);
/**
 * SQL: true for an undo or redo that `next` skips: one of its kind, or one replaced by a later undo or redo of the same
 * command (or of the change's run) that changed one of its pets.
 */
const isPassed = (next: 'undo' | 'redo'): string => `kind = '${next}' OR kind IN ('undo', 'redo') AND EXISTS (
  SELECT 1 FROM run AS undo WHERE id > run.id AND (undoesRun = run.undoesRun OR undoesChange = run.undoesChange
      OR undoesRun = (SELECT change.run FROM change WHERE id = run.undoesChange))
    AND EXISTS (SELECT petId FROM change AS its WHERE its.run = run.id AND ${SENT} INTERSECT
      SELECT petId FROM change AS own WHERE own.run = undo.id AND (${SENT} OR undo.kind = '${next}' AND state = 'unchanged')))`;
/** Columns of the history, and SQL that is true for those that differ from row to row. */
const DIFFERENCES = {
  who: 'min(person) < max(person)',
  // These are shown even if all changes have the same value.
  cause: 'count(cause) > 0',
  note: 'count(note) > 0',
  name: 'count(name) > 0',
  environment: 'min(environment) < max(environment)',
  // A change outside of a run does not have one.
  run: 'min(run) < max(run) OR count(run) NOT IN (0, count(*))',
  outcome: "min(state) < 'applied' OR max(state) > 'applied'",
} as const;
type Differing = keyof typeof DIFFERENCES;
/** SQL: the name of a change's pet in the catalog; NULL without one. */
const NAME = `(SELECT nullif(name, '') FROM catalogPet AS pet
  WHERE pet.origin = change.origin AND pet.petId = change.petId) AS name`;
/** Most changes that are read at once. */
const PAGE = 500;
/** Name of its row in `meta`. */
export const HOLDER = 'run-holder';

/** For `using`. */
export class History implements Disposable {
  readonly state: State;
  /** Redacts secrets in the texts that are stored. */
  protected readonly redact: (text: string) => string;

  constructor(state: State, redact = (text: string) => text) {
    this.state = state;
    this.redact = redact;
  }

  [Symbol.dispose](): void {
    this.state[Symbol.dispose]();
  }

  /** Returns this machine's newest other change of the same pet, in the same profile, after that turn. */
  newestOther({ id, origin, petId, turn }: Pick<Change, 'id' | 'origin' | 'petId' | 'turn'>): Change | undefined {
    return this.read<Change>(
      `SELECT * FROM change WHERE petId = ? AND origin = ? AND turn > ? AND state IN ${MAY_BE_WRITTEN}
         AND id <> ? ORDER BY turn DESC, id DESC LIMIT 1`,
      petId,
      origin,
      turn,
      id,
    )[0];
  }

  /** Returns the quantity that this machine's next change of the pet found: it shows whether this one was applied. */
  foundAfter({ origin, petId, turn }: Change): bigint | undefined {
    const sql = `SELECT before FROM change WHERE petId = ? AND ${withoutProfile('origin')} = ${withoutProfile('?')}
        AND turn > ? AND sentAt IS NOT NULL AND before IS NOT NULL ORDER BY turn LIMIT 1`;
    return this.read<Change>(sql, petId, origin, origin, turn)[0]?.before;
  }

  /** Returns the kind of the last undo or redo that has changed the pet. */
  lastUndo({ id }: Change): Run['kind'] | undefined {
    return this.read<{ kind?: Run['kind'] }>(`SELECT ${LAST_UNDO} AS kind FROM change WHERE id = ?`, id)[0]?.kind;
  }

  run(id: bigint): Run | undefined {
    return this.read<Run>('SELECT * FROM run WHERE id = ?', id)[0];
  }

  /** Returns runs with the counts of their rows, newest first, except stocktakes without a scan. */
  runs({ environment, isUnfinished = false, limit = -1 }: RunFilter = {}): RunSummary[] {
    const rowsIn = (...states: readonly ChangeState[]): string =>
      `count(*) FILTER (WHERE state IN (${states.map((state) => `'${state}'`).join(', ')}))`;
    const left = rowsIn('planned', 'sent', 'unknown');
    const sql = `SELECT run.*, ${rowsIn('applied', 'unchanged')} AS done, ${left} AS "left",
        ${rowsIn('conflict')} AS conflicts, ${rowsIn('failed')} AS failed, ${rowsIn('discarded')} AS discarded,
        (SELECT count(*) FROM scan WHERE run = run.id) AS scans,
        endedAt IS NULL AND (${left} > 0 OR kind = 'smoke' OR kind = 'count' AND count(change.id) = 0) AS isUnfinished
      FROM run LEFT JOIN change ON change.run = run.id
      WHERE run.environment = coalesce(?, run.environment) ${isUnfinished ? 'AND endedAt IS NULL' : ''}
      GROUP BY run.id HAVING (kind <> 'count' OR scans > 0 OR count(change.id) > 0) ${isUnfinished ? 'AND isUnfinished' : ''}
      ORDER BY run.id DESC LIMIT ?`;
    return this.read(sql, environment ?? null, BigInt(limit));
  }

  /**
   * Returns the newest run that may have added these rows or another version of the delivery, and what all such runs
   * have changed that is not undone, or perhaps redone. If the whole was added more than once, only the last changes.
   */
  added(adds: string, origin: string): { readonly run: Run | undefined; readonly changes: readonly Change[] } {
    const changes = this.read<Change & { readonly first: bigint }>(
      `SELECT change.*, coalesce(restOf, run.id) AS first FROM change JOIN run ON run.id = change.run
        WHERE first IN (SELECT coalesce(restOf, id) FROM run WHERE adds = ? AND origin = ?)
          AND ${SENT} AND ${lastUndo(`${OF_PET} AND (state = 'applied' OR undo.kind = 'redo' AND ${SENT})`)} IS NOT 'undo'
        ORDER BY first, change.run`,
      adds,
      origin,
    );
    const newest = changes.at(-1)?.run ?? 0n;
    const last = new Map(changes.map(({ petId, first }) => [petId, first]));
    return { run: this.run(newest), changes: changes.filter(({ petId, first }) => last.get(petId) === first) };
  }

  /** Returns unfinished runs, newest first. */
  unfinished(): RunSummary[] {
    return this.runs({ isUnfinished: true });
  }

  /**
   * Returns a change of the command or redo that `undo` takes next: the newest of an environment that was sent, not
   * refused, and not undone. For `redo`, a change of the newest command or undo: there is something to redo only after
   * an undo. A finished smoke test is skipped: it has put its pet back.
   */
  newestSent(environment: string, next: 'undo' | 'redo'): Change | undefined {
    const sql = `SELECT *, ${NAME} FROM change WHERE environment = ? AND ${SENT}
        AND coalesce(run, 0) NOT IN (SELECT id FROM run WHERE kind = 'smoke' AND endedAt IS NOT NULL OR ${isPassed(next)})
        ${next === 'undo' ? `AND ${lastUndo(CARRIED_OUT)} IS NOT 'undo'` : ''}
      ORDER BY turn DESC, id DESC LIMIT 1`;
    return this.read<Change>(sql, environment)[0];
  }

  /** Returns the process that last began to apply a run: `import (process 123)`. */
  holder(): string {
    const row = this.state.database.get('SELECT value FROM meta WHERE name = ?', HOLDER);
    return row === undefined ? 'run' : text(row, 'value');
  }

  /** Returns when each pet was last counted: the start of that stocktake, epoch ms. `CROSS`: reads only rows of counts. */
  lastCounted(origin: string): ReadonlyMap<bigint, number> {
    const sql = `SELECT petId, max(startedAt) AS startedAt FROM run CROSS JOIN change ON change.run = run.id
      WHERE kind = 'count' AND run.origin = ? AND state IN ('applied', 'unchanged') GROUP BY petId`;
    const pets = this.read<Pick<Change, 'petId'> & Pick<Run, 'startedAt'>>(sql, origin);
    return new Map(pets.map(({ petId, startedAt }) => [petId, startedAt]));
  }

  changesOf(run: bigint): Change[] {
    return this.read(`SELECT *, ${NAME} FROM change WHERE run = ? ORDER BY id`, run);
  }

  sentChange(id: bigint): Change | undefined {
    return this.read<Change>(`SELECT *, ${NAME} FROM change WHERE id = ? AND sentAt IS NOT NULL`, id)[0];
  }

  /** Returns the columns that have the same value in all rows of `history`; `outcome` only if all were applied. */
  uniform({ limit, ...filter }: HistoryFilter): readonly Differing[] {
    const { from, values } = sentBy(filter);
    const differences = Object.entries(DIFFERENCES).map(([name, differs]) => `${differs} AS ${name}`);
    const sql = `SELECT ${differences.join(', ')} FROM (SELECT person, cause, note, environment, run, state, ${NAME} ${from})`;
    const differs = this.state.database.get(sql, ...values, BigInt(limit));
    return (Object.keys(DIFFERENCES) as Differing[]).filter((name) => differs?.[name] !== 1n);
  }

  /**
   * Reads the changes that were sent, newest first. Each page is a separate statement: one that stayed open for a slow
   * reader would keep every process from emptying the write-ahead log.
   */
  *history({ limit, ...filter }: HistoryFilter): Generator<Change[]> {
    let last: Change | undefined;
    for (let left = limit; left > 0; left -= PAGE) {
      const { from, values } = sentBy(filter, last);
      const changes = this.read<Change>(`SELECT *, ${NAME} ${from}`, ...values, BigInt(Math.min(left, PAGE)));
      yield changes;
      if (changes.length < PAGE) return;
      last = changes.at(-1);
    }
  }

  scans(run: bigint): Scan[] {
    return this.read('SELECT seq, petId, quantity, stock FROM scan WHERE run = ? ORDER BY seq', run);
  }

  /** Returns the changes that an earlier `browse` left behind. */
  draft(origin: string): DraftChange[] {
    return this.read('SELECT petId, current, quantity FROM draft WHERE origin = ? ORDER BY petId', origin);
  }

  /** @throws {Failure} `state` */
  private read<T>(sql: string, ...params: SqlValue[]): T[] {
    const rows = this.state.database.all(sql, ...params);
    try {
      return rows.map((row) => fromRow<T>(row));
    } catch (cause) {
      // A quantity that is not a number, or a time that is no date: the check of a damaged file does not find it.
      const detail = `a row cannot be read (${(cause as Error).message})`;
      throw new Failure('state', { path: this.state.path, what: 'state database', problem: 'unusable', detail }, cause);
    }
  }
}

/** Returns the SQL after `SELECT …` and its parameters, without the last: the limit. `last`: the row before the first. */
function sentBy(
  { environment, pet, run, cause, person, since, until, isNet = false }: Omit<HistoryFilter, 'limit'>,
  last?: Change,
): { readonly from: string; readonly values: readonly SqlValue[] } {
  const at = (instant: number | undefined): bigint[] => (instant === undefined ? [] : [BigInt(Math.round(instant))]);
  const terms: readonly (readonly [term: string, values: readonly (SqlValue | undefined)[]])[] = [
    ['environment = ?', environment === undefined ? [] : [environment]],
    ['run = ?', run === undefined ? [] : [run]],
    ['cause = ?', cause === undefined ? [] : [cause]],
    ['person = ?', person === undefined ? [] : [person]],
    ['sentAt >= ?', at(since)],
    ['sentAt < ?', at(until)],
    [`petId IN (${pet?.map(() => '?').join(', ') ?? ''})`, pet ?? []],
    ['(sentAt, id) < (?, ?)', last === undefined ? [] : [...at(last.sentAt), last.id]],
  ];
  const given = terms.filter(([, values]) => values.length > 0);
  const net = `${LAST_UNDO} IS NOT 'undo' AND (state IN ('sent', 'unknown')
    OR coalesce(run, 0) NOT IN (SELECT id FROM run WHERE kind IN ('undo', 'redo')))`;
  const all = ['sentAt IS NOT NULL', ...given.map(([term]) => term), ...(isNet ? [net] : [])];
  // From the second page on. With another index, SQLite would read and sort all rows of a long run for each page.
  const index = last === undefined ? '' : 'INDEXED BY changesSent';
  return {
    from: `FROM change ${index} WHERE ${all.join(' AND ')}
      ORDER BY sentAt DESC, id DESC LIMIT ?`,
    values: given.flatMap(([, values]) => values.map((value) => value ?? null)),
  };
}
