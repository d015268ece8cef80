/** Records the order in which this machine wrote to pets: the table `written` of the state database. */
import { integer } from './rows.ts';
import type { State } from './database.ts';

export interface Target {
  /** Of the service. */
  readonly origin: string;
  readonly petId: bigint;
}

/** Counts transactions, not time: a clock may be set back. Within a transaction it is the count of the one before. */
const TURN = "(SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'turns')";
const NEXT_TURN = `coalesce(${TURN}, 0) + 1`;
const NOTE = 'INSERT OR REPLACE INTO written';

/** Returns a point in the order of this machine's writes, for `hasWrittenSince`. */
export function momentOf({ database }: State): bigint {
  return integer(database.get(`SELECT coalesce(${TURN}, 0) AS turn`)!, 'turn');
}

/** True when a command of this machine may have written to that pet after that moment. */
export function hasWrittenSince({ database }: State, { origin, petId }: Target, moment: bigint): boolean {
  const sql = 'SELECT turn FROM written WHERE origin = ? AND petId = ? AND turn > ?';
  return database.get(sql, origin, petId, moment) !== undefined;
}

/** Notes the write of a change of this database; part of the caller's transaction. */
export function noteWrite({ database }: State, change: bigint): void {
  database.run(`${NOTE} SELECT origin, petId, ${NEXT_TURN} FROM change WHERE id = ?`, change);
}
