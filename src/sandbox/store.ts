/**
 * The sandbox's pets, keys and allowances, in SQLite. An int64 column holds every petId exactly.
 * Several processes may work on one file.
 */
import { type InventoryItem, itemToJsonText } from '../api/item.ts';
import type { Database, SqlRow } from '../context.ts';
import { generatedPets, seedItems } from './seed.ts';

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
  `DROP TABLE counter;
   CREATE TABLE allowance (
     apiKey TEXT PRIMARY KEY,
     minuteFrom INTEGER NOT NULL,
     minuteUsed INTEGER NOT NULL,
     dayFrom INTEGER NOT NULL,
     dayUsed INTEGER NOT NULL,
     blockedUntil INTEGER NOT NULL,
     early INTEGER NOT NULL,
     bannedUntil INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE apiKey (apiKey TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;`,
];

/** What one key has used, and what it has to wait for. Instants: epoch ms; 0 where there is none. */
export interface Allowance {
  readonly minuteFrom: number;
  readonly minuteUsed: number;
  readonly dayFrom: number;
  readonly dayUsed: number;
  /** What the last 429 told to wait for. */
  readonly blockedUntil: number;
  /** Requests that came before it. */
  readonly early: number;
  readonly bannedUntil: number;
}

const ALLOWANCE = ['minuteFrom', 'minuteUsed', 'dayFrom', 'dayUsed', 'blockedUntil', 'early', 'bannedUntil'] as const;

export interface Store {
  count(): number;
  /** At most `limit` pets, those with an id beyond `after`, by id. */
  page(after: bigint | undefined, limit: number): InventoryItem[];
  /** All pets as one JSON array. */
  listJson(): string;
  /** The entry as stored now, or undefined for an unknown pet. */
  setQuantity(petId: bigint, quantity: bigint): InventoryItem | undefined;
  /** Others in place of all pets. */
  replacePets(pets: Iterable<InventoryItem> | { readonly generated: number }): void;
  allowance(apiKey: string): Allowance | undefined;
  setAllowance(apiKey: string, allowance: Allowance): void;
  /** As if no request had ever been made; of that key alone, where one is given. */
  forgetAllowances(apiKey?: string): void;
  /** Those added to the file. */
  keys(): string[];
  hasKey(apiKey: string): boolean;
  addKey(apiKey: string): void;
  /** False where there was no such key. */
  removeKey(apiKey: string): boolean;
  /**
   * All of the work, or none, while no other process writes. It survives the end of the process; `durable`: that of
   * the machine too.
   * @throws {DatabaseFailure} `busy`
   */
  atomically<T>(work: () => T, how?: { readonly durable: boolean }): T;
  close(): void;
}

/** Creates and fills what is not there yet. @throws {DatabaseFailure} */
export function openStore(database: Database): Store {
  migrate(database);
  let isDurable: boolean | undefined;
  return {
    ...petsIn(database),
    ...keysIn(database),
    atomically(work, { durable } = { durable: false }) {
      if (durable !== isDurable) database.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
      isDurable = durable;
      return atomically(database, work);
    },
    close: () => {
      database.close();
    },
  };
}

function atomically<T>(database: Database, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

function migrate(database: Database): void {
  const version = (): number => Number(database.get('PRAGMA user_version')?.user_version);
  if (version() === MIGRATIONS.length) return;
  atomically(database, () => {
    const from = version();
    for (const step of MIGRATIONS.slice(from)) database.exec(step);
    if (from === 0) petsIn(database).replacePets(seedItems());
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
  });
}

type Pets = Pick<Store, 'count' | 'page' | 'listJson' | 'setQuantity' | 'replacePets'>;

function petsIn(database: Database): Pets {
  const insert = ({ petId, quantity, status }: InventoryItem): void => {
    database.run('INSERT INTO pet (petId, quantity, status) VALUES (?, ?, ?)', petId, quantity, status);
  };
  return {
    count: () => Number(database.get('SELECT count(*) AS pets FROM pet')?.pets),
    page(after, limit) {
      const from = after === undefined ? '' : 'WHERE petId > ?';
      const sql = `SELECT petId, quantity, status FROM pet ${from} ORDER BY petId LIMIT ?`;
      return database.all(sql, ...(after === undefined ? [] : [after]), BigInt(limit)).map(toItem);
    },
    listJson() {
      const rows = database.all('SELECT petId, quantity, status FROM pet ORDER BY petId');
      return `[${rows.map((row) => itemToJsonText(toItem(row))).join(',')}]`;
    },
    setQuantity(petId, quantity) {
      const sql = 'UPDATE pet SET quantity = ? WHERE petId = ? RETURNING petId, quantity, status';
      const row = database.get(sql, quantity, petId);
      return row === undefined ? undefined : toItem(row);
    },
    replacePets(pets) {
      database.exec('DELETE FROM pet');
      for (const pet of 'generated' in pets ? generatedPets(pets.generated) : pets) insert(pet);
    },
  };
}

type Keys = Pick<Store, 'allowance' | 'setAllowance' | 'forgetAllowances' | 'keys' | 'hasKey' | 'addKey' | 'removeKey'>;

function keysIn(database: Database): Keys {
  const places = ALLOWANCE.map(() => '?').join(', ');
  return {
    allowance(apiKey) {
      const row = database.get(`SELECT ${ALLOWANCE.join(', ')} FROM allowance WHERE apiKey = ?`, apiKey);
      return row === undefined
        ? undefined
        : (Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)])) as never);
    },
    setAllowance(apiKey, allowance) {
      const sql = `INSERT OR REPLACE INTO allowance (${ALLOWANCE.join(', ')}, apiKey) VALUES (${places}, ?)`;
      database.run(sql, ...ALLOWANCE.map((name) => BigInt(allowance[name])), apiKey);
    },
    forgetAllowances(apiKey) {
      if (apiKey === undefined) database.run('DELETE FROM allowance');
      else database.run('DELETE FROM allowance WHERE apiKey = ?', apiKey);
    },
    keys: () => database.all('SELECT apiKey FROM apiKey ORDER BY apiKey').map(({ apiKey }) => String(apiKey)),
    hasKey: (apiKey) => database.get('SELECT 1 FROM apiKey WHERE apiKey = ?', apiKey) !== undefined,
    addKey(apiKey) {
      database.run('INSERT OR IGNORE INTO apiKey VALUES (?)', apiKey);
    },
    removeKey: (apiKey) => database.run('DELETE FROM apiKey WHERE apiKey = ?', apiKey).changes > 0n,
  };
}

function toItem(row: SqlRow): InventoryItem {
  return { petId: row.petId as bigint, quantity: row.quantity as bigint, status: row.status as string };
}
