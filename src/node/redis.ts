/**
 * The Redis port over @redis/client: one attempt, with a timeout. The library's own clients for Sentinel and Cluster
 * retry in the background forever. So each server gets a plain client, and this file asks the Sentinels and follows a
 * cluster's redirections itself.
 */
import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { createClient } from '@redis/client';
import { errorCode, type Redis, RedisFailure } from '../ports.ts';
import { parseRedisAddress, type RedisAddress, type RedisPlace } from '../redis-address.ts';
import { inTime } from '../stop.ts';
import { nodeClock } from './clock.ts';
import { CERTIFICATE } from './http-failure.ts';

const PATIENCE_MS = 2_000;
/** A run follows this many redirections of a cluster. */
const MOST_REDIRECTIONS = 5;

/** Errors that last until someone changes the address, a password, a permission or a certificate. */
const SETTINGS = [
  /\b(WRONGPASS|NOAUTH|NOPERM|DENIED)\b/,
  /^ERR (unknown command|invalid password|AUTH|Client sent AUTH|(invalid )?DB index|SELECT)/,
  // A command that the script may not run, in Redis 7.0 and later.
  /user executing the script can't|ACL failure/,
  // A socket.
  /^EACCES$/,
  CERTIFICATE,
];
/** Lasts too if the address names one server, unless that has worked before: then it was demoted or replaced. */
const OTHER_SERVER = /\bREADONLY\b|^Unknown RESP type/;
/** How a server reacts that expects TLS or a client certificate and gets none. */
const HANGS_UP = /^(ECONNRESET|EPIPE|Socket closed unexpectedly)$/;
const REDIRECTION = /^(MOVED|ASK) [0-9]+ (.*):([0-9]+)/;

type Socket = NonNullable<NonNullable<Parameters<typeof createClient>[0]>['socket']>;
type Client = ReturnType<typeof newClient>;
type Command = readonly [script: string, key: string, args: readonly string[]];

export function openRedis(url: string): Redis {
  const address = parseRedisAddress(url);
  if (address === undefined) throw new RedisFailure('the address cannot be read', 'settings');
  /** In the order in which to try them. */
  const places = [...address.places];
  let current: Link | undefined;
  let hasRun = false;
  let lostAt = Number.NEGATIVE_INFINITY;
  /** Makes the next run reconnect. Runs that wait for this link keep waiting. */
  const retire = (link: Link): void => {
    if (link === current) {
      current = undefined;
      lostAt = nodeClock.monotonic();
      rotate(places);
    }
    if (link.runs === 0) link.end();
  };
  return {
    async run(script, key, args, { signal, timeoutMs: wanted = PATIENCE_MS } = {}) {
      signal?.throwIfAborted();
      const timeoutMs = Math.min(PATIENCE_MS, wanted);
      const link = (current ??= new Link(address, places, retire));
      link.runs++;
      let isOver = false;
      try {
        const command: Command = [script, address.prefix + key, args];
        const late = (): Error => noAnswer(timeoutMs, address.isTls && !link.isOpen ? 'TLS connection' : 'answer');
        const work = link.run(command, () => isOver);
        const reply = await inTime({ clock: nodeClock, timeoutMs, signal }, late, work);
        if (typeof reply !== 'string') throw new RedisFailure('the answer is not text');
        hasRun = true;
        return reply;
      } catch (error) {
        const failure = signal?.aborted === true ? error : toFailure(link.broken ?? error, address, hasRun);
        retire(link);
        throw failure;
      } finally {
        isOver = true;
        link.runs--;
        if (link !== current) retire(link);
      }
    },
    get lostAt() {
      return lostAt;
    },
    close() {
      current?.end();
      current = undefined;
    },
  };
}

