/** Stores the unapplied changes of `inventory browse`, for each service, in the table `draft`. */
import type { State } from './database.ts';
import { fromRow, insertInto } from './journal-rows.ts';

export interface DraftChange {
  readonly petId: bigint;
  /** The quantity that the user saw. */
  readonly current: bigint;
  /** The quantity to set. */
  readonly quantity: bigint;
}

/** Replaces the stored changes of a service. @throws {Failure} `state` */
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
  // Store what the user typed even after a signal.
  await state.exclusively(store, { despiteSignal: true });
}

/** Returns the changes left by an earlier process. @throws {Failure} `state` */
export function readDraft({ database }: State, origin: string): DraftChange[] {
  return database
    .all('SELECT petId, current, quantity FROM draft WHERE origin = ? ORDER BY petId', origin)
    .map((row) => fromRow(row));
}
