/** The changes of `inventory browse` that are not applied yet, kept for each service: the table `draft`. */
import type { State } from './database.ts';
import { fromRow, insertInto } from './journal-rows.ts';

export interface DraftChange {
  readonly petId: bigint;
  /** The quantity that the user saw. */
  readonly current: bigint;
  /** The quantity to set. */
  readonly quantity: bigint;
}

/** Stores all changes for a service, as they are then. @throws {Failure} `state` */
export async function saveDraft(
  state: State,
  origin: string,
  changes: ReadonlyMap<bigint, DraftChange>,
): Promise<void> {
  const store = (): void => {
    state.database.run('DELETE FROM draft WHERE origin = ?', origin);
    for (const { petId, current, quantity } of changes.values()) {
      insertInto(state.database, 'draft', { origin, petId, current, quantity });
    }
  };
  // What the user has typed is stored, signal or not.
  await state.exclusively(store, { despiteSignal: true });
}

/** Returns the changes that an earlier process has left. @throws {Failure} `state` */
export function readDraft({ database }: State, origin: string): DraftChange[] {
  return database
    .all('SELECT petId, current, quantity FROM draft WHERE origin = ? ORDER BY petId', origin)
    .map((row) => fromRow(row));
}