function toFailure(error: unknown, { kind, isTls, password }: RedisAddress, hasRun: boolean): RedisFailure {
  if (error instanceof RedisFailure) return error;
  const words = errorCode(error) ?? messageOf(error);
  // A node of a cluster may have answered for another key.
  const isOther = kind === 'server' && (/^MOVED /.test(words) || (!hasRun && OTHER_SERVER.test(words)));
  const isSettings = isOther || SETTINGS.some((each) => each.test(words));
  // A server without AUTH repeats the password; one that rejects a script adds its hash and line; others add advice.
  const shown = (password === '' ? words : words.replaceAll(password, '…'))
    .replace(/^Unknown RESP.*/s, 'what answers is not a Redis server')
    .split(/, with args| script: |\.? *$|\. |\n/)[0]!
    .slice(0, 200);
  const wanted = isTls ? 'a client certificate' : 'TLS (rediss://)';
  const guess = hasRun || !HANGS_UP.test(words) ? '' : ` before any answer: the server may require ${wanted}`;
  return new RedisFailure(shown + guess, isSettings ? 'settings' : 'lost');
}

/** The connections of one attempt: the server, or several nodes of a cluster. They all end together. */
class Link {
  /** Number of runs that wait for it. */
  runs = 0;
  isOpen = false;
  /** The error that ended it. */
  broken: unknown;
  readonly #address: RedisAddress;
  readonly #retire: (link: Link) => void;
  readonly #over = new AbortController();
  readonly #nodes = new Map<string, Promise<Client>>();
  /** The node that was last redirected to: all names of one API key are on one node. */
  #home: Promise<Client>;

  constructor(address: RedisAddress, places: RedisPlace[], retire: (link: Link) => void) {
    this.#address = address;
    this.#retire = retire;
    setMaxListeners(0, this.#over.signal);
    // A run with a shorter timeout must not end the attempt for others.
    this.#home = this.#reach(places, PATIENCE_MS / places.length);
  }

  end(): void {
    this.#over.abort();
  }

  /** Connects to the first place that leads to a server. Moves the others to the end. */
  async #reach(places: RedisPlace[], timeoutMs: number): Promise<Client> {
    const { signal } = this.#over;
    for (let left = places.length - 1; ; left--) {
      const [place] = places as [RedisPlace];
      try {
        const late = (): Error => noAnswer(timeoutMs, this.#address.isTls ? 'TLS connection' : 'answer');
        const connected = this.#address.kind === 'sentinel' ? this.#master(place) : this.#node(place);
        const client = await inTime({ clock: nodeClock, timeoutMs, signal }, late, connected);
        this.isOpen = true;
        return client;
      } catch (error) {
        if (left === 0 || signal.aborted || toFailure(error, this.#address, true).kind === 'settings') throw error;
        rotate(places);
      }
    }
  }

  /** Asks a Sentinel for the master. It may require the same password, or none and reject any. */
  async #master(place: RedisPlace): Promise<Client> {
    const { master, username, password } = this.#address;
    const retire = (): void => {
      this.#retire(this);
    };
    const sentinel = await this.#connect(place, { username: '', password: '', database: 0 }, retire);
    const ask = () => sentinel.sendCommand<unknown>(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master]);
    const found = await ask().catch(async (error: unknown) => {
      if (password === '' || !messageOf(error).startsWith('NOAUTH')) throw error;
      await sentinel.sendCommand(['AUTH', ...(username === '' ? [] : [username]), password]);
      return ask();
    });
    if (found === null) throw new RedisFailure(`the Sentinel knows no master ${master}`, 'settings');
    if (!Array.isArray(found)) throw new RedisFailure('the answer of the Sentinel cannot be read');
    // The old master accepts writes for ten more seconds, and then loses them. Subscribing may not be permitted.
    const onSwitch = (message: string): void => {
      if (message.startsWith(`${master} `)) retire();
    };
    sentinel.subscribe('+switch-master', onSwitch).catch(() => undefined);
    return this.#node({ host: String(found[0]), port: Number(found[1]) });
  }

  #node(place: RedisPlace): Promise<Client> {
    const name = JSON.stringify(place);
    const onBroken = (error: unknown): void => {
      this.broken ??= error;
      this.#retire(this);
      this.end();
    };
    const node = this.#nodes.get(name) ?? this.#connect(place, this.#address, onBroken);
    this.#nodes.set(name, node);
    return node;
  }

