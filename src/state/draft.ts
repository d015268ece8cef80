/** The changes of `inventory browse` that are not applied yet, kept for each service: the table `draft`. */
import type { Database } from '../ports.ts';
import { integer, quantity } from './columns.ts';
import type { State } from './database.ts';

export interface DraftChange {
  readonly petId: bigint;
  /** The quantity that the user saw. */
  readonly current: bigint;
  /** The quantity to set. */
  readonly quantity: bigint;
}

export class Draft {
  private readonly state: State;
  private readonly origin: string;
  /** Changes are stored in their order. */
  private stored: Promise<void> = Promise.resolve();

  constructor(state: State, origin: string) {
    this.state = state;
    this.origin = origin;
  }

  /** @throws {Failure} `state` */
  read(): DraftChange[] {
    return this.state.database
      .all('SELECT petId, current, quantity FROM draft WHERE origin = ? ORDER BY petId', this.origin)
      .map((row) => ({
        petId: integer(row, 'petId'),
        current: quantity(row, 'current'),
        quantity: quantity(row, 'quantity'),
      }));
  }

  put({ petId, current, quantity }: DraftChange): void {
    this.later((database) => {
      database.run(
        'INSERT OR REPLACE INTO draft (origin, petId, current, quantity) VALUES (?, ?, ?, ?)',
        this.origin,
        petId,
        current.toString(),
        quantity.toString(),
      );
    });
  }

  remove(petId: bigint): void {
    this.later((database) => {
      database.run('DELETE FROM draft WHERE origin = ? AND petId = ?', this.origin, petId);
    });
  }

  clear(): void {
    this.later((database) => {
      database.run('DELETE FROM draft WHERE origin = ?', this.origin);
    });
  }

  /** Resolves once all of it is stored. @throws {Failure} `state`: a change could not be stored */
  settled(): Promise<void> {
    return this.stored;
  }

  private later(work: (database: Pick<Database, 'run'>) => void): void {
    this.stored = this.stored.then(() =>
      this.state.exclusively(() => {
        work(this.state.database);
      }),
    );
    // Reported by `settled`.
    this.stored.catch(() => undefined);
  }
}
