/**
 * Which ledger there is: the one in the state database, or, where that cannot be used, one for this run alone.
 * With PETSTORE_LEDGER, one on a Redis server that several machines share.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { type Redis, RedisFailure } from '../ports.ts';
import { Failure, isFailure } from '../errors.ts';
import { BlockFile, withBlockFile } from '../rate-limit/block-file.ts';
import { noteBlock, withFallback } from '../rate-limit/fallback-ledger.ts';
import { inBatches, type Ledger, unwrapped, type WrapStep, memoryLedger } from '../rate-limit/ledger.ts';
import { toWall } from '../rate-limit/rebase.ts';
import { sqliteLedger } from '../rate-limit/sqlite-ledger.ts';
import { openState } from '../state/database.ts';
import { isOutOfReach } from '../state/file.ts';
import { clockTime } from '../view/progress.ts';
import { originOf } from './environments.ts';
import type { CommandContext } from './globals.ts';
import { stateFolder } from './paths.ts';
import type { Target } from './resolve.ts';

export interface OpenLedger extends Disposable {
  readonly ledger: Ledger;
  /** True while nothing is shared with other processes that use the key: one request at a time then. */
  readonly isAlone: boolean;
}

type LedgerNames = ReturnType<typeof ledgerNames>;
export type LedgerTarget = Pick<Target, 'environment' | 'baseUrl' | 'apiKey'>;

/**
 * Opens the ledger of that service and key. `isBusy`: many requests at once use it, so their steps are taken together.
 * @throws {Failure} `state`: another process holds the database; `invalid-value`: PETSTORE_LEDGER
 */
export async function openLedger(
  context: CommandContext,
  target: LedgerTarget,
  { isBusy = false } = {},
): Promise<OpenLedger> {
  const wrap: WrapStep = isBusy ? (step) => inBatches(step, () => context.clock.turn()) : unwrapped;
  const address = sharedLedger(context);
  const names = ledgerNames(target);
  // The sandbox belongs to this machine alone.
  const isOwn = address === undefined || target.environment === 'sandbox';
  return isOwn ? openOwn(context, names, wrap) : openShared(context, names, { url: address, wrap });
}

/**
 * Returns what a ledger is called, by hashes that reveal neither origin nor key.
 * What every command needs is not computed by node:crypto, which takes a fifth of Node's own start to load.
 */
export function ledgerNames(target: LedgerTarget) {
  const { apiKey } = target;
  const origin = originOf(target);
  const pair = JSON.stringify([origin, apiKey]);
  const digest = (text: string): string => bytesToHex(sha256(utf8ToBytes(text)));
  let row: { readonly salt: string; readonly name: string } | undefined;
  return {
    /** In the state database. Asked for at every step, of the same salt. */
    row: (salt: string) => (row?.salt === salt ? row : (row = { salt, name: digest(salt + pair) })).name,
    /** In the folder of the second place: without the salt, which is in the database that may not open. */
    file: () => digest(`petstore block ${pair}`).slice(0, 32),
    /** On a server: the key itself is the salt, so that all who share it find the same name. */
    async shared() {
      const { createHmac } = await import('node:crypto');
      return createHmac('sha256', apiKey).update(origin).digest('hex');
    },
  };
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

async function openShared(
  context: CommandContext,
  names: LedgerNames,
  { url, wrap }: { url: string; wrap: WrapStep },
): Promise<OpenLedger> {
  let isLost = false;
  const onLost = ({ message }: RedisFailure): void => {
    isLost = true;
    context.notices.warning(
      `The ledger of PETSTORE_LEDGER cannot be used (${message}), so rate limits are not shared with other machines: ` +
        'a 429 ends this command.',
    );
  };
  const own = await openOwn(context, names, wrap);
  let redis: Redis;
  try {
    redis = await context.openRedis(url);
  } catch (error) {
    if (!(error instanceof RedisFailure)) throw error;
    onLost(error);
    return { ...own, isAlone: true };
  }
  const { redisLedger } = await import('../rate-limit/redis-ledger.ts');
  const name = await names.shared();
  const { clock } = context;
  return {
    ledger: withFallback({
      clock,
      shared: redisLedger(redis, context, name, (block) => noteBlock(own.ledger, block, clock.monotonic()), wrap),
      own: own.ledger,
      onLost,
    }),
    get isAlone() {
      return isLost;
    },
    [Symbol.dispose]() {
      redis.close();
    },
  };
}

/**
 * The ledger in the state database. Where that cannot be used, petstore knows of no other process: it says so,
 * and does not try again after a 429.
 * @throws {Failure} `state`: another process holds the database, or a newer petstore wrote it
 */
async function openOwn(context: CommandContext, names: LedgerNames, wrap: WrapStep): Promise<OpenLedger> {
  let file: BlockFile | undefined;
  try {
    const folder = stateFolder(context);
    file = new BlockFile(context, `${folder}/blocks`, names.file());
    if (await context.files.isOnNetwork(folder)) {
      return alone(context, 'is on a network file system, whose locks other machines may not see', file);
    }
    const state = await openState(context, folder);
    // The second place has to be there before the first is full.
    await file.prepare().catch(() => undefined);
    return {
      ledger: withSecondPlace(context, sqliteLedger(context, state, names.row, wrap), file),
      isAlone: false,
      // Not closed: the process is about to end, and the last one to close copies the write-ahead log back, which takes
      // longer than the two entries of a request. What is in the log is as safe as what is in the file.
      [Symbol.dispose]: () => undefined,
    };
  } catch (error) {
    // A state of a newer petstore may hold a block.
    if (!isOutOfReach(error)) throw error;
    return alone(context, 'cannot be used', file);
  }
}

function alone(context: CommandContext, why: string, file?: BlockFile): OpenLedger {
  context.notices.warning(
    `Rate limits cannot be shared with other runs of petstore, because its state folder ${why}: ` +
      'a 429 ends this command.',
  );
  const ledger = memoryLedger(context.clock);
  return {
    ledger: file === undefined ? ledger : withSecondPlace(context, ledger, file),
    isAlone: true,
    [Symbol.dispose]: () => undefined,
  };
}

function withSecondPlace(context: CommandContext, ledger: Ledger, file: BlockFile): Ledger {
  const { clock, notices } = context;
  return withBlockFile(ledger, {
    clock,
    file,
    onUnwritten(failure, block, isKept) {
      const why = `The state database could not be written${reasonOf(failure)}`;
      if (block === undefined) {
        notices.warning(`${why}.`);
        return;
      }
      const until = clockTime(toWall(clock, block.until), clock.now());
      const kept = isKept ? `is kept in ${file.path} instead` : 'is known to this command alone';
      notices.warning(`${why}. The service refused a request until ${until}; that ${kept}.`);
    },
  });
}

function reasonOf(failure: unknown): string {
  if (!isFailure(failure) || !failure.is('state')) return '';
  const { problem, detail } = failure.details;
  const words = { full: 'the disk is full', held: 'another petstore holds it', readonly: 'it is read-only' } as const;
  const reason = problem in words ? words[problem as keyof typeof words] : detail;
  return reason === undefined ? '' : `: ${reason}`;
}
