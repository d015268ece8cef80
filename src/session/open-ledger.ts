/**
 * Opens the ledger: in the state database or, if that cannot be used, in memory for this run. With PETSTORE_LEDGER,
 * on a Redis server that several machines share.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Redis } from '../ports.ts';
import { Failure, isFailure } from '../errors.ts';
import { parseRedisAddress, REDIS_FORMS } from '../redis-address.ts';
import type { LedgerState } from '../rate-limit/governor.ts';
import { createLedger, type Ledger, memoryStep, shift, type Step, toWall } from '../rate-limit/ledger.ts';
import { type ReserveFile, reserveFile, withReserve } from '../rate-limit/reserve-file.ts';
import { sqliteStep } from '../rate-limit/sqlite-ledger.ts';
import { openState } from '../state/database.ts';
import { isOutOfReach } from '../state/file.ts';
import { clockTime } from '../view/progress.ts';
import { addressOf } from './environments.ts';
import type { CommandContext, Target } from './globals.ts';
import { stateFolder } from './paths.ts';
import { inVariable, SETTINGS } from './settings.ts';

export interface OpenLedger extends AsyncDisposable {
  readonly ledger: Ledger;
  /** Returns what is known about the key at this address, in epoch ms, and the lease if the key is shared. */
  view(): Promise<LedgerState>;
  /** Identifies the service's address in the ledger, and in the names of operations. */
  readonly address: string;
  /** The server of PETSTORE_LEDGER, also for the locks of pets; undefined without other machines. */
  readonly redis: Redis | undefined;
}

export type LedgerTarget = Pick<Target, 'environment' | 'baseUrl' | 'apiKey'>;

/**
 * Opens the ledger of a service and key. `isBusy`: many concurrent requests use it, so their steps are batched.
 * `isShown`: the caller itself shows whether a shared server answers.
 * @throws {Failure} `state`: another process holds the database; `invalid-value`: PETSTORE_LEDGER
 */
