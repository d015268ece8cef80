/** Parses the addresses of Redis and Valkey servers. */

export type RedisPlace = { readonly host: string; readonly port: number } | { readonly path: string };

export interface RedisAddress {
  /** One server, the Sentinels that know which server is the master, or some nodes of a cluster. */
  readonly kind: 'server' | 'sentinel' | 'cluster';
  readonly isTls: boolean;
  /** At least one. */
  readonly places: readonly RedisPlace[];
  readonly username: string;
  readonly password: string;
  /** Name of the master for the Sentinels; empty for the other kinds. */
  readonly master: string;
  readonly database: number;
  /** Prefix of each key. */
  readonly prefix: string;
  /** PEM files: the client's certificate and its key, and the only authority to trust. */
  readonly files: Readonly<Partial<Record<'cert' | 'key' | 'ca', string>>>;
}

/** What an address must be, for messages. */
export const REDIS_FORMS =
  'the address of a Redis server: redis://[user:password@]host[:port][/database], unix:///path/to.sock, ' +
  'redis+sentinel://host,host/master or redis+cluster://host,host (rediss in place of redis: TLS)';

const SHAPE = /^(?<scheme>[a-z+]+):\/\/(?<user>[^/?#]*@)?(?<hosts>[^/?#@]*)(?<path>[^?#]*)(?:\?(?<query>[^#]*))?$/;
const SCHEME = /^(?:(?:redis|valkey)(?<tls>s?)(?:\+(?<many>sentinel|cluster))?|(?<unix>unix))$/;
const PATHS = {
  server: /^\/?(?<database>[0-9]{0,9})$/,
  sentinel: /^\/(?<master>[^/]+)\/?(?<database>[0-9]{0,9})$/,
  cluster: /^\/?0?$/,
  unix: /^(?<socket>\/.+)$/,
} as const;

/** Parses an address; undefined for anything else, or if an option is unknown. */
export function parseRedisAddress(text: string): RedisAddress | undefined {
  try {
    return read(text);
  } catch {
    // An invalid URL or a malformed %-escape.
    return undefined;
  }
}

function read(text: string): RedisAddress | undefined {
  const { scheme = '', user = '', hosts = '', path = '', query } = SHAPE.exec(text)?.groups ?? {};
  const { tls, many, unix } = SCHEME.exec(scheme)?.groups ?? {};
  const isUnix = unix !== undefined;
  const kind = (many ?? 'server') as RedisAddress['kind'];
  const found = PATHS[isUnix ? 'unix' : kind].exec(path);
  // A plus is itself, as in a file's name: only forms write a space with it.
  const options = new URLSearchParams(query?.replaceAll('+', '%2B'));
  const { prefix = '', db, ...files } = Object.fromEntries(options);
  const database = found?.groups?.database ?? db ?? '';
  const urls = (isUnix ? 'unix' : hosts).split(',').map((host) => new URL(`redis://${user}${host}`));
  const isValid =
    found !== null &&
    // A URL leaves some of these out.
    !/\p{Cc}/u.test(text) &&
    new Set(options.keys()).size === options.size &&
    (isUnix || tls !== undefined) &&
    isUnix === (hosts === '') &&
    urls.every(({ hostname }) => hostname !== '') &&
    (urls.length === 1 || kind !== 'server') &&
    (db === undefined || isUnix) &&
    /^[0-9]{0,9}$/.test(database) &&
    Object.keys(files).every((option) => tls === 's' && /^(cert|key|ca)$/.test(option)) &&
    'cert' in files === 'key' in files;
  if (!isValid) return undefined;
  const { master = '', socket } = found.groups ?? {};
  const defaultPort = kind === 'sentinel' ? 26_379 : 6_379;
  return {
    kind,
    isTls: tls === 's',
    places:
      socket === undefined
        ? urls.map(({ hostname, port }) => ({
            host: hostname.replace(/^\[|\]$/g, ''),
            port: port === '' ? defaultPort : Number(port),
          }))
        : [{ path: decodeURIComponent(socket) }],
    username: decodeURIComponent(urls[0]!.username),
    password: decodeURIComponent(urls[0]!.password),
    master: decodeURIComponent(master),
    database: Number(database),
    prefix,
    files,
  };
}
