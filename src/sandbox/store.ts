/**
 * The sandbox's pets, keys and allowances, in SQLite. An int64 column holds every petId exactly.
 * Several processes may work on one file.
 */
import { type InventoryItem, itemToJsonText } from '../api/item.ts';
import type { Database, SqlRow } from '../ports.ts';
import { integer, text } from '../state/rows.ts';
import { LOG_PAGES } from '../state/database.ts';
import { APPLICATION_IDS, type Form } from '../state/form.ts';
import { atomically } from '../state/transaction.ts';
import { generatedPets, seedItems } from './seed.ts';

const SCHEMA: readonly string[] = [
  `CREATE TABLE pet (
     petId INTEGER PRIMARY KEY,
     quantity INTEGER NOT NULL,
     status TEXT NOT NULL
   ) STRICT`,
  `CREATE TABLE allowance (
     apiKey TEXT PRIMARY KEY,
     minuteFrom INTEGER NOT NULL,
     minuteUsed INTEGER NOT NULL,
     dayFrom INTEGER NOT NULL,
     dayUsed INTEGER NOT NULL,
     blockedUntil INTEGER NOT NULL,
     early INTEGER NOT NULL,
     bannedUntil INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID`,
  'CREATE TABLE apiKey (apiKey TEXT PRIMARY KEY) STRICT, WITHOUT ROWID',
];

const ALLOWANCE = ['minuteFrom', 'minuteUsed', 'dayFrom', 'dayUsed', 'blockedUntil', 'early', 'bannedUntil'] as const;

/**
 * What one key has used, and what it has to wait for: `blockedUntil` is what the last 429 named, `early` counts the
 * requests that came before it. Instants: epoch ms; 0 where not set.
 */
export type Usage = Readonly<Record<(typeof ALLOWANCE)[number], number>>;

/** Pets that are given, or this number of generated ones. */
export type Pets = Iterable<InventoryItem> | { readonly generated: number };

/** The store in a database that has its tables. */
export class Store {
  private readonly database: Database;
  /** What need not be read again as long as no other process has written. */
  private list: string | undefined;
  private readonly allowances = new Map<string, Usage>();
  /** The keys whose allowance is written at the end of the transaction. */
  private readonly changed = new Set<string>();
  private version: unknown;
  private isDurable: boolean | undefined;

  constructor(database: Database) {
    this.database = database;
  }

  count(): number {
    return Number(this.database.get('SELECT count(*) AS pets FROM pet')?.pets);
  }

  /** At most `limit` pets, those with an id beyond `after`, by id. */
  page(after: bigint | undefined, limit: number): InventoryItem[] {
    const from = after === undefined ? '' : 'WHERE petId > ?';
    const sql = `SELECT petId, quantity, status FROM pet ${from} ORDER BY petId LIMIT ?`;
    return this.database.all(sql, ...(after === undefined ? [] : [after]), BigInt(limit)).map(toItem);
  }

  /** All pets as one JSON array. */
  listJson(): string {
    // A negative LIMIT means no limit.
    this.list ??= `[${this.page(undefined, -1).map(itemToJsonText).join(',')}]`;
    return this.list;
  }

  /** The entry as stored now, or undefined for an unknown pet. */
  setQuantity(petId: bigint, quantity: bigint): InventoryItem | undefined {
    this.list = undefined;
    const sql = 'UPDATE pet SET quantity = ? WHERE petId = ? RETURNING petId, quantity, status';
    const row = this.database.get(sql, quantity, petId);
    return row === undefined ? undefined : toItem(row);
  }

  /** Others in place of all pets. */
  replacePets(pets: Pets): void {
    this.list = undefined;
    this.database.exec('DELETE FROM pet');
    for (const { petId, quantity, status } of 'generated' in pets ? generatedPets(pets.generated) : pets) {
      this.database.run('INSERT INTO pet (petId, quantity, status) VALUES (?, ?, ?)', petId, quantity, status);
    }
  }

  /** Zeros for a key that has used nothing. */
  allowance(apiKey: string): Usage {
    const found = this.allowances.get(apiKey) ?? readAllowance(this.database, apiKey);
    this.allowances.set(apiKey, found);
    return found;
  }

  setAllowance(apiKey: string, allowance: Usage): void {
    this.allowances.set(apiKey, allowance);
    this.changed.add(apiKey);
  }

  /** As if no request had ever been made; of that key alone, where one is given. */
  forgetAllowances(apiKey?: string): void {
    if (apiKey === undefined) {
      this.allowances.clear();
      this.changed.clear();
      this.database.run('DELETE FROM allowance');
    } else {
      this.allowances.delete(apiKey);
      this.changed.delete(apiKey);
      this.database.run('DELETE FROM allowance WHERE apiKey = ?', apiKey);
    }
  }

  /** Those added to the file. */
  keys(): string[] {
    return this.database.all('SELECT apiKey FROM apiKey ORDER BY apiKey').map(({ apiKey }) => String(apiKey));
  }

  hasKey(apiKey: string): boolean {
    return this.database.get('SELECT 1 FROM apiKey WHERE apiKey = ?', apiKey) !== undefined;
  }

  addKey(apiKey: string): void {
    this.database.run('INSERT OR IGNORE INTO apiKey VALUES (?)', apiKey);
  }

  /** False where the key is unknown. */
  removeKey(apiKey: string): boolean {
    return this.database.run('DELETE FROM apiKey WHERE apiKey = ?', apiKey).changes > 0n;
  }

  /**
   * All of the work, or none, while no other process writes. It survives the end of the process; `durable`: that of
   * the machine too.
   * @throws {DatabaseFailure} `busy`
   */
  atomically<T>(work: () => T, { durable } = { durable: false }): T {
    if (durable !== this.isDurable) this.database.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
    this.isDurable = durable;
    try {
      return atomically(this.database, () => this.withCache(work));
    } catch (error) {
      // Nothing of it happened.
      this.forgetCache();
      throw error;
    }
  }

  /** False once another file, or none, is where this one was opened. */
  isInPlace(): boolean {
    return this.database.isInPlace();
  }

  /** For a process that leaves the write-ahead log behind: the next one reads all of it. */
  keepLogShort(): void {
    this.database.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
  }

  close(): void {
    this.database.close();
  }

  private withCache<T>(work: () => T): T {
    // sqlite.org/pragma.html#pragma_data_version: another value once another connection has committed.
    const version = this.database.get('PRAGMA data_version')?.data_version;
    if (version !== this.version) this.forgetCache();
    this.version = version;
    const result = work();
    for (const apiKey of this.changed) writeAllowance(this.database, apiKey, this.allowances.get(apiKey)!);
    this.changed.clear();
    return result;
  }

  private forgetCache(): void {
    this.list = undefined;
    this.allowances.clear();
    this.changed.clear();
  }
}

export const SANDBOX_FORM: Form = {
  applicationId: APPLICATION_IDS.sandbox,
  schema: SCHEMA,
  fill(database) {
    new Store(database).replacePets(seedItems());
  },
};

function readAllowance(database: Database, apiKey: string): Usage {
  const row = database.get(`SELECT ${ALLOWANCE.join(', ')} FROM allowance WHERE apiKey = ?`, apiKey);
  const number = (name: keyof Usage): number => (row === undefined ? 0 : Number(integer(row, name)));
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

function toItem(row: SqlRow): InventoryItem {
  return { petId: integer(row, 'petId'), quantity: integer(row, 'quantity'), status: text(row, 'status') };
}
