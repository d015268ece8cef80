/** Builds a session from the settings: a client that is ready to send. */
import { gateways } from '../client/attempt.ts';
import type { Service } from '../client/service.ts';
import type { Http, Redis } from '../ports.ts';
import { FOREVER_MS } from '../duration.ts';
import { type Gate, LedgerGate } from '../rate-limit/gate.ts';
import { ownerOf } from '../rate-limit/ledger.ts';
import { liveWindows } from '../rate-limit/windows.ts';
import { VERSION } from '../version.ts';
import { originOf, type Place } from './environments.ts';
import { openLedger, type OpenLedger } from './open-ledger.ts';
import { sandboxFile } from './paths.ts';
import type { CommandContext, Target } from './globals.ts';

/** `await using` closes it. */
export interface Session extends AsyncDisposable {
  readonly environment: Place;
  /** Identifies the service, for example in the journal. */
  readonly origin: string;
  readonly service: Service;
  readonly gate: Gate;
  /** Server on which the machines that share the key lock pets; undefined without other machines. */
  readonly redis: Redis | undefined;
  /** True if other processes that use the key are unknown: then only one request at a time. */
  isAlone(): boolean;
  known(): Promise<Known>;
}

/** What is known about the key, with times in epoch ms. */
export type Known = Awaited<ReturnType<typeof known>>;

/** Of a request without --timeout. */
const TIMEOUT_MS = 60_000;
/** The part of the limit that bulk changes leave to people at a till, unless --reserve is given. */
const BULK_RESERVE = 0.1;

export interface ConnectOptions {
  /**
   * Leaves `BULK_RESERVE` of the limit. Gives up at the third 429 in a row, not the second; with --max-wait forever,
   * never.
   */
  readonly isBulk?: boolean;
  /** For a proxy, which sends for many clients: waits out any number of 429s, and shows no waits. */
  readonly isServer?: boolean;
  /** HTTP client that others use too, so it is not closed with the session. Default: one over the network. */
  readonly http?: Http;
}

/** @throws {Failure} what `context.target` and openLedger throw; for the sandbox, `state` or `file` of its own file */
export async function connect(context: CommandContext, options: ConnectOptions = {}): Promise<Session> {
  const target = await context.target();
  if (target.environment !== 'sandbox') return open(context, target, options);
  const { openInProcess } = await import('../sandbox/in-process.ts');
  const http = await openInProcess(context, { file: sandboxFile(context), notices: context.notices });
  return open(context, target, { ...options, http });
}

/** Opens a session for a given address and key (login checks a key before it stores it). */
export async function open(context: CommandContext, target: Target, options: ConnectOptions = {}): Promise<Session> {
  const { clock, globals, notices, random, signal } = context;
  const { name, version } = context.machine.runtime;
  const opened = await openLedger(context, target, { isBusy: options.isServer === true });
  const http = options.http ?? (await context.openHttp());
  const common = { clock, random, signal, maxWaitMs: globals.maxWait, timeoutMs: globals.timeout ?? TIMEOUT_MS };
  const gate = new LedgerGate({
    ...common,
    ledger: opened.ledger,
    address: opened.address,
    owner: ownerOf(context.machine),
    get probes() {
      if (options.isServer === true) return Number.POSITIVE_INFINITY;
      // Without a ledger that others share, a 429 ends the command.
      if (opened.ledger.isAlone) return 0;
      if (options.isBulk !== true) return 1;
      return globals.maxWait >= FOREVER_MS ? Number.POSITIVE_INFINITY : 2;
    },
    reserve: globals.reserve ?? (options.isBulk === true ? BULK_RESERVE : 0),
    onWait: (wait) => {
      if (options.isServer !== true) notices.waiting(wait);
    },
  });
  notices.watchLimits(() => gate.limits);
  const service: Service = {
    ...target,
    ...common,
    userAgent: `petstore/${VERSION} (${name.toLowerCase()} ${version}; ${context.machine.platform})`,
    http,
    gate,
    retryForMs: globals.retryFor,
    outages: new Map(),
    maxBodyBytes: globals.maxBody,
    watch: notices,
  };
  return {
    environment: target.environment,
    origin: originOf(target),
    service,
    gate,
    redis: opened.redis,
    isAlone: () => opened.ledger.isAlone,
    known: () => known(context, opened),
    async [Symbol.asyncDispose]() {
      // `smoke` opens more sessions on one connection, some with an invalid key.
      if (options.http === undefined) {
        if (gateways.has(http) && !signal.aborted) {
          const { refreshCatalog } = await import('./gateway-catalog.ts');
          await refreshCatalog(context, originOf(target), service);
        }
        await http.close();
      }
      await opened[Symbol.asyncDispose]();
    },
  };
}

/** `allowance`: requests left in the window, without those in flight and the reserve. `block`: unless it is over. */
async function known({ clock, globals }: CommandContext, opened: OpenLedger) {
  const view = await opened.view();
  const { block, lease } = view;
  const now = clock.now();
  const [window] = liveWindows(view, now);
  const allowance = window && {
    limit: window.limit,
    remaining: Math.max(0, window.left - (globals.reserve ?? 0)),
    resetAt: window.resetAt,
  };
  return { allowance, block: block !== undefined && block.until > now ? block : undefined, lease };
}
