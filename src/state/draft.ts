/** Stores the changes of `inventory browse` that are not applied yet, by service, in the table `draft`. */
import type { State } from './database.ts';
import { fromRow, insertInto } from './journal-rows.ts';

export interface DraftChange {
  readonly petId: bigint;
  /** The quantity that the user saw. */
  readonly current: bigint;
  /** The quantity to set. */
  readonly quantity: bigint;
}

/** Replaces all changes for a service. @throws {Failure} `state` */
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
  // A stop signal must not lose what the user has typed.
  await state.exclusively(store, { despiteSignal: true });
}

/** Returns the changes that an earlier process left behind. @throws {Failure} `state` */
export function readDraft({ database }: State, origin: string): DraftChange[] {
  return database
    .all('SELECT petId, current, quantity FROM draft WHERE origin = ? ORDER BY petId', origin)
    .map((row) => fromRow(row));
}