export async function openLedger(
  context: CommandContext,
  target: LedgerTarget,
  { isBusy = false, isShown = false } = {},
): Promise<OpenLedger> {
  const { clock } = context;
  const names = ledgerNames(target);
  const { address } = names;
  const shared = sharedLedger(context);
  const { step, isAlone } = await openStep(context, names, isBusy);
  let ledger: Ledger = createLedger(step, isAlone);
  let redis: Redis | undefined;
  // Only this machine uses the sandbox.
  if (shared !== undefined && target.environment !== 'sandbox') {
    const { url, whenLost } = shared;
    const [opened, name, { RedisLedger }] = await Promise.all([
      context.openRedis(url),
      names.shared(),
      import('../rate-limit/redis-ledger.ts'),
    ]);
    const onChange = (says: string | undefined): void => {
      if (!isShown) reportChange(context, whenLost, says);
    };
    // Without user and password.
    const server = url.replace(/\/\/[^/?#]*@/, '//');
    redis = opened;
    ledger = new RedisLedger(step, { ...context, redis, server, name, whenLost, onChange });
  }
  return {
    ledger,
    async view() {
      const { lease, ...known } = shift(await ledger.view(), clock.now() - clock.monotonic());
      const windows = known.windows.filter(({ operation }) => operation.includes(` ${address}`));
      // Without a server, the lease is left from an earlier command with PETSTORE_LEDGER.
      return { ...known, windows, ...(redis && lease && { lease }) };
    },
    address,
    redis,
    // The database stays open: the process is about to end, and the last process to close it copies the write-ahead log
    // back, which takes longer than the two steps of a request.
    async [Symbol.asyncDispose]() {
      await ledger.close();
      redis?.close();
    },
  };
}

/** Not a valid key of any service: what one says of it says nothing about another. */
export const WRONG_KEY = 'petstore-smoke-wrong-key';

/**
 * Returns the names of a ledger: hashes that reveal neither origin nor key. What every command needs is not computed by
 * node:crypto, whose loading takes a fifth of Node's start.
 */
export function ledgerNames(target: LedgerTarget) {
  const { apiKey } = target;
  // A block belongs to the key, wherever it is used. Loopback addresses are identified by port.
  const address = addressOf(target);
  const isHere = address === 'sandbox' || /:\/\/localhost(:|$)/.test(address) || ['', WRONG_KEY].includes(apiKey);
  const scope = isHere ? address : '';
  const pair = JSON.stringify([scope, apiKey]);
  const digest = (text: string): string => bytesToHex(sha256(utf8ToBytes(text)));
  let row: { readonly salt: string; readonly name: string } | undefined;
  return {
    /** Name in the state database, needed at every step with the same salt. */
    row: (salt: string) => (row?.salt === salt ? row : (row = { salt, name: digest(salt + pair) })).name,
    /** Name of the service's address. */
    address: `@${digest(JSON.stringify([address, apiKey])).slice(0, 12)}`,
    /** Name of the reserve file. Without the salt, because the database with it may not open. */
    file: digest(`petstore block ${pair}`).slice(0, 32),
    /** Name on a server. The key itself is the salt, so that all machines with the key find the same name. */
    async shared() {
      const { createHmac } = await import('node:crypto');
      const name = createHmac('sha256', apiKey).update(scope).digest('hex');
      // The braces keep everything of the key on one node of a cluster.
      return `petstore:{${name}}`;
    },
  };
}

/** Returns PETSTORE_LEDGER and PETSTORE_LEDGER_LOST; undefined without a server. @throws {Failure} `invalid-value` */
export function sharedLedger({ env }: Pick<CommandContext, 'env'>) {
  const address = env.PETSTORE_LEDGER ?? '';
  const whenLost = inVariable(SETTINGS.ledgerLost, env) ?? 'hold';
  if (address === '') return undefined;
  if (parseRedisAddress(address) !== undefined) return { url: address, whenLost };
  throw new Failure('invalid-value', {
    name: 'PETSTORE_LEDGER',
    // The address may contain a password, for other programs also as a parameter.
    value: address.replace(/\/\/.*@/, '//…@').replace(/=[^&]*/g, '=…'),
    expected: REDIS_FORMS,
    isStored: true,
  });
}

function reportChange({ notices }: CommandContext, mode: 'hold' | 'share', says: string | undefined): void {
  if (says === undefined) {
    notices.info('The Redis server of PETSTORE_LEDGER works again.');
    return;
  }
  const until =
    mode === 'hold'
      ? 'sends only what it was lent'
      : "sends its part of the rate limit, and does not see other machines' blocks";
  notices.warning(`The Redis server of PETSTORE_LEDGER does not work (${says}). Until it does, this machine ${until}.`);
}

/** Those of commands that have warned: `smoke` opens the ledger of each of its keys. */
const UNSHARED = new WeakSet<CommandContext['notices']>();

/**
 * Opens this machine's own ledger: in the state database or, if that cannot be used, in memory. Other processes are
 * then unknown: petstore warns, and does not retry after a 429.
 * @throws {Failure} `state`: another process holds the database, or a newer petstore wrote it
 */
async function openStep(context: CommandContext, names: ReturnType<typeof ledgerNames>, isBusy: boolean) {
  const { clock, files, notices } = context;
  let file: ReserveFile | undefined;
  let step: Step | undefined;
  let why = 'is on a network file system, whose locks other machines may not see';
  try {
    const folder = stateFolder(context);
    file = reserveFile(context, `${folder}/blocks`, names.file);
    // The file must exist before the disk is full, and serves alone where the database cannot be used.
    await file.prepare().catch(() => undefined);
    if (!(await files.isOnNetwork(folder))) {
      step = sqliteStep(context, await openState(context, folder), names.row, isBusy);
    }
  } catch (error) {
    // The state of a newer petstore may contain a block.
    if (!isOutOfReach(error)) throw error;
    why = 'cannot be used';
  }
  const isAlone = step === undefined;
  if (isAlone && !UNSHARED.has(notices)) {
    UNSHARED.add(notices);
    notices.warning(
      `Rate limits cannot be shared with other runs of petstore, because its state folder ${why}: ` +
        'a 429 ends this command.',
    );
  }
  step ??= memoryStep(clock);
  if (file === undefined) return { step, isAlone };
  const { path } = file;
  const guarded = withReserve(step, {
    clock,
    file,
    onUnwritten(failure, block, isKept) {
      const why = `The state database could not be written${reasonOf(failure)}.`;
      const until = block && clockTime(toWall(clock, block.until), clock.now());
      const kept = isKept ? `is kept in ${path} instead` : 'is known to this command alone';
      notices.warning(block ? `${why} The service refused a request until ${until}; that ${kept}.` : why);
    },
  });
  return { step: guarded, isAlone };
}

function reasonOf(failure: unknown): string {
  if (!isFailure(failure) || !failure.is('state')) return '';
  const { problem, detail } = failure.details;
  const words = { full: 'the disk is full', held: 'another petstore holds it', readonly: 'it is read-only' } as const;
  const reason = problem in words ? words[problem as keyof typeof words] : detail;
  return reason === undefined ? '' : `: ${reason}`;
}
