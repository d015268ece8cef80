/**
 * The ports: interfaces for everything the program needs from the machine it runs on.
 * `src/node` has the real implementation; tests bring their own.
 */
import type { FullScreen, Input, Output, Prompt, ScreenEvents } from './terminal.ts';

export type * from './terminal.ts';

/** The reader of an output closed it, as in `petstore inventory list | head -1`. A read then still succeeds. */
export class OutputClosed extends Error {
  override name = 'OutputClosed';
}

/** Clocks and timers. All values are in ms. */
export interface Clock {
  /** Wall clock: milliseconds since the Unix epoch. May jump. */
  now(): number;
  /** Monotonic clock of this boot. Never goes back. */
  monotonic(): number;
  /** Rejects with `signal.reason` once the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves after one round of the event loop, when everything that had already arrived is handled. */
  turn(): Promise<void>;
  /** Calls `ring` once after `ms`. Calling the returned function first cancels it. */
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
  /** User id of the owner; 0 on Windows. */
  readonly owner: number;
  /** Epoch ms. */
  readonly accessedAt: number;
  /** Epoch ms. */
  readonly modifiedAt: number;
}

/** Every method rejects with a Node system error (`code` such as `EACCES`) when the system refuses. */
export interface Files {
  /** Returns facts about the entry itself (without following a link); undefined if it does not exist. */
  facts(path: string): Promise<FileFacts | undefined>;
  /** Reads a file. Never follows a link in the last component and never waits on a FIFO. */
  read(path: string): Promise<string>;
  /** Returns the first bytes of a plain file, following a link; undefined if it does not exist. */
  head(path: string, bytes: number): Promise<Uint8Array | undefined>;
  /** Truncates a plain file to 0 bytes in place, so that a lock on it remains. Follows no link. */
  empty(path: string): Promise<void>;
  /**
   * Streams a file of the user, following links. Waits for the writer of a FIFO or pipe until the signal aborts; the
   * stream then throws its reason.
   */
  stream(path: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Opens a file to append to, and creates it if it is missing. A FIFO must have a reader.
   * Calls `onFailure` at most once, with the system's error code.
   */
  append(path: string, onFailure: (code: string) => void): Promise<Appender>;
  /** Creates the folder and its parents. The folder itself gets mode 0700 if it is new. */
  makePrivateFolder(path: string): Promise<void>;
  /** Returns the names of the entries; empty if the folder does not exist. */
  list(folder: string): Promise<string[]>;
  /**
   * Replaces a file atomically: readers see the old or the new content. Writes to a pipe or device without waiting; a
   * FIFO must have a reader. `mode`: mode of a new file, default 0o644.
   */
  replace(path: string, text: string, how?: { readonly mode?: number }): Promise<void>;
  /** Sets a file's times, which needs no disk space. A file system may truncate them to seconds, or ignore them. */
  setTimes(path: string, times: Pick<FileFacts, 'accessedAt' | 'modifiedAt'>): Promise<void>;
  remove(path: string): Promise<void>;
  /** True if the file is, or would be, on a network file system, as far as the system can tell. */
  isOnNetwork(path: string): Promise<boolean>;
  /** Renames a file; does nothing if it does not exist. */
  rename(from: string, to: string): Promise<void>;
}

export interface Appender {
  /** Queues the text and returns at once. */
  write(text: string): void;
  /** Resolves when everything is written or has failed. */
  close(): Promise<void>;
}

export interface HttpRequest {
  readonly method: 'GET' | 'PATCH' | 'POST' | 'PUT' | 'DELETE' | 'HEAD' | 'OPTIONS';
  readonly url: URL;
  /** Path and query exactly as they are sent. Default: those of `url`, which are normalised. */
  readonly target?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** In place of `body`: the bytes of another client, unchanged. */
  readonly bytes?: Uint8Array;
  /** Longest wait for the response headers, 1xx responses included, and for each further piece of the body. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface HttpReply {
  readonly status: number;
  /** Lower-case name to values in the order received, a character for each byte. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** The decoded body (gzip, br, deflate). Reading it may throw HttpFailure. */
  readonly body: HttpBody;
}

/** An array if the whole body has arrived. */
export type HttpBody = AsyncIterable<Uint8Array> | readonly Uint8Array[];

/** True if the whole body has arrived. */
export function isWhole(body: HttpBody): body is readonly Uint8Array[] {
  return Array.isArray(body);
}

/** Where a request failed. In the first group it is certain that nothing was sent. */
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
  /** False only if it is certain that no byte of the request was sent. */
  readonly mayHaveBeenSent: boolean;
  /** `host:port` of the peer that failed: the service's, or the proxy's. */
  readonly peer: string;
  /** The system's or library's code, e.g. `ECONNREFUSED`, `CERT_HAS_EXPIRED`. */
  readonly code: string;
  /** Description without secrets, for --verbose. */
  readonly detail: string;
}

