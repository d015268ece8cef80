/** Runs the sandbox in this process, without sockets: its store, and its handler as the service. */
import type { HttpReply, HttpRequest } from '../../src/ports.ts';
import { nodeClock } from '../../src/node/clock.ts';
import { nodeFiles } from '../../src/node/files.ts';
import { openDatabase } from '../../src/node/sqlite.ts';
import { inProcess } from '../../src/sandbox/in-process.ts';
import { DEFAULT_RULES, type Plan } from '../../src/sandbox/plans.ts';
import { openStore, type Store } from '../../src/sandbox/sandbox-store.ts';
import { onCleanup } from './cleanup.ts';
import { STAGING_KEY } from './in-process.ts';
import type { TestContext } from './test-context.ts';
import { sendOver } from './test-ports.ts';

export async function newStore(file = ':memory:'): Promise<Store> {
  const ports = { clock: nodeClock, files: nodeFiles, openDatabase, random: Math.random };
  const store = await openStore(ports, { file });
  onCleanup(() => store[Symbol.dispose]());
  return store;
}

/** Answers as staging would, on the context's clock, which stops during that time. */
export function answerFrom(store: Store, plan: Plan, { clock }: TestContext, request: HttpRequest): Promise<HttpReply> {
  const rules = { ...DEFAULT_RULES, plan };
  const handler = { store, rules, apiKeys: [STAGING_KEY], baseUrl: '', now: () => clock.now() };
  return clock.during(() => sendOver(inProcess(clock, handler), request));
}
