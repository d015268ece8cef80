/** The changes of `inventory browse` that are not applied yet, kept for each service: the table `draft`. */
import { fromRow } from './journal-rows.ts';
import type { Exclusive, State } from './database.ts';

export interface DraftChange {
  readonly petId: bigint;
  /** The quantity that the user saw. */
  readonly current: bigint;
  /** The quantity to set. */
  readonly quantity: bigint;
}

/** What the user has typed is stored, signal or not. */
const CERTAIN: Exclusive = { despiteSignal: true };

export class Draft {
  private readonly state: State;
  private readonly origin: string;
  private readonly changes: ReadonlyMap<bigint, DraftChange>;
  private readonly onFailure: (error: unknown) => void;

  /**
   * @param changes all of them, as they are when they are stored
   * @param onFailure called where they could not be stored; the next change stores all of them again
   */
  constructor(
    state: State,
    origin: string,
    changes: ReadonlyMap<bigint, DraftChange>,
    onFailure: (error: unknown) => void,
  ) {
    this.state = state;
    this.origin = origin;
    this.changes = changes;
    this.onFailure = onFailure;
  }

  /** Stores the changes soon. */
  touch(): void {
    this.save().catch(this.onFailure);
  }

  /** Resolves once the changes are stored as they are now. @throws {Failure} `state` */
  async save(): Promise<void> {
    const { database } = this.state;
    await this.state.exclusively(() => {
      database.run('DELETE FROM draft WHERE origin = ?', this.origin);
      for (const { petId, current, quantity } of this.changes.values()) {
        const values = [petId, current.toString(), quantity.toString()];
        database.run(
          'INSERT INTO draft (origin, petId, current, quantity) VALUES (?, ?, ?, ?)',
          this.origin,
          ...values,
        );
      }
    }, CERTAIN);
  }
}

/** Returns the changes that an earlier process has left. @throws {Failure} `state` */
export function readDraft({ database }: State, origin: string): DraftChange[] {
  return database
    .all('SELECT petId, current, quantity FROM draft WHERE origin = ? ORDER BY petId', origin)
    .map((row) => fromRow(row));
}