/** Code for a proxy variable with an unusable value; `detail` is then a full sentence. */
export const INVALID_PROXY = 'INVALID_PROXY';

export class HttpFailure extends Error {
  override name = 'HttpFailure';
  readonly facts: HttpFailureFacts;
  constructor(facts: HttpFailureFacts, cause?: unknown) {
    super(`${facts.phase}: ${facts.code}`, { cause });
    this.facts = facts;
  }
  /** Creates the failure for permission that was refused once the connection was ready. */
  static withdrawn(peer: string): HttpFailure {
    const detail = 'permission to send was refused';
    return new HttpFailure({ phase: 'withdrawn', mayHaveBeenSent: false, peer, code: 'WITHDRAWN', detail });
  }
}

/** One connection pool for the whole command. */
export interface Http {
  /**
   * Resolves with a connection that can send one request at once: an idle one, or else a new one (DNS, TCP, TLS, a
   * proxy's CONNECT), all within `timeoutMs`. The caller limits the number of connections.
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

/** The caller either sends one request or releases the connection; both return it to the pool. */
export interface Connection {
  /** False once the peer has closed it. */
  readonly isOpen: boolean;
  /**
   * Sends one request, without retries or redirects. Calls `maySend` synchronously, immediately before the first byte
   * is written; if it returns false, nothing is written and the phase of the failure is `withdrawn`.
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
   * Returns the records' values, names without a final dot (for SOA the primary server); empty if there are none.
   * @throws {NetworkFailure} `ENOTFOUND` if the name does not exist
   */
  records(type: DnsType, name: string): Promise<readonly string[]>;
  /** @throws {NetworkFailure} */
  authorities(name: string): Promise<readonly CaaProperty[]>;
}

/** Where a connection goes, and the name it expects there. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  /** The name or address that the certificate must cover. */
  readonly name: string;
}

export interface Encrypted {
  readonly protocol: string;
  /** Why the certificate cannot be trusted: a code of OpenSSL or Node; undefined if it can. */
  readonly problem?: string;
  /** Common names, from the certificate itself to the root, as far as they were sent or are known. */
  readonly chain: readonly string[];
  /** The names that the certificate covers, as written in it: `DNS:a.example, IP Address:192.0.2.7`. */
  readonly names: string;
  /** Epoch ms. */
  readonly validFrom: number;
  readonly validTo: number;
}

/** How to reach a URL according to the proxy variables of the environment. */
export type ProxyRoute =
  | { readonly kind: 'direct' }
  | { readonly kind: 'proxy'; readonly proxy: URL; readonly variable: string }
  /** `problem` completes a sentence that begins with the variable's name; it holds no credentials. */
  | { readonly kind: 'unusable'; readonly variable: string; readonly problem: string };

/** Probes of the network itself, for `doctor`. Nothing is retried. */
export interface Network {
  /** Returns the route that requests to the URL take. */
  proxyFor(url: URL): ProxyRoute;
  /** Resolves a name as this machine does, with its hosts file. @throws {NetworkFailure} */
  lookup(host: string): Promise<readonly string[]>;
  /** Uses the system's DNS servers, or the one at `host[:port]`. */
  resolver(server?: string): DnsResolver;
  /** Connects over TCP and disconnects. @throws {NetworkFailure} */
  connect(peer: Peer): Promise<void>;
  /** Connects over TLS, verifying the certificate, and disconnects. @throws {NetworkFailure} */
  handshake(peer: Peer): Promise<Encrypted>;
  /** Sends GET / over TLS, without a key, and returns the answer. @throws {NetworkFailure} */
  ask(peer: Peer): Promise<{ readonly status: number; readonly location?: string }>;
}

/** A name that cannot be resolved, a peer that cannot be reached. */
export class NetworkFailure extends Error {
  override name = 'NetworkFailure';
  /** `ECONNREFUSED`, `ETIMEDOUT`, or a code of node:dns or node:tls. */
  readonly code: string;
  constructor(code: string, cause?: unknown) {
    super(code, { cause });
    this.code = code;
  }
}