  /** @param onBroken is called when the connection breaks after it was made */
  async #connect(place: RedisPlace, login: Login, onBroken: (error: unknown) => void): Promise<Client> {
    const { signal } = this.#over;
    const { isTls, files } = this.#address;
    // An address cannot be a server name (RFC 6066, 3); Node then compares the certificate with `host`.
    const servername = 'host' in place && isIP(place.host) === 0 ? place.host : '';
    const secure = isTls && { tls: true as const, servername, rejectUnauthorized: true, ...(await contents(files)) };
    signal.throwIfAborted();
    const client = newClient({ ...place, ...secure, signal, reconnectStrategy: false }, login);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    // An answer that violates the protocol emits an error without closing the connection.
    client.on('error', reject);
    client.connect().then(resolve, reject);
    try {
      await promise;
    } catch (error) {
      client.destroy();
      throw error;
    }
    client.on('error', onBroken);
    client.unref();
    return client;
  }

  /** @param isOver true once no run waits for the answer; then nothing is sent */
  async run(command: Command, isOver: () => boolean): Promise<unknown> {
    let client = await this.#home;
    let isAsking = false;
    for (let left = MOST_REDIRECTIONS; !isOver(); left--) {
      try {
        return await evaluate(client, command, isAsking);
      } catch (error) {
        const redirection = REDIRECTION.exec(messageOf(error));
        if (redirection === null || this.#address.kind !== 'cluster' || left === 0) throw error;
        const [, word, host, port] = redirection;
        const node = this.#node({ host: host === '' ? hostOf(client) : String(host), port: Number(port) });
        isAsking = word === 'ASK';
        if (!isAsking) this.#home = node;
        client = await node;
      }
    }
    return undefined;
  }
}

/** @param isAsking the key is being moved to this node (Redis Cluster Specification, "ASK redirection") */
async function evaluate(client: Client, [script, key, args]: Command, isAsking: boolean): Promise<unknown> {
  const send = async (name: string, text: string): Promise<unknown> => {
    const asking = isAsking ? client.sendCommand(['ASKING']) : undefined;
    const [reply] = await Promise.all([client.sendCommand<unknown>([name, text, '1', key, ...args]), asking]);
    return reply;
  };
  try {
    return await send('EVALSHA', createHash('sha1').update(script).digest('hex'));
  } catch (error) {
    if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
    return send('EVAL', script);
  }
}

type Login = Pick<RedisAddress, 'username' | 'password' | 'database'>;

function newClient(socket: Socket, { username, password, database }: Login) {
  return createClient({
    // The older protocol: proxies support it too, and it allows a login without a user name.
    RESP: 2,
    ...(username !== '' && { username }),
    password,
    database,
    socket,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandOptions: { timeout: 0 },
  });
}

/** @throws {RedisFailure} */
async function contents(files: RedisAddress['files']): Promise<Record<string, string>> {
  const read = async ([option, path]: [string, string]): Promise<[string, string]> => {
    try {
      return [option, await readFile(path, 'utf8')];
    } catch (error) {
      throw new RedisFailure(`${path} cannot be read: ${errorCode(error) ?? messageOf(error)}`, 'settings');
    }
  };
  return Object.fromEntries(await Promise.all(Object.entries(files).map(read)));
}

/** Returns the host of a client's node: a redirection without a host means the same one. */
function hostOf({ options: { socket } }: Client): string {
  return socket !== undefined && 'host' in socket ? String(socket.host) : '';
}

function noAnswer(timeoutMs: number, what: 'answer' | 'TLS connection'): RedisFailure {
  return new RedisFailure(`no ${what} within ${Math.round(timeoutMs)} ms`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function rotate(list: unknown[]): void {
  list.push(...list.splice(0, 1));
}
