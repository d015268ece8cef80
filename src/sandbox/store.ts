/** The sandbox's pets and counters, in SQLite. An int64 column holds every petId exactly. */
import type { InventoryItem } from '../api/item.ts';
import type { Database } from '../context.ts';
import { seedItems } from './seed.ts';

/** One entry a version. Never edited once released. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE pet (
     petId INTEGER PRIMARY KEY,
     quantity INTEGER NOT NULL,
     status TEXT NOT NULL
   ) STRICT;
   CREATE TABLE counter (
     apiKey TEXT NOT NULL,
     window TEXT NOT NULL,
     startedAt INTEGER NOT NULL,
     used INTEGER NOT NULL,
     PRIMARY KEY (apiKey, window)
   ) STRICT, WITHOUT ROWID;`,
];

/** Requests of one key in one window. */
export interface Counter {
  /** Epoch ms. */
  readonly startedAt: number;
  readonly used: number;
}

export interface Store {
  list(): InventoryItem[];
  /** The entry as stored now, or undefined for an unknown pet. Durable when it returns. */
  setQuantity(petId: bigint, quantity: bigint): InventoryItem | undefined;
  counter(apiKey: string, window: string): Counter | undefined;
  setCounter(apiKey: string, window: string, counter: Counter): void;
  /** All of the work, or none, while no other process writes. @throws {DatabaseFailure} `busy` */
  atomically<T>(work: () => T): T;
  close(): void;
}

/** Creates and fills what is not there yet. @throws {DatabaseFailure} */
export function openStore(database: Database): Store {
  const atomically = <T>(work: () => T): T => {
    database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      database.exec('COMMIT');
      return result;
    } catch (error) {
      database.exec('ROLLBACK');
      throw error;
    }
  };
  migrate(database, atomically);
  // An acknowledged update survives a power cut.
  database.exec('PRAGMA synchronous = FULL');
  return {
    list: () => database.all('SELECT petId, quantity, status FROM pet ORDER BY petId').map(toItem),
    setQuantity(petId, quantity) {
      const row = database.get(
        'UPDATE pet SET quantity = ? WHERE petId = ? RETURNING petId, quantity, status',
        quantity,
        petId,
      );
      return row === undefined ? undefined : toItem(row);
    },
    counter(apiKey, window) {
      const row = database.get('SELECT startedAt, used FROM counter WHERE apiKey = ? AND window = ?', apiKey, window);
      return row === undefined ? undefined : { startedAt: Number(row.startedAt), used: Number(row.used) };
    },
    setCounter(apiKey, window, { startedAt, used }) {
      database.run(
        'INSERT OR REPLACE INTO counter (apiKey, window, startedAt, used) VALUES (?, ?, ?, ?)',
        apiKey,
        window,
        BigInt(startedAt),
        BigInt(used),
      );
    },
    atomically,
    close: () => {
      database.close();
    },
  };
}

function migrate(database: Database, atomically: <T>(work: () => T) => T): void {
  const version = (): number => Number(database.get('PRAGMA user_version')?.user_version);
  if (version() === MIGRATIONS.length) return;
  atomically(() => {
    const from = version();
    for (const step of MIGRATIONS.slice(from)) database.exec(step);
    if (from === 0) for (const item of seedItems()) insert(database, item);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
  });
}

function insert(database: Database, { petId, quantity, status }: InventoryItem): void {
  database.run('INSERT INTO pet (petId, quantity, status) VALUES (?, ?, ?)', petId, quantity, status);
}

function toItem(row: Readonly<Record<string, unknown>>): InventoryItem {
  return { petId: row.petId as bigint, quantity: row.quantity as bigint, status: row.status as string };
}
