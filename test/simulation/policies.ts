/**
 * The clients' behaviour in a simulation. `petstore` is the real client behind the real gate, with one ledger for all
 * processes; the others behave like scripts without a ledger, for comparison.
 */
import { listInventory } from '../../src/client/list.ts';
import type { Service } from '../../src/client/service.ts';
import { updateInventory } from '../../src/client/update.ts';
import { isFailure } from '../../src/errors.ts';
import type { Ledger } from '../../src/rate-limit/ledger.ts';
import { gateWith } from '../support/gate.ts';
import type { SimulatedProcess } from './process.ts';

export const POLICIES = ['petstore', 'obey-per-process', 'undici-retry', 'local-clock'] as const;
export type PolicyName = (typeof POLICIES)[number];

export type Job = { readonly pet: number; readonly quantity: number } | { readonly list: true };

/** Does one job, as one process. Resolves true once it knows that it is done; false: it has to be run again. */
export type Policy = (process: SimulatedProcess, ledger: Ledger, job: Job) => Promise<boolean>;

const MAX_WAIT_MS = 75_000;

const petstore: Policy = async (process, ledger, job) => {
  const { clock, random } = process;
  const nothing = (): void => undefined;
  const { signal } = new AbortController();
  const gate = gateWith({ ledger, owner: process.name, clock, random, maxWaitMs: MAX_WAIT_MS, signal });
  const service: Service = {
    baseUrl: new URL('https://pets.example/v1'),
    environment: 'staging',
    apiKey: 'key',
    keySource: 'PETSTORE_API_KEY',
    userAgent: 'petstore',
    http: process.http,
    gate,
    clock,
    random,
    timeoutMs: 30_000,
    maxWaitMs: MAX_WAIT_MS,
    retryForMs: 0,
    outages: new Map(),
    maxBodyBytes: 1 << 20,
    signal,
    watch: {
      isLive: false,
      attempt: nothing,
      waiting: nothing,
      recovered: nothing,
      warning: nothing,
      debug: nothing,
    },
  };
  try {
    if ('list' in job) for await (const _items of listInventory(service, 'change'));
    else await updateInventory(service, { petId: BigInt(job.pet), quantity: BigInt(job.quantity) });
    return true;
  } catch (error) {
    if (!isFailure(error)) throw error;
    return false;
  }
};

/** Each process waits as long as `Retry-After` says, and then continues. */
const obeyPerProcess: Policy = async (process, _ledger, job) => {
  for (;;) {
    const { status, retryAfterMs } = await process.send(job);
    if (status !== 429) return status === 200;
    await process.clock.sleep(retryAfterMs);
  }
};

/** The rule of undici 8's retry handler: at most 30 s whatever the service says, five times; then the caller's turn. */
const undiciRetry: Policy = async (process, _ledger, job) => {
  for (let retries = 0; ; retries++) {
    const { status, retryAfterMs } = await process.send(job);
    if (status !== 429) return status === 200;
    if (retries === 5) return false;
    await process.clock.sleep(Math.min(retryAfterMs > 0 ? retryAfterMs : 500 * 2 ** retries, 30_000));
  }
};

/** Each process waits for `X-RateLimit-Reset` by the clock of its own machine, at least a second after a 429. */
const localClock: Policy = async (process, _ledger, job) => {
  for (;;) {
    const { status, resetAt } = await process.send(job);
    if (status !== 429) return status === 200;
    await process.clock.sleep(Math.max(1_000, resetAt - process.clock.now()));
  }
};

export const POLICY: Readonly<Record<PolicyName, Policy>> = {
  petstore,
  'obey-per-process': obeyPerProcess,
  'undici-retry': undiciRetry,
  'local-clock': localClock,
};
