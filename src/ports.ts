/**
 * The ports: everything the program asks of the machine it runs on, as types only.
 * `src/node` is the one real implementation; tests bring their own.
 */
import type { FullScreen, Input, Output, Prompt, ScreenEvents } from './terminal.ts';

export type * from './terminal.ts';

/** The reader of an output went away: `petstore inventory list | head -1`. Success for a read. */
export class OutputClosed extends Error {
  override name = 'OutputClosed';
}

/** Time, injected. All values in milliseconds. */
export interface Clock {
  /** Wall clock: milliseconds since the Unix epoch. May jump. */
  now(): number;
  /** Monotonic clock of this boot. Never goes back. */
  monotonic(): number;
  /** Rejects with `signal.reason` once the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** When everything that has already arrived has been looked at: one round of the event loop. */
  turn(): Promise<void>;
  /** Calls `ring` once after `ms`, unless the returned function is called before. */
  alarm(ms: number, ring: () => void): () => void;
}

/** Uniform in [0, 1). */
export type Random = () => number;

export type FileKind = 'file' | 'directory' | 'symlink' | 'other';

export interface FileFacts {
  readonly kind: FileKind;
  /** Permission bits, e.g. 0o600. */
  readonly mode: number;
  readonly size: number;
  /** Number of the user who owns it; 0 on Windows. */
  readonly owner: number;
  /** Epoch ms. */
  readonly accessedAt: number;
  /** Epoch ms. */
  readonly modifiedAt: number;
}