export type SqlValue = null | number | bigint | string | Uint8Array;
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** One SQLite connection; `using` closes it. Integers come back as bigint. Every method may throw DatabaseFailure. */
export interface Database extends Disposable {
  exec(sql: string): void;
  run(sql: string, ...params: SqlValue[]): { readonly changes: bigint };
  all(sql: string, ...params: SqlValue[]): SqlRow[];
  get(sql: string, ...params: SqlValue[]): SqlRow | undefined;
  /** False once the file at this path has been replaced or removed. */
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

/** A Redis server; with Sentinel or a cluster, the one that is in charge at the moment. */
export interface Redis {
  /**
   * Runs a Lua script atomically: by its hash, or in full if the server does not know it yet. Connects first if needed.
   * The next run replaces a connection that failed; nothing is retried. `timeoutMs` covers connecting and running
   * together, 2000 by default and at most.
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
  /** `settings`: the address, credentials, permissions or a certificate are wrong, so waiting does not help. */
  readonly kind: 'lost' | 'settings';
  /** The message is the error code of the connection, or the server's own error text. */
  constructor(cause: unknown, kind: 'lost' | 'settings' = 'lost') {
    super(errorCode(cause) ?? (cause instanceof Error ? cause.message : String(cause)), { cause });
    this.kind = kind;
  }
}

/** Replaces a config file atomically, with mode 0600. */
export type ConfigWriter = (folder: string, content: Readonly<Record<string, unknown>>) => void;

export interface CommandOptions {
  /** Text for its stdin; its stdout is then not read. */
  readonly input?: string;
  /** Kills it after this time. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Receives each line of its stderr. */
  onLine(line: string): void;
  /** Returns the error to throw. `isLocal`: the program could not be started. */
  fail(problem: string, isLocal: boolean): Error;
}

export interface Machine {
  readonly platform: string;
  /** What runs the program: Bun in the standalone executable, Node elsewhere. */
  readonly runtime: { readonly name: 'Node' | 'Bun'; readonly version: string };
  readonly pid: number;
  /** Identifies the current boot of the machine: all its processes see the same id. Empty if the system has none. */
  readonly bootId: string;
  /** Identifies the machine and PID namespace in which `pid` is unique. */
  readonly processSpace: string;
  /** True if a process with this id runs on this machine, or if that is unknown. */
  isAlive(pid: number): boolean;
  /** Base folder of relative paths. */
  readonly cwd: string;
  /** Name of the current user; empty if the system has none. */
  readonly user: string;
  /** Id of the current user; undefined on Windows. */
  readonly userId: number | undefined;
  /** Absolute path of the home folder; undefined if there is none. */
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
  /** Returns cryptographically secure bytes. */
  randomBytes(count: number): Uint8Array;
  readonly files: Files;
  /** Loads the config writer in advance, so that no lock is held while it loads. */
  openConfigWriter(): Promise<ConfigWriter>;
  readonly prompt: Prompt;
  readonly machine: Machine;
  /**
   * Aborts on the first INT, TERM or HUP, with a Failure `interrupted` as its reason.
   * The signal that a command gets also aborts at its --deadline, with a Failure `deadline`.
   */
  readonly signal: AbortSignal;
  /** Calls `listen` on each SIGHUP, which then does not end the program. */
  onHangUp(listen: () => void): void;
  /** Rejects with an uncaught error, so that it is reported like any other: redacted, as a bug. */
  readonly uncaught: Promise<never>;
  /** Loads the HTTP client. */
  openHttp(): Promise<Http>;
  /** Loads the probes of names, connections and certificates. Each ends after `timeoutMs`, or with the signal. */
  openNetwork(options: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<Network>;
  /**
   * Runs $VISUAL, $EDITOR or vi on a file, on this terminal, until it ends or the signal aborts.
   * @throws {Failure} `editor`; the signal's reason
   */
  openEditor(path: string, signal: AbortSignal): Promise<void>;
  /** Takes over the terminal; stdin and stdout must both be one. */
  openScreen(events: ScreenEvents): Promise<FullScreen>;
  /**
   * Runs a program without a shell and without stdin; returns what it prints on stdout.
   * @throws {Failure} `key-command`; the signal's reason
   */
  runCommand(words: readonly [string, ...string[]], options: CommandOptions): Promise<string>;
  /**
   * Opens a database file, and creates it with mode 0600 if it is missing. `readOnly`: neither creates nor changes it,
   * not even its journal mode, which is safe for another program's file. `isLock`: only its write lock is used.
   * @throws {DatabaseFailure}
   */
  openDatabase(path: string, how?: { readonly readOnly?: boolean; readonly isLock?: boolean }): Promise<Database>;
  /** Returns a client for an address that parseRedisAddress accepts. It connects at the first run. */
  openRedis(url: string): Promise<Redis>;
}

/** Returns the signal's abort reason as an error. */
export function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
}

/** Returns the system's code of an error, such as `ENOENT`; undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
