/** Serves the sandbox over HTTP (`petstore sandbox serve`). */
import type { InventoryItem } from '../api/item.ts';
import { refusalOfHost, serve, type ServerOptions, type Serving } from '../http/server.ts';
import { isLoopback } from '../ports.ts';
import { inBatches } from '../state/batch.ts';
import type { FilePorts } from '../state/lock.ts';
import { type FaultRule, Faults } from './faults.ts';
import { headersOf, refuse } from './handler.ts';
import { openStore, type SandboxFile } from './sandbox-store.ts';
import { answer, send, type Served } from './serve-request.ts';

export interface SandboxOptions
  extends
    SandboxFile,
    Pick<ServerOptions, 'host' | 'port' | 'patience'>,
    Pick<Served, 'apiKeys' | 'onRequest' | 'rules'> {
  /** More host names by which clients may reach the server, in lower case. */
  readonly allowHost?: readonly string[];
  /** Replaces the stock, once the port is known to be free. */
  readonly pets?: Iterable<InventoryItem> | undefined;
  readonly fault?: readonly FaultRule[];
  readonly faultSeed: number;
  /** How far the sandbox's clock runs ahead of this machine's at first, in ms. */
  readonly clockSkew: number;
}

/** @throws {Failure} `state`, `file`, `port` */
export async function startSandbox(
  ports: FilePorts,
  options: SandboxOptions,
): Promise<Pick<Serving, 'baseUrl' | 'close'>> {
  const { allowHost = [], fault = [], pets } = options;
  const { clock } = ports;
  // Requests that arrive at the same time share a transaction and its disk write.
  const store = await openStore(ports, options, (state) => inBatches(state, clock));
  const served = {
    ...options,
    clock,
    store,
    baseUrl: '',
    now: () => clock.now() + served.skewMs,
    faults: new Faults(fault, options.faultSeed),
    log: [],
    skewMs: options.clockSkew,
  };
  const names = [...allowHost, options.host.toLowerCase()];
  const { baseUrl, close } = await serve({
    ...options,
    clock,
    async handle(incoming, outgoing) {
      const { socket, url = '' } = incoming;
      const refusal = refusalOfHost(incoming, (name) => names.includes(name));
      if (refusal !== undefined) await send(served, outgoing, await refuse(served, refusal));
      // Only this machine may use the page and the controls.
      else if (/^\/(__sandbox(\/|$)|[?#]|$)/.test(url) && isLoopback(socket.remoteAddress ?? '')) {
        const { control } = await import('./control.ts');
        await control(served, incoming, outgoing);
      } else await answer(served, incoming, outgoing);
    },
    refuse: async (refusal) => {
      const response = await refuse(served, refusal);
      return { ...response, headers: headersOf(response, served.now()) };
    },
  });
  // Before the first request: none is read in this turn of the event loop.
  served.baseUrl = baseUrl;
  if (pets !== undefined) {
    await store.exclusively(() => {
      store.replacePets(pets);
    });
  }
  return {
    baseUrl,
    async close(graceMs) {
      await close(graceMs);
      store[Symbol.dispose]();
    },
  };
}
