/**
 * Which ledger there is: the one in the state database, or, where that cannot be used, one for this run alone.
 * With PETSTORE_LEDGER, one on a Redis server that several machines share.
 */
import { type Redis, RedisFailure } from '../context.ts';
import { Failure } from '../errors.ts';
import { withFallback } from '../limits/fallback-ledger.ts';
import type { Ledger } from '../limits/ledger.ts';
import { MemoryLedgers } from '../limits/memory-ledger.ts';
import { sqliteLedger } from '../limits/sqlite-ledger.ts';
import { openState } from '../state/database.ts';
import { isOutOfReach } from '../state/file.ts';
import { stateFolder } from './folders.ts';
import type { CommandContext } from './globals.ts';

export interface OpenLedger {
  readonly ledger: Ledger;
  /** How many requests may follow a 429. */
  readonly probes: number;
  close(): void;
}

interface Owner {
  readonly ledgerOrigin: string;
  readonly apiKey: string;
}

/**
 * The ledger of that key. `isLocal`: the service is on this machine, and nobody else has to do with it.
 * @throws {Failure} `state`: another process holds the database; `invalid-value`: PETSTORE_LEDGER
 */
export async function openLedger(context: CommandContext, owner: Owner, isLocal: boolean): Promise<OpenLedger> {
  const address = sharedLedger(context);
  return address === undefined || isLocal ? openOwn(context, owner) : openShared(context, owner, address);
}

/** The address in PETSTORE_LEDGER, if any. @throws {Failure} `invalid-value` */
export function sharedLedger({ env }: Pick<CommandContext, 'env'>): string | undefined {
  const address = env.PETSTORE_LEDGER ?? '';
  if (address === '') return undefined;
  if (isRedis(address)) return address;
  throw new Failure('invalid-value', {
    name: 'PETSTORE_LEDGER',
    // It may hold a password.
    value: address.replace(/\/\/.*@/, '//…@'),
    expected: 'the address of a Redis server, redis://[user:password@]host[:port][/database] or rediss:// for TLS',
  });
}

function isRedis(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, pathname, username, password, search, hash } = new URL(address);
  if (!/^rediss?:$/.test(protocol) || hostname === '' || !/^\/?[0-9]*$/.test(pathname) || search + hash !== '')
    return false;
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

async function openShared(context: CommandContext, owner: Owner, url: string): Promise<OpenLedger> {
  let own: OpenLedger | undefined;
  let isLost = false;
  const onLost = ({ message }: RedisFailure): void => {
    isLost = true;
    context.notices.warning(
      `The ledger of PETSTORE_LEDGER cannot be used (${message}), so rate limits are not shared with other machines: ` +
        'a 429 ends this command.',
    );
  };
  let redis: Redis;
  try {
    redis = await context.openRedis(url);
  } catch (error) {
    if (!(error instanceof RedisFailure)) throw error;
    onLost(error);
    return { ...(await openOwn(context, owner)), probes: 0 };
  }
  const [{ redisLedger }, { createHmac }] = await Promise.all([
    import('../limits/redis-ledger.ts'),
    import('node:crypto'),
  ]);
  // The key itself is the salt: whoever shares it finds the same name, and nobody else can tell what it is about.
  const name = createHmac('sha256', owner.apiKey).update(owner.ledgerOrigin).digest('hex');
  const ledger = withFallback({
    shared: redisLedger(redis, context.clock, name),
    async openOwn() {
      own = await openOwn(context, owner);
      return own.ledger;
    },
    onLost,
  });
  return {
    ledger,
    get probes() {
      return isLost ? 0 : 1;
    },
    close() {
      redis.close();
      own?.close();
    },
  };
}

/**
 * The ledger in the state database. Where that cannot be used, petstore knows of no other process: it says so,
 * and does not try again after a 429.
 */
async function openOwn(context: CommandContext, { ledgerOrigin, apiKey }: Owner): Promise<OpenLedger> {
  try {
    const folder = stateFolder(context);
    if (await context.files.isOnNetwork(folder))
      return alone(
        context,
        { ledgerOrigin, apiKey },
        'is on a network file system, whose locks other machines may not see',
      );
    const state = await openState(context, folder);
    return {
      ledger: sqliteLedger(context, state, ledgerOrigin, apiKey),
      probes: 1,
      // Not closed: the process is about to end, and the last one to close copies the write-ahead log back, which takes
      // longer than the two entries of a request. What stands in the log is as safe as what stands in the file.
      close: () => undefined,
    };
  } catch (error) {
    // A state of a newer petstore may hold a block.
    if (!isOutOfReach(error)) throw error;
    return alone(context, { ledgerOrigin, apiKey }, 'cannot be used');
  }
}

function alone(context: CommandContext, { ledgerOrigin, apiKey }: Owner, why: string): OpenLedger {
  context.notices.warning(
    `Rate limits cannot be shared with other runs of petstore, because its state folder ${why}: ` +
      'a 429 ends this command.',
  );
  return {
    ledger: new MemoryLedgers(context.clock).of(ledgerOrigin, apiKey),
    probes: 0,
    close: () => undefined,
  };
}
