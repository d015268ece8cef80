/**
 * The ports: interfaces for everything the program needs from the machine it runs on.
 * `src/node` has the real implementation; tests bring their own.
 */
import type { FullScreen, Input, Output, Prompt, ScreenEvents } from './terminal.ts';

export type * from './terminal.ts';

/** The reader of the output has gone: `petstore inventory list | head -1`. Counts as success for a read. */
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
  /** Resolves after one turn of the event loop, when events that have already arrived are handled. */
  turn(): Promise<void>;
  /** Calls `ring` once after `ms`. The returned function cancels it. */
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
  /** Returns facts about the entry itself (does not follow a link); undefined if it does not exist. */
  facts(path: string): Promise<FileFacts | undefined>;
  /** Reads a file. Never follows a link in the last component, and never waits for a FIFO. */
  read(path: string): Promise<string>;
  /** Returns the first bytes of a plain file, following links; undefined if the path has no plain file. */
  head(path: string, bytes: number): Promise<Uint8Array | undefined>;
  /**
   * Reads a user's file in pieces, following links. Waits for the writer of a FIFO or pipe until the signal aborts, and
   * then rejects with its reason.
   */
  stream(path: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Opens a file to append lines, and creates it if it is missing; opens it again if a log rotation has replaced it, or a
   * write has failed. A FIFO must have a reader. `onFailure` is called once, with the system's error code.
   */
  append(path: string, onFailure: (code: string) => void): Promise<Appender>;
  /** Creates the folder and its parents. A new folder gets mode 0700. */
  makePrivateFolder(path: string): Promise<void>;
  /** Returns the names of the entries; empty if the folder does not exist. */
  list(folder: string): Promise<string[]>;
  /**
   * Replaces the whole file atomically. Writes to a pipe or device as much as it takes at once; a FIFO must have a
   * reader. `mode`: of a new file, default 0o644.
   */
  replace(path: string, text: string, how?: { readonly mode?: number }): Promise<void>;
  /** Sets the file's times, which needs no disk space. A file system may round them to whole seconds, or ignore them. */
  setTimes(path: string, times: Pick<FileFacts, 'accessedAt' | 'modifiedAt'>): Promise<void>;
  remove(path: string): Promise<void>;
  /** Resolves with true if the file is, or would be, on a network file system, as far as the system tells. */
  isOnNetwork(path: string): Promise<boolean>;
  /** Renames a file. Does nothing if it does not exist. */
  rename(from: string, to: string): Promise<void>;
}

export interface Appender {
  /** Queues the text, and returns at once. */
  write(text: string): void;
  /** Resolves when everything is written, or could not be. */
  close(): Promise<void>;
}

/** How long work may take, and the signal that ends it earlier. */
export interface TimeLimit {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** `timeoutMs` is for connecting. */
export interface HttpTarget extends TimeLimit {
  readonly url: URL;
}

/** `timeoutMs`: longest wait for the response headers, 1xx responses included, and for each further piece of the body. */
export interface HttpRequest extends HttpTarget {
  readonly method: 'GET' | 'PATCH' | 'POST' | 'PUT' | 'DELETE' | 'HEAD' | 'OPTIONS';
  /** Path and query exactly as they are sent; those of `url` are normalised. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface HttpReply {
  readonly status: number;
  /** Lower-case name to values in the order received, a character for each byte. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** The decoded body (gzip, br, deflate). Reading it may throw HttpFailure. */
  readonly body: HttpBody;
}

/** A list if the whole body has already arrived. */
export type HttpBody = AsyncIterable<Uint8Array> | readonly Uint8Array[];

export function isWhole(body: HttpBody): body is readonly Uint8Array[] {
  return Array.isArray(body);
}

/** Where a request failed. In the first group it is certain that nothing was sent, unless a proxy forwards requests. */
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
  /** False only if it is certain that the service got no byte of the request. */
  readonly mayHaveBeenSent: boolean;
  /** `host:port` of the peer that failed: the service's, or the proxy's. */
  readonly peer: string;
  /** The system's or library's code, e.g. `ECONNREFUSED`, `CERT_HAS_EXPIRED`. */
  readonly code: string;
  /** Description without secrets, for --verbose. */
  readonly detail: string;
}

/** Code for a proxy variable with an unusable value; `detail` is the whole sentence. */
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

/**
 * `asking`: waiting for another request's response. `ledger-lost`: the Redis server that machines share does not
 * work. `paced`: the service sends no limit headers, so requests are spaced.
 */
export type WaitReason = 'rate-limited' | 'banned' | 'paused' | 'window-spent' | 'asking' | 'paced' | 'ledger-lost';

/** What is left of a rate limit. */
export interface RateLimit {
  readonly limit: number;
  readonly remaining: number;
  /** Epoch ms. */
  readonly resetAt: number;
}

/**
 * A wait: for the rate limit, after a failed attempt (`backoff`; `look` if the stock is read next), for another process
 * (`locked`), or for a slow answer. Times: epoch ms.
 */
