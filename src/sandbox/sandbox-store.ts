/**
 * Stores the sandbox's pets, keys and usage in SQLite. An int64 column holds every petId exactly.
 * Several processes may share one file.
 */
import type { InventoryItem } from '../api/item.ts';
import type { SqlRow } from '../ports.ts';
import { integer, text } from '../state/journal-rows.ts';
import { openDatabaseFile, type State } from '../state/database.ts';
import type { DatabaseKind, Warned } from '../state/file.ts';
import type { FilePorts } from '../state/lock.ts';
import { seedItems } from './seed.ts';

const SCHEMA: readonly string[] = [
  `CREATE TABLE pet (
     petId INTEGER PRIMARY KEY,
     quantity INTEGER NOT NULL,
     status TEXT NOT NULL
   ) STRICT`,
  `CREATE TABLE allowance (
     apiKey TEXT PRIMARY KEY,
     usage TEXT NOT NULL
   ) STRICT, WITHOUT ROWID`,
  'CREATE TABLE apiKey (apiKey TEXT PRIMARY KEY) STRICT, WITHOUT ROWID',
];

const NONE = { from: 0, used: 0 };
const UNUSED = { minute: NONE, day: NONE, blockedUntil: 0, early: 0, bannedUntil: 0 };

/**
 * What one key has used in the windows that began at `from`, and how long it must wait: `blockedUntil` is the time that
 * the last 429 named, `early` counts requests before that time. Times are epoch ms; 0 if not set.
 */
export type Usage = Readonly<typeof UNUSED>;

export type Store = ReturnType<typeof storeIn>;

/** Returns the store in a file, for `using`. */
function storeIn(state: State) {
  const { database } = state;
  return {
    count: () => Number(database.get('SELECT count(*) AS pets FROM pet')?.pets),
    /** Returns at most `limit` pets with an id above `after`, by id. */
    page(after: bigint | undefined, limit: number): InventoryItem[] {
      const from = after === undefined ? '' : 'WHERE petId > ?';
      const sql = `SELECT petId, quantity, status FROM pet ${from} ORDER BY petId LIMIT ?`;
      return database.all(sql, ...(after === undefined ? [] : [after]), BigInt(limit)).map(toItem);
    },
    /** Returns the entry as now stored; undefined for an unknown pet. */
    setQuantity(petId: bigint, quantity: bigint): InventoryItem | undefined {
      const sql = 'UPDATE pet SET quantity = ? WHERE petId = ? RETURNING petId, quantity, status';
      const row = database.get(sql, quantity, petId);
      return row === undefined ? undefined : toItem(row);
    },
    replacePets(pets: Iterable<InventoryItem>): void {
      database.run('DELETE FROM pet');
      insert(database, pets);
    },
    /** Returns a key's usage; zeros if it has used nothing. */
    allowance(apiKey: string): Usage {
      const row = database.get('SELECT usage FROM allowance WHERE apiKey = ?', apiKey);
      return { ...UNUSED, ...(row && (JSON.parse(text(row, 'usage')) as Usage)) };
    },
    setAllowance(apiKey: string, allowance: Usage): void {
      database.run('INSERT OR REPLACE INTO allowance VALUES (?, ?)', apiKey, JSON.stringify(allowance));
    },
    /** Brings the initial pets back, and resets the usage of all keys. */
    reset(): void {
      this.replacePets(seedItems());
      database.run('DELETE FROM allowance');
    },
    /** Returns the keys added to the file. */
    keys: () => database.all('SELECT apiKey FROM apiKey ORDER BY apiKey').map((row) => text(row, 'apiKey')),
    addKey(apiKey: string): void {
      database.run('INSERT OR IGNORE INTO apiKey VALUES (?)', apiKey);
    },
    /** Returns false if the key is unknown. */
    removeKey: (apiKey: string) => database.run('DELETE FROM apiKey WHERE apiKey = ?', apiKey).changes > 0n,
    /** Runs the work in one transaction, which survives a crash; `durable`: a power cut too. @throws {Failure} `state` */
    exclusively: <T>(work: () => T, { durable } = { durable: false }): Promise<T> =>
      state.exclusively(work, { durable, despiteSignal: true }),
    [Symbol.dispose]: () => {
      state[Symbol.dispose]();
    },
  };
}

const SANDBOX: DatabaseKind = {
  name: 'sandbox',
  applicationId: 0x70657462,
  schema: SCHEMA,
  fill(database) {
    insert(database, seedItems());
  },
};

function insert(database: Pick<State['database'], 'run'>, pets: Iterable<InventoryItem>): void {
  for (const { petId, quantity, status } of pets) {
    database.run('INSERT INTO pet (petId, quantity, status) VALUES (?, ?, ?)', petId, quantity, status);
  }
}

function toItem(row: SqlRow): InventoryItem {
  return { petId: integer(row, 'petId'), quantity: integer(row, 'quantity'), status: text(row, 'status') };
}

export interface SandboxFile {
  /** The database file; its folder is created if it is missing. */
  readonly file: string;
  /** Receives a warning if a damaged file was moved aside. Without it (outside the state folder), that is an error. */
  readonly notices?: Warned['notices'];
}

/**
 * Opens the store's file; moves a damaged one in the state folder aside.
 * @param wrap changes how transactions run
 * @throws {Failure} `state`, `file`
 */
export async function openStore(
  ports: FilePorts,
  { file, notices }: SandboxFile,
  wrap: (state: State) => State = (state) => state,
): Promise<Store> {
  return storeIn(wrap(await openDatabaseFile({ ports, kind: SANDBOX, path: file }, notices)));
}
