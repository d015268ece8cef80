/**
 * The sandbox's pets, keys and allowances, in SQLite. An int64 column holds every petId exactly.
 * Several processes may work on one file.
 */
import { type InventoryItem, itemToJsonText } from '../api/item.ts';
import type { Database, SqlRow } from '../ports.ts';
import { integer, text } from '../state/columns.ts';
import { APPLICATION_IDS, type Form } from '../state/form.ts';
import { atomically } from '../state/transaction.ts';
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

const ALLOWANCE = ['minuteFrom', 'minuteUsed', 'dayFrom', 'dayUsed', 'blockedUntil', 'early', 'bannedUntil'] as const;

/**
 * What one key has used, and what it has to wait for: `blockedUntil` is what the last 429 named, `early` counts the
 * requests that came before it. Instants: epoch ms; 0 where there is none.
 */
export type Usage = Readonly<Record<(typeof ALLOWANCE)[number], number>>;

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
  allowance(apiKey: string): Usage | undefined;
  setAllowance(apiKey: string, allowance: Usage): void;
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
  /** False once another file, or none, is where this one was opened. */
  isInPlace(): boolean;
  close(): void;
}

/** The store in a database that has been brought up to date. */
export function openStore(database: Database): Store {
  const known = new Cache(database);
  let isDurable: boolean | undefined;
  return {
    ...petsIn(database, known),
    ...keysIn(database, known),
    atomically(work, { durable } = { durable: false }) {
      if (durable !== isDurable) database.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
      isDurable = durable;
      try {
        return atomically(database, () => known.during(work));
      } catch (error) {
        // Nothing of it happened.
        known.forget();
        throw error;
      }
    },
    isInPlace: () => database.isInPlace(),
    close: () => {
      database.close();
    },
  };
}

/** What need not be read again, as long as no other process has written; and what is written once a transaction. */
class Cache {
  listJson: string | undefined;
  readonly allowances = new Map<string, Usage>();
  readonly changed = new Set<string>();
  private readonly database: Database;
  private version: unknown;

  constructor(database: Database) {
    this.database = database;
  }

  during<T>(work: () => T): T {
    // sqlite.org/pragma.html#pragma_data_version: another value once another connection has committed.
    const version = this.database.get('PRAGMA data_version')?.data_version;
    if (version !== this.version) this.forget();
    this.version = version;
    const result = work();
    for (const apiKey of this.changed) writeAllowance(this.database, apiKey, this.allowances.get(apiKey)!);
    this.changed.clear();
    return result;
  }

  forget(): void {
    this.listJson = undefined;
    this.allowances.clear();
    this.changed.clear();
  }
}

export const SANDBOX_FORM: Form = {
  applicationId: APPLICATION_IDS.sandbox,
  migrations: MIGRATIONS,
  fill(database) {
    petsIn(database, new Cache(database)).replacePets(seedItems());
  },
};

type Pets = Pick<Store, 'count' | 'page' | 'listJson' | 'setQuantity' | 'replacePets'>;

function petsIn(database: Database, known: Cache): Pets {
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
      known.listJson ??= `[${allPets(database).map(itemToJsonText).join(',')}]`;
      return known.listJson;
    },
    setQuantity(petId, quantity) {
      known.listJson = undefined;
      const sql = 'UPDATE pet SET quantity = ? WHERE petId = ? RETURNING petId, quantity, status';
      const row = database.get(sql, quantity, petId);
      return row === undefined ? undefined : toItem(row);
    },
    replacePets(pets) {
      known.listJson = undefined;
      database.exec('DELETE FROM pet');
      for (const pet of 'generated' in pets ? generatedPets(pets.generated) : pets) insert(pet);
    },
  };
}

type Keys = Pick<Store, 'allowance' | 'setAllowance' | 'forgetAllowances' | 'keys' | 'hasKey' | 'addKey' | 'removeKey'>;

function keysIn(database: Database, known: Cache): Keys {
  return {
    allowance(apiKey) {
      const found = known.allowances.get(apiKey) ?? readAllowance(database, apiKey);
      if (found !== undefined) known.allowances.set(apiKey, found);
      return found;
    },
    setAllowance(apiKey, allowance) {
      known.allowances.set(apiKey, allowance);
      known.changed.add(apiKey);
    },
    forgetAllowances(apiKey) {
      if (apiKey === undefined) {
        known.allowances.clear();
        known.changed.clear();
        database.run('DELETE FROM allowance');
      } else {
        known.allowances.delete(apiKey);
        known.changed.delete(apiKey);
        database.run('DELETE FROM allowance WHERE apiKey = ?', apiKey);
      }
    },
    keys: () => database.all('SELECT apiKey FROM apiKey ORDER BY apiKey').map(({ apiKey }) => String(apiKey)),
    hasKey: (apiKey) => database.get('SELECT 1 FROM apiKey WHERE apiKey = ?', apiKey) !== undefined,
    addKey(apiKey) {
      database.run('INSERT OR IGNORE INTO apiKey VALUES (?)', apiKey);
    },
    removeKey: (apiKey) => database.run('DELETE FROM apiKey WHERE apiKey = ?', apiKey).changes > 0n,
  };
}

function readAllowance(database: Database, apiKey: string): Usage | undefined {
  const row = database.get(`SELECT ${ALLOWANCE.join(', ')} FROM allowance WHERE apiKey = ?`, apiKey);
  if (row === undefined) return undefined;
  const number = (name: keyof Usage): number => Number(integer(row, name));
  return {
    minuteFrom: number('minuteFrom'),
    minuteUsed: number('minuteUsed'),
    dayFrom: number('dayFrom'),
    dayUsed: number('dayUsed'),
    blockedUntil: number('blockedUntil'),
    early: number('early'),
    bannedUntil: number('bannedUntil'),
  };
}

const WRITE_ALLOWANCE =
  `INSERT OR REPLACE INTO allowance (${ALLOWANCE.join(', ')}, apiKey) ` +
  `VALUES (${ALLOWANCE.map(() => '?').join(', ')}, ?)`;

function writeAllowance(database: Database, apiKey: string, allowance: Usage): void {
  database.run(WRITE_ALLOWANCE, ...ALLOWANCE.map((name) => BigInt(allowance[name])), apiKey);
}

function allPets(database: Database): InventoryItem[] {
  return database.all('SELECT petId, quantity, status FROM pet ORDER BY petId').map(toItem);
}

function toItem(row: SqlRow): InventoryItem {
  return { petId: integer(row, 'petId'), quantity: integer(row, 'quantity'), status: text(row, 'status') };
}