export interface Wait {
  readonly why: WaitReason | 'backoff' | 'look' | 'locked' | 'answer';
  readonly until: number;
  /** The attempt that follows the wait, from 1, and how many there are at most. */
  readonly attempt: number;
  /** Absent if the time is limited (--retry-for), not the number. */
  readonly attempts?: number;
  /** For `backoff` and `look` with --retry-for. */
  readonly giveUpAt?: number;
  /** For `backoff` and `look`: what failed. */
  readonly status?: number;
  readonly failure?: HttpFailureFacts;
  /** For `locked`: who has the lock, such as `another petstore process that changes pet 7`; for `answer`: the host. */
  readonly holder?: string;
}

/** One connection pool for the whole command. */
export interface Http {
  /**
   * Resolves with a connection that can take a request at once: an idle one if there is one, else a new one (DNS, TCP,
   * TLS, a proxy's CONNECT) within `timeoutMs`. The caller limits the number of connections.
   * @throws {HttpFailure} mayHaveBeenSent is false
   */
  connect(target: HttpTarget): Promise<Connection>;
  close(): Promise<void>;
}

/** A connection for one request. Sending the request or `release` hands it back. */
export interface Connection {
  /** False once the peer has closed it. */
  readonly isOpen: boolean;
  /**
   * Sends one request, without retries or redirects. Calls `maySend` synchronously just before the first byte: if it
   * returns false, nothing is written and the failure's phase is `withdrawn`.
   * @throws {HttpFailure}
   */
  send(request: HttpRequest, maySend: () => boolean): Promise<HttpReply>;
  /** Returns an unused connection to the pool. */
  release(): void;
}

export type DnsType = 'A' | 'AAAA' | 'CAA' | 'CNAME' | 'SOA';

/**
 * Returns the values of the records; empty if there are none of this type, or the name does not exist. Names are without
 * a final dot. SOA: the primary server. CAA: tag and value of each property (RFC 8659, 4.1), as in `issue ca.example`.
 * @throws {NetworkFailure}
 */
export type DnsResolver = (type: DnsType, name: string) => Promise<readonly string[]>;

/** The target of a connection. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  /** The name or address that the certificate must cover. */
  readonly name: string;
}

export interface Encrypted {
  readonly protocol: string;
  /** Why the certificate is not trusted: a code of OpenSSL or Node; undefined if it is. */
  readonly problem?: string;
  /** Common names from the certificate to the root, as far as they were sent or are known. */
  readonly chain: readonly string[];
  /** Names in the certificate, as it has them: `DNS:a.example, IP Address:192.0.2.7`. */
  readonly names: string;
  /** Epoch ms. */
  readonly validFrom: number;
  readonly validTo: number;
}

/** How a URL is reached according to the proxy variables. */
export type ProxyRoute =
  | { readonly kind: 'direct' }
  | { readonly kind: 'proxy'; readonly proxy: URL; readonly variable: string }
  /** `problem` completes a sentence that begins with the variable's name; it holds no credentials. */
  | { readonly kind: 'unusable'; readonly variable: string; readonly problem: string };

/** Checks of the network for `doctor`, without retries. */
export interface Network {
  /** Returns the proxy that requests to the URL use. */
  proxyFor(url: URL): ProxyRoute;
  /** Resolves a name as this machine does, including its hosts file. @throws {NetworkFailure} */
  lookup(host: string): Promise<readonly string[]>;
  /** Returns a resolver for the system's DNS server, or the one at `host[:port]`. */
  resolver(server?: string): DnsResolver;
  /** Connects over TCP, and disconnects. @throws {NetworkFailure} */
  connect(peer: Peer): Promise<void>;
  /** Connects over TLS, verifying the certificate, and disconnects. @throws {NetworkFailure} */
  handshake(peer: Peer): Promise<Encrypted>;
  /** Sends GET / over TLS without a key, and returns the answer. @throws {NetworkFailure} */
  ask(peer: Peer): Promise<{ readonly status: number; readonly location: string | undefined }>;
}

/** A name cannot be resolved, or a peer cannot be reached. */
export class NetworkFailure extends Error {
  override name = 'NetworkFailure';
  /** `ECONNREFUSED`, `ETIMEDOUT`, and the codes of node:dns and node:tls. */
  readonly code: string;
  constructor(code: string, cause?: unknown) {
    super(code, { cause });
    this.code = code;
  }
}

export type SqlValue = null | number | bigint | string | Uint8Array;
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** One SQLite connection, for `using`. Integers are returned as bigint. Every method may throw DatabaseFailure. */
export interface Database extends Disposable {
  exec(sql: string): void;
  run(sql: string, ...params: SqlValue[]): { readonly changes: bigint };
  all(sql: string, ...params: SqlValue[]): SqlRow[];
  get(sql: string, ...params: SqlValue[]): SqlRow | undefined;
  /** False once the file at its path is a different one, or is gone. */
  isInPlace(): boolean;
  close(): void;
}

export type DatabaseProblem = 'held' | 'damaged' | 'readonly' | 'full' | 'unusable';

export class DatabaseFailure extends Error {
  override name = 'DatabaseFailure';
  readonly problem: DatabaseProblem;
  constructor(problem: DatabaseProblem, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.problem = problem;
  }
}

