/** One key, many real processes, held against the sandbox's own log. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { nodeClock } from '../../src/node/clock.ts';
import { nodeFiles } from '../../src/node/files.ts';
import { openDatabase } from '../../src/node/sqlite.ts';
import type { Plan } from '../../src/sandbox/limiter.ts';
import { type LoggedRequest, type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { openStore } from '../../src/sandbox/store.ts';
import { runPetstore, type Running, startPetstore } from '../support/binary.ts';
import { onCleanup } from '../support/cleanup.ts';
import { createHome } from '../support/home.ts';
import { staging } from '../support/staging.ts';
import { mulberry32 } from '../support/test-ports.ts';

const WORKER = fileURLToPath(new URL('../support/updates-worker.ts', import.meta.url));

interface Service extends Sandbox {
  readonly log: LoggedRequest[];
  readonly env: Record<string, string>;
  /** As the store has it, without a request. */
  stock(): Promise<Record<string, number>>;
}

async function service(plan: Plan, onRequest: () => void = () => undefined): Promise<Service> {
  const folder = createHome().path;
  const log: LoggedRequest[] = [];
  const sandbox = await startSandbox(
    { clock: nodeClock, files: nodeFiles, openDatabase, random: Math.random },
    {
      folder,
      plan,
      onRequest(request) {
        log.push(request);
        onRequest();
      },
    },
  );
  onCleanup(() => sandbox.close());
  return {
    ...sandbox,
    log,
    env: { ...staging(sandbox.baseUrl), PETSTORE_API_KEY: sandbox.apiKey },
    async stock() {
      const store = openStore(await openDatabase(join(folder, 'sandbox.db')));
      const stock = Object.fromEntries(store.list().map(({ petId, quantity }) => [`${petId}`, Number(quantity)]));
      store.close();
      return stock;
    },
  };
}

/** Statuses and how often. */
function counted(log: readonly LoggedRequest[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of log) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

it('eight processes, 500 updates each, windows that are spent: no 429, nothing lost', async () => {
  const { baseUrl, env, log, stock } = await service({ perMinute: 800, perDay: 100_000, minuteMs: 3_000 });
  const home = createHome();
  const work = (pet: number): Promise<{ code: number | null; stderr: string }> =>
    startPetstore([baseUrl, `${pet}`, '500'], {
      command: [process.execPath, '--disable-warning=ExperimentalWarning', WORKER],
      home,
      env,
      killAfterMs: 100_000,
    }).exited;
  const pets = [1, 2, 3, 4, 5, 6, 7, 8];
  const ended = await Promise.all(pets.map(work));
  expect(ended.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual(pets.map(() => '0 '));
  expect(counted(log)).toEqual({ 200: 4_000 });
  expect(await stock()).toMatchObject(Object.fromEntries(pets.map((pet) => [pet, 500])));
}, 110_000);

it('200 processes on one ledger, 80 of them killed at any moment: no 429, and the others are done', async () => {
  const plan: Plan = { perMinute: 1_000, perDay: 10_000, minuteMs: 3_600_000 };
  const random = mulberry32(80);
  const running = new Set<Running>();
  const killed = new Set<Running>();
  const kill = (): void => {
    const victims = [...running].filter((each) => !killed.has(each));
    const victim = victims[Math.floor(random() * victims.length)];
    if (victim === undefined || killed.size >= 80 || random() < 0.2) return;
    killed.add(victim);
    victim.kill('SIGKILL');
  };
  const { env, log } = await service(plan, kill);
  const home = createHome();
  // Its headers make the window known, so that nobody waits for the probe of one who was killed.
  expect((await runPetstore(['inventory', 'list'], { home, env })).code).toBe(0);

  let left = 200;
  const survivors: string[] = [];
  const oneAfterAnother = async (): Promise<void> => {
    while (left-- > 0) {
      const process = startPetstore(['inventory', 'set', `${1 + (left % 20)}`, `${left}`], { home, env });
      running.add(process);
      const { code, signal, stderr } = await process.exited;
      running.delete(process);
      if (!killed.has(process) || signal === null) survivors.push(code === 0 ? 'done' : `${code}: ${stderr}`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, oneAfterAnother));

  expect(new Set(survivors)).toEqual(new Set(['done']));
  expect(killed.size).toBe(80);
  expect(Object.keys(counted(log))).toEqual(['200']);
  const shown = await runPetstore(['limits', '--json'], { home, env });
  const { remaining, inFlight } = JSON.parse(shown.stdout) as { remaining: number; inFlight: unknown[] };
  // Whatever was under way when its process was killed counts as sent: never more than the service would allow.
  expect(remaining - inFlight.length).toBeLessThanOrEqual(1_000 - log.length);
}, 110_000);
