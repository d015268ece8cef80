/** Serves the sandbox over HTTP (`petstore sandbox serve`). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { InventoryItem } from '../api/item.ts';
import { type Patience, refusalOfHost, serve, type Serving } from '../http/server.ts';
import { isLoopback } from '../ports.ts';
import type { FilePorts } from '../state/lock.ts';
import { type FaultRule, Faults } from './faults.ts';
import { headersOf, refuse } from './handler.ts';
import { answer, send, type Served } from './serve-request.ts';
import { error } from './operations.ts';
import { DEFAULT_RULES, type Rules, SANDBOX_KEY } from './plans.ts';
import { openStore, type SandboxFile } from './sandbox-store.ts';
import { inBatches } from '../state/batch.ts';

export interface Sandbox extends Pick<Serving, 'baseUrl'> {
  readonly apiKey: string;
  /** Answers open requests for at most `graceMs` (0 by default), then drops the rest. */
  close(graceMs?: number): Promise<void>;
}

export interface SandboxOptions extends SandboxFile {
  readonly rules?: Partial<Rules>;
  /** Default: this machine only. */
  readonly host?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** Default: the built-in key, which is public. */
  readonly apiKeys?: readonly string[];
  /** More host names by which clients may reach the server. */
  readonly names?: readonly string[];
  /** Replaces the stock, once the port is known to be free. */
  readonly pets?: Iterable<InventoryItem>;
  readonly faults?: readonly FaultRule[];
  readonly faultSeed?: number;
  /** How far the sandbox's clock runs ahead of this machine's, in ms. */
  readonly skewMs?: number;
  readonly patience?: Patience;
  readonly onRequest?: Served['onRequest'];
}

/** @throws {Failure} `state`, `file`, `port` */
export async function startSandbox(ports: FilePorts, options: SandboxOptions): Promise<Sandbox> {
  const { apiKeys = [SANDBOX_KEY], host = '127.0.0.1', patience, port = 0, pets } = options;
  const { clock } = ports;
  // Requests that arrive at the same time share a transaction and its disk write.
  const store = await openStore(ports, options, (state) => inBatches(state, clock));
  let serving: Serving | undefined;
  let served: Served;
  try {
    serving = await serve({
      host,
      port,
      clock,
      patience,
      handle: (incoming, outgoing) => answerAny(served, options, incoming, outgoing),
      refuse: async (refusal) => {
        const response = await refuse(served, error(...refusal));
        const body = typeof response.body === 'string' ? response.body : '';
        return { status: response.status, headers: headersOf(response, served.now()), body };
      },
    });
    // Set before the first request: none is read in this turn of the event loop.
    served = {
      clock,
      store,
      rules: { ...DEFAULT_RULES, ...options.rules },
      apiKeys,
      baseUrl: serving.baseUrl,
      now: () => clock.now() + served.skewMs,
      faults: new Faults(options.faults ?? [], options.faultSeed ?? 1),
      log: [],
      onRequest: options.onRequest,
      skewMs: options.skewMs ?? 0,
    };
    if (pets !== undefined)
      await store.exclusively(() => {
        store.replacePets(pets);
      });
  } catch (problem) {
    await serving?.close(0);
    store[Symbol.dispose]();
    throw problem;
  }
  const { baseUrl, close } = serving;
  return {
    baseUrl,
    apiKey: apiKeys[0] ?? SANDBOX_KEY,
    async close(graceMs = 0) {
      await close(graceMs);
      store[Symbol.dispose]();
    },
  };
}

/** Never rejects. */
async function answerAny(
  served: Served,
  { host = '', names = [] }: SandboxOptions,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const refusal = refusalOfHost(incoming, (name) => [...names, host].some((each) => each.toLowerCase() === name));
  if (refusal !== undefined) {
    await send(served, outgoing, await refuse(served, error(...refusal)));
  } else if (isForControls(incoming)) {
    const { control } = await import('./control.ts');
    await control(served, incoming, outgoing);
  } else await answer(served, incoming, outgoing);
}

/** True for the page and the controls, which only this machine may use. */
function isForControls({ url = '', socket }: IncomingMessage): boolean {
  return /^\/(__sandbox(\/|$)|[?#]|$)/.test(url) && isLoopback(socket.remoteAddress ?? '');
}