/** A Redis server. With Sentinel or Cluster, whichever server is responsible at the time. */
export interface Redis {
  /**
   * Runs a Lua script as one atomic step, by its hash if the server knows it. Connects first if needed. Does not retry:
   * the next run replaces a failed connection. `timeoutMs` is for connecting and running together, at most 2000 (the
   * default).
   * @throws {RedisFailure} and the signal's reason
   */
  run(script: string, key: string, args: readonly string[], limits?: Partial<TimeLimit>): Promise<string>;
  /** When the last connection ended, on the monotonic clock: since then, the server may have been emptied. */
  readonly lostAt?: number;
  close(): void;
}

/** The server cannot be reached, does not answer in time, or refuses. */
export class RedisFailure extends Error {
  override name = 'RedisFailure';
  /** `settings`: the address, credentials, rights or a certificate are wrong, so that waiting does not help. */
  readonly kind: 'lost' | 'settings';
  /** The message is the code of the connection's failure, or what the server says. */
  constructor(cause: unknown, kind: 'lost' | 'settings' = 'lost') {
    super(errorCode(cause) ?? (cause instanceof Error ? cause.message : String(cause)), { cause });
    this.kind = kind;
  }
}

export interface CommandOptions {
  /** Text for its stdin. Its stdout is then not read. */
  readonly input?: string;
  /** After this time it is killed. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called with each line of its stderr. */
  onLine(line: string): void;
  /** Returns the error to throw. `isLocal`: true if it could not be started. */
  fail(problem: string, isLocal: boolean): Error;
}

export interface Machine {
  readonly platform: string;
  /** What runs the program: Bun in the standalone executable, Node elsewhere. */
  readonly runtime: { readonly name: 'Node' | 'Bun'; readonly version: string };
  readonly pid: number;
  /** Identifies the boot: the same for all processes since the machine started. Empty if the system has no such id. */
  readonly bootId: string;
  /** Identifies the machine and PID namespace in which `pid` is unique. */
  readonly processSpace: string;
  /** True if a process with this number runs on this machine, or if that is unknown. */
  isAlive(pid: number): boolean;
  readonly cwd: string;
  /** Name of the current user; the number if the system has no name for it. */
  readonly user: string;
  /** Number of the current user; undefined on Windows. */
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
  readonly prompt: Prompt;
  readonly machine: Machine;
  /**
   * Aborts on the first INT, TERM or HUP, with a Failure `interrupted` as the reason. A command's own signal also
   * aborts at its --deadline, with a Failure `deadline`.
   */
  readonly signal: AbortSignal;
  /** Calls `listen` on each SIGHUP, which then no longer ends the program. */
  onHangUp(listen: () => void): void;
  /** Rejects with an uncaught error, so that it is redacted and reported as a bug. */
  readonly uncaught: Promise<never>;
  /** Loads the HTTP client. */
  openHttp(): Promise<Http>;
  /** Loads the checks of the network. Each step ends after `timeoutMs`, or with the signal. */
  openNetwork(limits: TimeLimit): Promise<Network>;
  /**
   * Runs $VISUAL, $EDITOR or vi on a file, on this terminal, until it ends or the signal aborts.
   * @throws {Failure} `editor`; the signal's reason
   */
  openEditor(path: string, signal: AbortSignal): Promise<void>;
  /** Takes over the terminal; stdin and stdout must both be one. */
  openScreen(events: ScreenEvents): Promise<FullScreen>;
  /**
   * Runs a program without a shell and without petstore's stdin; returns what it prints on stdout.
   * @throws what `fail` returns; {Failure} `interrupted`: Ctrl-C ended the program; the signal's reason
   */
  runCommand(words: readonly [string, ...string[]], options: CommandOptions): Promise<string>;
  /**
   * Opens (and creates, mode 0600) a database file. `readOnly`: neither creates nor changes it, not even its journal
   * mode, so that another program's file can be read. `isLock`: only its write lock is used.
   * @throws {DatabaseFailure}
   */
  openDatabase(path: string, how?: { readonly readOnly?: boolean; readonly isLock?: boolean }): Promise<Database>;
  /** Opens a Redis server at an address that parseRedisAddress accepts. Connects at the first run. */
  openRedis(url: string): Promise<Redis>;
}

/** A name of this machine (RFC 6761, 6.3). */
const LOCALHOST = /^(.*\.)?localhost\.?$/i;
const LOOPBACK = /^(127(\.\d+){3}|\[?(::1|::ffff:(127(\.\d+){3}|7f[\da-f]{2}:[\da-f]{1,4}))\]?)$/i;

/** True for a name or address of this machine, in a URL or of a socket. */
export function isLoopback(host: string): boolean {
  return LOCALHOST.test(host) || LOOPBACK.test(host);
}

/** Returns the name or address for the system, which may ask a DNS server for any name of this machine but `localhost`. */
export function systemHost(host: string): string {
  return LOCALHOST.test(host) ? 'localhost' : host.replace(/^\[(.+)\]$/, '$1');
}

export function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
}

/** Returns the system's code of an error, such as `ENOENT`; undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
