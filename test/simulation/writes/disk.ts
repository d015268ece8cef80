/**
 * The in-memory disk of a simulated machine: files, and databases with SQLite's locks between connections. When a
 * process dies, its transaction is rolled back and its locks are released. All connections to one path share one
 * in-memory database, because no transaction lasts longer than one turn, except those that are only a lock.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { type Database, DatabaseFailure, type FileFacts, type Files, type SqlRow } from '../../../src/ports.ts';

/** What a connection belongs to. */
export interface Owner {
  /** A moment at which the process may die. @throws once it is dead: what runs then is no longer of this world */
  step(): void;
}

interface Stored {
  readonly database: DatabaseSync;
  readonly statements: Map<string, StatementSync>;
  writer: Connection | undefined;
  commits: bigint;
}

/** Another program holds the write lock, a backup for instance; or the disk is full. Times in ms of the simulation. */
export interface Trouble {
  readonly problem: 'held' | 'full';
  readonly from: number;
  readonly until: number;
}

/** A page of an SQLite file: what the program sees of a database that it has not opened. */
const HEADER_BYTES = 100;
const PAGE_BYTES = 4_096;

type Times = Pick<FileFacts, 'accessedAt' | 'modifiedAt'>;

export class MemoryDisk {
  readonly #files = new Map<string, Uint8Array>();
  readonly #times = new Map<string, Times>();
  readonly #folders = new Set<string>();
  readonly #databases = new Map<string, Stored>();
  readonly #now: () => number;
  /** When the state database could not be written. */
  readonly troubles: Trouble[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** From now on, for a while, the state database cannot be written. */
  trouble(problem: Trouble['problem'], ms: number): void {
    this.troubles.push({ problem, from: this.#now(), until: this.#now() + ms });
  }

  /** @throws {DatabaseFailure} */
  requireWritable(path: string): void {
    if (!path.endsWith('/state.db')) return;
    const found = this.troubles.find(({ until }) => this.#now() < until);
    if (found !== undefined) throw new DatabaseFailure(found.problem, new Error(`database is ${found.problem}`));
  }

  write(path: string, text: string): void {
    this.#files.set(path, Buffer.from(text));
  }

  open(path: string, owner: Owner): Connection {
    const stored = path === ':memory:' ? undefined : this.#databases.get(path);
    if (stored !== undefined) return new Connection(this, path, stored, owner);
    const created = { database: new DatabaseSync(':memory:'), statements: new Map(), writer: undefined, commits: 0n };
    if (path !== ':memory:') this.#databases.set(path, created);
    return new Connection(this, path, created, owner);
  }

  close(): void {
    for (const { database } of this.#databases.values()) database.close();
  }

  files(): Files {
    const missing = (path: string): Error => Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
    const read = (path: string): Uint8Array => {
      const found = this.#bytes(path);
      if (found === undefined) throw missing(path);
      return found;
    };
    return {
      facts: async (path) => this.#facts(path),
      read: async (path) => Buffer.from(read(path)).toString('utf8'),
      head: async (path, bytes) => this.#bytes(path)?.slice(0, bytes),
      stream: async (path) => onePiece(read(path)),
      append: async () => ({ write: () => undefined, close: async () => undefined }),
      makePrivateFolder: async (path) => void this.#folders.add(path),
      list: async (folder) => this.#list(`${folder}/`),
      replace: async (path, text) => this.write(path, text),
      setTimes: async (path, times) => void this.#times.set(path, times),
      remove: async (path) => void this.#files.delete(path),
      isOnNetwork: async () => false,
      rename: async (from, to) => {
        const found = this.#files.get(from);
        if (found !== undefined && this.#files.delete(from)) this.#files.set(to, found);
      },
    };
  }

  #list(folder: string): string[] {
    const paths = [...this.#files.keys(), ...this.#databases.keys()].filter((path) => path.startsWith(folder));
    return paths.map((path) => path.slice(folder.length)).filter((name) => !name.includes('/'));
  }

  #facts(path: string): FileFacts | undefined {
    const times = this.#times.get(path) ?? { accessedAt: this.#now(), modifiedAt: this.#now() };
    const common = { mode: 0o600, owner: process.geteuid?.() ?? 0, ...times };
    if (this.#folders.has(path)) return { kind: 'directory', size: 0, ...common, mode: 0o700 };
    const bytes = this.#files.get(path);
    if (bytes === undefined && !this.#databases.has(path)) return undefined;
    return { kind: 'file', size: bytes?.length ?? PAGE_BYTES, ...common };
  }

  #bytes(path: string): Uint8Array | undefined {
    const stored = this.#databases.get(path);
    if (stored === undefined) return this.#files.get(path);
    const number = (name: string): number => Number(stored.database.prepare(`PRAGMA ${name}`).get()?.[name]);
    // Nothing has been written to it.
    if (number('application_id') === 0) return Buffer.alloc(0);
    const header = Buffer.alloc(HEADER_BYTES);
    header.write('SQLite format 3\0', 'latin1');
    header.writeInt32BE(number('user_version'), 60);
    header.writeInt32BE(number('application_id'), 68);
    return header;
  }
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Settings of a file's cache and log, which a database in memory does not have. */
const OF_A_FILE = /^PRAGMA (synchronous|journal_mode|busy_timeout|wal_)/;
const CHANGES = /^\s*(INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER)/i;

export class Connection implements Database {
  readonly #disk: MemoryDisk;
  readonly #path: string;
  readonly #stored: Stored;
  readonly #owner: Owner;
  #own = 0n;
  #isOpen = true;

  constructor(disk: MemoryDisk, path: string, stored: Stored, owner: Owner) {
    this.#disk = disk;
    this.#path = path;
    this.#stored = stored;
    this.#owner = owner;
  }

  exec(sql: string): void {
    if (OF_A_FILE.test(sql)) return;
    if (sql.startsWith('BEGIN')) this.#begin(sql !== 'BEGIN');
    else if (sql === 'COMMIT') this.#commit();
    else if (sql === 'ROLLBACK') this.#rollBack();
    else this.#change(sql, () => this.#stored.database.exec(sql));
  }

  run(sql: string, ...params: Parameters<Database['run']>[1][]): { readonly changes: bigint } {
    return this.#change(sql, () => ({ changes: BigInt(this.#statement(sql).run(...params).changes) }));
  }

  all(sql: string, ...params: Parameters<Database['run']>[1][]): SqlRow[] {
    return this.#change(sql, () => this.#statement(sql).all(...params));
  }

  get(sql: string, ...params: Parameters<Database['run']>[1][]): SqlRow | undefined {
    if (sql === 'PRAGMA data_version') return { data_version: this.#stored.commits - this.#own };
    return this.#change(sql, () => this.#statement(sql).get(...params));
  }

  isInPlace(): boolean {
    return true;
  }

  /** The process closes it, or the system does once the process is dead. */
  close(): void {
    if (this.#isOpen && this.#stored.writer === this) {
      this.#stored.database.exec('ROLLBACK');
      this.#stored.writer = undefined;
    }
    this.#isOpen = false;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #begin(isImmediate: boolean): void {
    this.#owner.step();
    if (!isImmediate) return;
    this.#requireLock();
    this.#stored.database.exec('BEGIN IMMEDIATE');
    this.#stored.writer = this;
  }

  #commit(): void {
    this.#owner.step();
    if (this.#stored.writer !== this) return;
    this.#stored.database.exec('COMMIT');
    this.#stored.writer = undefined;
    this.#stored.commits++;
    this.#own++;
    // What is committed stays, whatever becomes of the process.
    this.#owner.step();
  }

  #rollBack(): void {
    if (this.#stored.writer !== this) return;
    this.#stored.database.exec('ROLLBACK');
    this.#stored.writer = undefined;
  }

  #requireLock(): void {
    const { writer } = this.#stored;
    if (writer !== undefined && writer !== this) throw new DatabaseFailure('held', new Error('database is locked'));
    this.#disk.requireWritable(this.#path);
  }

  #change<T>(sql: string, work: () => T): T {
    if (!this.#isOpen) throw new DatabaseFailure('unusable', new Error('database is not open'));
    const isAlone = CHANGES.test(sql) && this.#stored.writer !== this;
    if (isAlone) this.#requireLock();
    try {
      return work();
    } catch (error) {
      throw new DatabaseFailure('unusable', error);
    } finally {
      if (isAlone) {
        this.#stored.commits++;
        this.#own++;
      }
    }
  }

  #statement(sql: string): StatementSync {
    const known = this.#stored.statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#stored.database.prepare(sql);
    statement.setReadBigInts(true);
    this.#stored.statements.set(sql, statement);
    return statement;
  }
}