/** Every method rejects with a Node system error (`code` such as `EACCES`) when the system refuses. */
export interface Files {
  /** Facts of the entry itself (a link is not followed), or undefined if it does not exist. */
  facts(path: string): Promise<FileFacts | undefined>;
  /** Never follows a link in the last component and never waits on a FIFO. */
  read(path: string): Promise<string>;
  /** Returns the first bytes of a plain file, or of the one that a link leads to; undefined if it does not exist. */
  head(path: string, bytes: number): Promise<Uint8Array | undefined>;
  /** Cuts a plain file to no bytes, in place: a lock on it stays. Follows no link. */
  empty(path: string): Promise<void>;
  /**
   * Reads a file of the user's in pieces, following links. Waits for the writer of a FIFO or pipe until the signal
   * aborts; the pieces then end with its reason.
   */
  stream(path: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Opens a file to add lines to, created if it is missing. A FIFO must have a reader.
   * `onFailure` hears once, with the system's code.
   */
  append(path: string, onFailure: (code: string) => void): Promise<Appender>;
  /** Creates the folder and its parents, the last one with mode 0700 when it is new. */
  makePrivateFolder(path: string): Promise<void>;
  /** Names of the entries; empty where the folder does not exist. */
  list(folder: string): Promise<string[]>;
  /**
   * Replaces the whole file at once: readers see the old or the new. Writes to a pipe or device what it takes at once;
   * a FIFO must have a reader. `mode`: of a file that is new, default 0o644.
   */
  replace(path: string, text: string, how?: { readonly mode?: number }): Promise<void>;
  /** Needs no space on the disk. A file system may cut the times to whole seconds, or ignore them. */
  setTimes(path: string, times: Pick<FileFacts, 'accessedAt' | 'modifiedAt'>): Promise<void>;
  remove(path: string): Promise<void>;
  /** Whether the file is, or would be, on a file system of another machine, as far as the system tells. */
  isOnNetwork(path: string): Promise<boolean>;
  /** Does nothing where the file does not exist. */
  rename(from: string, to: string): Promise<void>;
}

export interface Appender {
  /** Returns at once; the text is written in its turn. */
  write(text: string): void;
  /** Resolves when all of it is written, or could not be. */
  close(): Promise<void>;
}

export interface HttpRequest {
  readonly method: 'GET' | 'PATCH' | 'POST' | 'PUT' | 'DELETE' | 'HEAD' | 'OPTIONS';
  readonly url: URL;
  /** Path and query exactly as they are sent. Default: those of `url`, which are normalised. */
  readonly target?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** In place of `body`: of another client, in whatever form. */
  readonly bytes?: Uint8Array;
  /** Longest wait for the response headers, 1xx responses included, and for each further piece of the body. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface HttpReply {
  readonly status: number;
  /** Lower-case name to values in the order received, a character for each byte. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** The body with its content coding (gzip, br, deflate) undone. Throws HttpFailure. */
  readonly body: HttpBody;
}

/** A list where all of it has come already. */
export type HttpBody = AsyncIterable<Uint8Array> | readonly Uint8Array[];

/** True for a body that is here as a whole. */
export function isWhole(body: HttpBody): body is readonly Uint8Array[] {
  return Array.isArray(body);
}

/** Where an exchange broke. The first group is known not to have sent the request. */
export type HttpFailurePhase =
  | 'dns' // the name cannot be resolved
  | 'connect' // refused, unreachable
  | 'connect-timeout'
  | 'tls' // certificate or handshake
  | 'proxy' // the proxy refused, cannot be reached or used, or does not speak HTTP
  | 'withdrawn' // permission to send was refused when the connection was ready
  // from here on the request may have reached the service
  | 'reset' // the connection broke before a response
  | 'response-timeout' // no response headers in time
  | 'header-overflow' // response headers above the parser's limit
  | 'protocol' // not HTTP
  | 'body-cut' // the body ended early or its coding is broken
  | 'coding' // a content coding that is not supported; `detail` names it
  | 'body-timeout'
  | 'aborted'; // our own signal

export interface HttpFailureFacts {
  readonly phase: HttpFailurePhase;
  /** False only where it is certain that no byte of the request was sent. */
  readonly mayHaveBeenSent: boolean;
  /** `host:port` of the peer that failed: the service's, or the proxy's. */
  readonly peer: string;
  /** The system's or library's code, e.g. `ECONNREFUSED`, `CERT_HAS_EXPIRED`. */
  readonly code: string;
  /** In words, without secrets, for --verbose. */
  readonly detail: string;
}

/** Code of a proxy variable whose value cannot be used; `detail` is the whole sentence. */
export const INVALID_PROXY = 'INVALID_PROXY';

export class HttpFailure extends Error {
  override name = 'HttpFailure';
  readonly facts: HttpFailureFacts;
  constructor(facts: HttpFailureFacts, cause?: unknown) {
    super(`${facts.phase}: ${facts.code}`, { cause });
    this.facts = facts;
  }
  /** Permission to send was refused when the connection was ready. */
  static withdrawn(peer: string): HttpFailure {
    const detail = 'permission to send was refused';
    return new HttpFailure({ phase: 'withdrawn', mayHaveBeenSent: false, peer, code: 'WITHDRAWN', detail });
  }
}

/** One connection pool for the whole command. */
export interface Http {
  /**
   * Resolves with a connection on which one request can be written at once: an idle one if there is one, else a new
   * one (DNS, TCP, TLS, a proxy's CONNECT), all of it within `timeoutMs`. The caller limits how many there are.
   * @throws {HttpFailure} mayHaveBeenSent is false
   */
  connect(target: HttpTarget): Promise<Connection>;
  close(): Promise<void>;
}

export interface HttpTarget {
  readonly url: URL;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** The caller either sends one request or releases the connection; both hand it back. */
export interface Connection {
  /** False once the peer has closed it. */
  readonly isOpen: boolean;
  /**
   * Sends one request: no retry, no redirect followed. Calls `maySend` synchronously, immediately before the first
   * byte is written; where it returns false, nothing is written and the phase of the failure is `withdrawn`.
   * @throws {HttpFailure}
   */
  send(request: HttpRequest, maySend: () => boolean): Promise<HttpReply>;
  /** Returns an unused connection to the pool. */
  release(): void;
}

export type DnsType = 'A' | 'AAAA' | 'CNAME' | 'SOA';

/** One property of a CAA record (RFC 8659, 4.1): `issue`, `issuewild`, `iodef`, … */
export interface CaaProperty {
  readonly tag: string;
  readonly value: string;
}

export interface DnsResolver {
  /**
   * Their values, names without a final dot (of SOA the primary server); empty where the name has none of that type.
   * @throws {NetworkFailure} `ENOTFOUND` where the name does not exist
   */
  records(type: DnsType, name: string): Promise<readonly string[]>;
  /** @throws {NetworkFailure} */
  authorities(name: string): Promise<readonly CaaProperty[]>;
}

/** Where a connection goes, and whom it asks for there. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  /** The name, or address, that the certificate must be for. */
  readonly name: string;
}

export interface Encrypted {
  readonly protocol: string;
  /** Why the certificate cannot be trusted: a code of OpenSSL or Node; undefined where it can. */
  readonly problem?: string;
  /** Common names, from the certificate itself to the root, as far as they were sent or are known. */
  readonly chain: readonly string[];
  /** The names that it is for, as the certificate has them: `DNS:a.example, IP Address:192.0.2.7`. */
  readonly names: string;
  /** Epoch ms. */
  readonly validFrom: number;
  readonly validTo: number;
}

/** How the environment's proxy variables say a URL is reached. */
export type ProxyRoute =
  | { readonly kind: 'direct' }
  | { readonly kind: 'proxy'; readonly proxy: URL; readonly variable: string }
  /** `problem` completes a sentence that begins with the variable's name; it holds no credentials. */
  | { readonly kind: 'unusable'; readonly variable: string; readonly problem: string };

/** A look at the network itself, for `doctor`. Nothing is tried again. */
export interface Network {
  /** The proxy between this machine and the URL, as requests use it. */
  proxyFor(url: URL): ProxyRoute;
  /** As this machine resolves names, its hosts file included. @throws {NetworkFailure} */
  lookup(host: string): Promise<readonly string[]>;
  /** Of the system, or the server at `host[:port]`. */
  resolver(server?: string): DnsResolver;
  /** Connects over TCP, and hangs up. @throws {NetworkFailure} */
  connect(peer: Peer): Promise<void>;
  /** Connects over TLS, verifying the certificate, and disconnects. @throws {NetworkFailure} */
  handshake(peer: Peer): Promise<Encrypted>;
  /** What GET / is answered with over TLS, without a key. @throws {NetworkFailure} */
  ask(peer: Peer): Promise<{ readonly status: number; readonly location?: string }>;
}

/** A name that cannot be resolved, a peer that cannot be reached. */
export class NetworkFailure extends Error {
  override name = 'NetworkFailure';
  /** `ECONNREFUSED`, `ETIMEDOUT`, and what node:dns and node:tls have. */
  readonly code: string;
  constructor(code: string, cause?: unknown) {
    super(code, { cause });
    this.code = code;
  }
}

export type SqlValue = null | number | bigint | string | Uint8Array;
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** One SQLite connection, closed by `using`, too. Integers come back as bigint. Every method may throw DatabaseFailure. */
export interface Database extends Disposable {
  exec(sql: string): void;
  run(sql: string, ...params: SqlValue[]): { readonly changes: bigint };
  all(sql: string, ...params: SqlValue[]): SqlRow[];
  get(sql: string, ...params: SqlValue[]): SqlRow | undefined;
  /** False once another file, or none, is where this one was opened. */
  isInPlace(): boolean;
  close(): void;
}

export type DatabaseProblem = 'busy' | 'corrupt' | 'readonly' | 'full' | 'cannot-open' | 'io' | 'other';

export class DatabaseFailure extends Error {
  override name = 'DatabaseFailure';
  readonly problem: DatabaseProblem;
  constructor(problem: DatabaseProblem, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.problem = problem;
  }
}

/** A Redis server, whichever one it is at the moment where several take its place. */
export interface Redis {
  /**
   * Runs a Lua script as one atomic step: by its hash, and whole where the server does not know it yet. Connects first
   * where it must; a connection that failed is replaced by the next run, and nothing is tried twice. `timeoutMs` is for
   * connecting and running together, 2000 by default and at most.
   * @throws {RedisFailure} the signal's reason
   */
  run(
    script: string,
    key: string,
    args: readonly string[],
    options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<string>;
  close(): void;
}

/** The server cannot be reached, does not answer in time, or refuses. */
export class RedisFailure extends Error {
  override name = 'RedisFailure';
  /** `settings`: the address, its credentials, their rights or a certificate are wrong, which no waiting changes. */
  readonly kind: 'lost' | 'settings';
  /** The code of a connection's failure, or what the server says. */
  constructor(cause: unknown, kind: 'lost' | 'settings' = 'lost') {
    super(errorCode(cause) ?? (cause instanceof Error ? cause.message : String(cause)), { cause });
    this.kind = kind;
  }
}

/** Writes a config file whole, atomically, mode 0600. */
export type ConfigWriter = (folder: string, content: Readonly<Record<string, unknown>>) => void;

export interface CommandOptions {
  /** Its stdin; its stdout is then not read. */
  readonly input?: string;
  /** Then it is killed. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Receives each line of its stderr. */
  onLine(line: string): void;
  /** Returns what is thrown. `isLocal`: it could not be started. */
  fail(problem: string, isLocal: boolean): Error;
}

export interface Machine {
  readonly platform: string;
  /** What runs the program: Bun in the standalone executable, Node elsewhere. */
  readonly runtime: { readonly name: 'Node' | 'Bun'; readonly version: string };
  readonly pid: number;
  /** The same for all processes since the machine was started, and for no others. Empty where the system has no such name. */
  readonly bootId: string;
  /** Names the processes among which `pid` is unique: of one machine and PID namespace. */
  readonly processSpace: string;
  /** Whether a process with that number runs on this machine; true where that is unknown. */
  isAlive(pid: number): boolean;
  /** The folder that relative paths are below. */
  readonly cwd: string;
  /** The name of the current user; empty where the system has none. */
  readonly user: string;
  /** Number of the user who runs this; undefined on Windows. */
  readonly userId: number | undefined;
  /** Home folder, absolute; undefined where the system names none. */
  readonly home: string | undefined;
}

export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly clock: Clock;
  readonly random: Random;
  /** Random enough for secrets. */
  randomBytes(count: number): Uint8Array;
  readonly files: Files;
  /** Loads what writes the config, so that no lock is held meanwhile. */
  openConfigWriter(): Promise<ConfigWriter>;
  readonly prompt: Prompt;
  readonly machine: Machine;
  /**
   * Aborts, with a Failure `interrupted` as its reason, on the first INT, TERM or HUP.
   * A command's own aborts at its --deadline too, with a Failure `deadline`.
   */
  readonly signal: AbortSignal;
  /** Calls `listen` on each SIGHUP, which then does not end the program. */
  onHangUp(listen: () => void): void;
  /** Rejects with an error that no code caught, so that it is reported like any other: redacted, as a bug. */
  readonly uncaught: Promise<never>;
  /** Loads the HTTP client. */
  openHttp(): Promise<Http>;
  /** Loads what looks at names, connections and certificates. Each step ends after `timeoutMs`, or with the signal. */
  openNetwork(options: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<Network>;
  /**
   * Runs $VISUAL, $EDITOR or vi on a file, on this terminal, until it ends or the signal aborts.
   * @throws {Failure} `editor`; the signal's reason
   */
  openEditor(path: string, signal: AbortSignal): Promise<void>;
  /** Takes the terminal of stdin and stdout, which must be one. */
  openScreen(events: ScreenEvents): Promise<FullScreen>;
  /**
   * Runs a program without a shell and without stdin; returns what it prints on stdout.
   * @throws {Failure} `key-command`; the signal's reason
   */
  runCommand(words: readonly [string, ...string[]], options: CommandOptions): Promise<string>;
  /**
   * Opens (and creates, mode 0600) a database file. `readOnly`: neither creates nor changes it, not even its journal
   * mode, so that a file of another program may be looked at. `isLock`: only its write lock is used.
   * @throws {DatabaseFailure}
   */
  openDatabase(path: string, how?: { readonly readOnly?: boolean; readonly isLock?: boolean }): Promise<Database>;
  /** Takes an address that parseRedisAddress can read. Connects at the first run. */
  openRedis(url: string): Promise<Redis>;
}

/** Returns why the signal has aborted. */
export function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
}

/** Returns the system's name of an error (`ENOENT`); undefined where it has none. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
