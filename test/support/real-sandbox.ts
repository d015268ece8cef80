/** Runs the sandbox over real HTTP, with its log. */
import { join } from 'node:path';
import { nodeClock } from '../../src/node/clock.ts';
import { nodeFiles } from '../../src/node/files.ts';
import { openDatabase } from '../../src/node/sqlite.ts';
import type { LoggedRequest } from '../../src/sandbox/serve-request.ts';
import { DEFAULT_RULES, type Plan, type Rules, SANDBOX_KEY } from '../../src/sandbox/plans.ts';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox-server.ts';
import { openStore } from '../../src/sandbox/sandbox-store.ts';
import { onCleanup } from './cleanup.ts';
import { createHome } from './home.ts';
import { staging } from './staging.ts';

const ports = { clock: nodeClock, files: nodeFiles, openDatabase, random: Math.random };

type Sandbox = Awaited<ReturnType<typeof startSandbox>>;

export interface RealSandbox extends Sandbox {
  readonly apiKey: string;
  readonly log: LoggedRequest[];
  readonly env: Record<string, string>;
  /** Reads the stock from the store, without a request. */
  stock(): Promise<Record<string, number>>;
}

export async function realSandbox(
  plan: Plan,
  {
    onRequest,
    rules,
    ...options
  }: Partial<Omit<SandboxOptions, 'onRequest' | 'rules'>> & { onRequest?: () => void; rules?: Partial<Rules> } = {},
): Promise<RealSandbox> {
  const file = join(createHome().path, 'sandbox.db');
  const log: LoggedRequest[] = [];
  const sandbox = await startSandbox(ports, {
    file,
    host: '127.0.0.1',
    port: 0,
    apiKeys: [SANDBOX_KEY],
    faultSeed: 1,
    clockSkew: 0,
    ...options,
    rules: { ...DEFAULT_RULES, plan, ...rules },
    onRequest: (request) => {
      log.push(request);
      onRequest?.();
    },
  });
  onCleanup(() => sandbox.close(0));
  return {
    ...sandbox,
    log,
    apiKey: SANDBOX_KEY,
    env: staging(sandbox.baseUrl, SANDBOX_KEY),
    async stock() {
      using store = await openStore(ports, { file });
      return Object.fromEntries(
        store.page(undefined, 100).map(({ petId, quantity }) => [`${petId}`, Number(quantity)]),
      );
    },
  };
}

/** Counts requests by status. */
export function counted(log: readonly LoggedRequest[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of log) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
