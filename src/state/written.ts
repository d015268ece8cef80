/** Which pets this machine has written to, and in which order: the table `written` of the state database. */
import type { State } from './database.ts';

export interface Target {
  /** Of the service. */
  readonly origin: string;
  readonly petId: bigint;
}

/** Counts transactions, not time: a clock may be set back. Within a transaction it is the count of the one before. */
const TURN = "(SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'turns')";

/** Returns a point in the order of this machine's writes, for `hasWrittenSince`. */
export function momentOf({ database }: State): bigint {
  return (database.get(`SELECT ${TURN} AS turn`)?.turn ?? 0n) as bigint;
}

/** True when a command of this machine may have written to that pet after that moment. */
export function hasWrittenSince({ database }: State, { origin, petId }: Target, moment: bigint): boolean {
  const sql = 'SELECT turn FROM written WHERE origin = ? AND petId = ? AND turn > ?';
  return database.get(sql, origin, petId, moment) !== undefined;
}

/** Notes the write of a change of this database; part of the caller's transaction. */
export function noteWrite(state: State, change: bigint): void {
  const { origin, petId } = targetOf(state, change);
  note(state, origin, petId);
}

/** Notes it in the state database too, where the journal is another file. */
export async function shareWrite({ state, shared }: { state: State; shared: State }, change: bigint): Promise<void> {
  if (shared === state) return;
  const { origin, petId } = targetOf(state, change);
  await shared.exclusively(
    () => {
      note(shared, origin, petId);
    },
    { despiteSignal: true },
  );
}

function targetOf({ database }: State, change: bigint): Target {
  return database.get('SELECT origin, petId FROM change WHERE id = ?', change) as unknown as Target;
}

function note({ database }: State, origin: string, petId: bigint): void {
  database.run(`INSERT OR REPLACE INTO written VALUES (?, ?, coalesce(${TURN}, 0) + 1)`, origin, petId);
}
