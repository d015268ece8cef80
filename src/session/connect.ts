/** From the settled environment to a client that is ready to send. */
import type { Service } from '../client/service.ts';
import type { Http } from '../ports.ts';
import { createGate } from '../rate-limit/gate.ts';
import { tightestWindow } from '../rate-limit/ledger.ts';
import { ownerOf } from '../rate-limit/owner.ts';
import { SANDBOX_KEY, SANDBOX_URL } from '../sandbox/plans.ts';
import { VERSION } from '../version.ts';
import type { EnvironmentName } from './environments.ts';
import { readConfigFile } from './config-file.ts';
import { openLedger } from './open-ledger.ts';
import { sandboxFile } from './paths.ts';
import type { CommandContext } from './globals.ts';
import { requireBaseUrl, requireKey, resolveSettings, sourceName } from './resolve.ts';

export interface RemainingRequests {
  readonly limit: number;
  readonly left: number;
  /** Epoch ms. */
  readonly resetAt: number;
}

export interface Session {
  readonly environment: EnvironmentName;
  /** Of the base URL; the sandbox has one of its own. */
  readonly origin: string;
  readonly service: Service;
  /** Nothing is known of other processes that use the key: one request at a time then. */
  isAlone(): boolean;
  /** What is known to be left of the key's window, but for what is in flight and reserved; undefined: nothing is. */
  allowance(): Promise<RemainingRequests | undefined>;
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** How many requests may follow a 429, each after its wait; one more ends the command. By default one. */
  readonly probes?: number;
}

/** @throws {Failure} `no-key`, `no-base-url`, `base-url`, and what readConfigFile throws */
export async function connect(context: CommandContext, options: ConnectOptions = {}): Promise<Session> {
  const target = await findTarget(context);
  return target === 'sandbox' ? connectSandbox(context, options) : open(context, target, options);
}

/** Whose ledger it is, without a connection: where, and under which key. @throws {Failure} as connect */
export async function findLedgerOwner(
  context: CommandContext,
): Promise<Pick<Target, 'environment' | 'ledgerOrigin' | 'apiKey'>> {
  const target = await findTarget(context);
  return target === 'sandbox' ? { environment: 'sandbox', ledgerOrigin: SANDBOX_ORIGIN, apiKey: SANDBOX_KEY } : target;
}

async function findTarget(context: CommandContext): Promise<Target | 'sandbox'> {
  const file = await readConfigFile(context);
  const settled = resolveSettings(context.globals, context.env, file);
  if (file.exposed && settled.apiKey?.source.from === 'config') {
    context.notices.warning(`Others on this machine may read the key in ${file.path}: run chmod 600 ${file.path}`);
  }
  if (file.isForeign && settled.apiKey?.source.from === 'config') {
    context.notices.warning(`The config ${file.path} belongs to another user, who may send the key anywhere.`);
  }
  const environment = settled.environment.value;
  if (environment === 'sandbox') return 'sandbox';

  const apiKey = requireKey(settled, file);
  context.secrets.add(apiKey);
  const baseUrl = requireBaseUrl(settled, context.globals);
  if (context.globals.insecureHttp && baseUrl.protocol === 'http:') {
    context.notices.warning(`The key travels unencrypted to ${baseUrl.host} (--insecure-http).`);
  }
  const keySource = settled.apiKey === undefined ? '' : sourceName(settled.apiKey.source);
  return { environment, baseUrl, apiKey, keySource, ledgerOrigin: baseUrl.origin };
}

/** Stands for the sandbox in ledgers and journals. */
const SANDBOX_ORIGIN = 'sandbox';

async function connectSandbox(context: CommandContext, options: ConnectOptions): Promise<Session> {
  const { openInProcess } = await import('../sandbox/in-process.ts');
  const file = { file: sandboxFile(context), isOwn: true, notices: context.notices };
  const target: Target = {
    environment: 'sandbox',
    baseUrl: new URL(SANDBOX_URL),
    apiKey: SANDBOX_KEY,
    keySource: 'the sandbox',
    ledgerOrigin: SANDBOX_ORIGIN,
    http: await openInProcess(context, file),
  };
  return open(context, target, options);
}

export interface Target {
  readonly environment: EnvironmentName;
  readonly baseUrl: URL;
  readonly apiKey: string;
  readonly keySource: string;
  readonly ledgerOrigin: string;
  /** Closed with the session. By default one over the network. */
  readonly http?: Http;
}

/** A session with an address and a key that are already known (login checks a key before it is kept). */
export async function open(context: CommandContext, target: Target, options: ConnectOptions = {}): Promise<Session> {
  const { clock, globals, notices, random, signal } = context;
  const { name, version } = context.machine.runtime;
  const opened = await openLedger(context, target, target.environment === 'sandbox');
  const http = target.http ?? (await context.openHttp());
  const gate = createGate({
    ledger: opened.ledger,
    owner: ownerOf(context.machine),
    clock,
    random,
    maxWaitMs: globals.maxWait,
    timeoutMs: globals.timeout,
    get probes() {
      // Where nothing is shared with other processes, a 429 ends the command.
      return opened.isAlone ? 0 : (options.probes ?? 1);
    },
    reserve: globals.reserve,
    signal,
    onWait: (wait) => {
      notices.waiting(wait);
    },
  });
  notices.watchLimits(() => gate.limits);
  const service: Service = {
    baseUrl: target.baseUrl,
    environment: target.environment,
    apiKey: target.apiKey,
    keySource: target.keySource,
    userAgent: `petstore/${VERSION} (${name.toLowerCase()} ${version}; ${context.machine.platform})`,
    http,
    gate,
    clock,
    random,
    timeoutMs: globals.timeout,
    maxWaitMs: globals.maxWait,
    maxBodyBytes: globals.maxBody,
    signal,
    watch: notices,
  };
  return {
    environment: target.environment,
    origin: target.ledgerOrigin,
    service,
    isAlone: () => opened.isAlone,
    async allowance() {
      const window = tightestWindow(await opened.ledger.view(), clock.monotonic());
      if (window === undefined) return undefined;
      const left = Math.max(0, window.left - globals.reserve);
      return { limit: window.limit, left, resetAt: clock.now() + window.resetAt - clock.monotonic() };
    },
    async close() {
      await http.close();
      opened.close();
    },
  };
}
