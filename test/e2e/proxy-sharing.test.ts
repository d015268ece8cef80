/** `petstore proxy` under load with many kinds of clients and kills, checked against the sandbox's own log. */
import { expect, it } from 'vitest';
import { parseFault } from '../../src/sandbox/faults.ts';
import type { LoggedRequest } from '../../src/sandbox/serve-request.ts';
import { type PetstoreOptions, runPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';
import { counted, realSandbox } from '../support/real-sandbox.ts';
import { scaled } from '../support/scale.ts';
import { patch, type ServedProxy, serveProxy } from '../support/served.ts';
import { staging } from '../support/staging.ts';
import { mulberry32 } from '../support/test-ports.ts';

const startProxy = (options: PetstoreOptions, args: readonly string[] = []): Promise<ServedProxy> =>
  serveProxy({}, ['--quiet', ...args], options);

/** How a terminal reaches a gateway. */
const behind = ({ baseUrl, token }: ServedProxy) => staging(baseUrl, token);

const set = ({ port, token }: ServedProxy, pet: number, quantity: number): Promise<{ readonly status: number }> =>
  patch({ port, apiKey: token }, pet, quantity);

/** Numbers of requests by the window that they were counted in: a window begins where `remaining` rises. */
function perWindow(log: readonly LoggedRequest[]): number[] {
  const counts: number[] = [];
  let before = -1;
  for (const { remaining = 0 } of log) {
    if (remaining > before) counts.push(0);
    counts[counts.length - 1]!++;
    before = remaining;
  }
  return counts;
}

/** So few in a window that a busy machine sends them all in time. */
const LIMIT = 15;
const WINDOW_MS = 6_000;

it('curl, Node and petstore share one key: no 429, windows are used up, and no client waits longer than the others', async () => {
  // The last one may not have ended.
  const WINDOWS = 1 + scaled(2);
  let isOver: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (isOver = resolve));
  const stop = new AbortController();
  const { env, log } = await realSandbox(
    { perMinute: LIMIT, perDay: 100_000, minuteMs: WINDOW_MS },
    {
      rules: { plan: { perMinute: LIMIT, perDay: 100_000, minuteMs: WINDOW_MS }, banAfter: 1 },
      onRequest: () => {
        if (perWindow(log).length <= WINDOWS) return;
        stop.abort();
        isOver();
      },
    },
  );
  const home = createHome();
  const proxy = await startProxy({ home, env });
  const url = `${proxy.baseUrl}/inventory`;
  const answers = new Map<string, number>();
  const problems: string[] = [];
  /** Asks again and again until the windows are over. */
  const loop = async (name: string, ask: () => Promise<string>, good: string): Promise<void> => {
    while (!stop.signal.aborted) {
      const result = await ask();
      if (result !== good) problems.push(`${name}: ${result}`);
      answers.set(name, (answers.get(name) ?? 0) + 1);
    }
  };
  const loops = [1, 2, 3, 4].flatMap((i) => [
    loop(`curl ${i}`, () => curl(url, proxy.token), '200'),
    loop(`node ${i}`, async () => String((await proxy.ask('/inventory')).status), '200'),
    loop(
      `petstore ${i}`,
      async () => {
        const { code, stderr } = await runPetstore(['inventory', 'get', '7', '--quiet'], { home, env });
        return `${code} ${stderr}`;
      },
      '0 ',
    ),
  ]);
  await over;
  await Promise.all(loops);
  proxy.kill('SIGTERM');
  expect((await proxy.exited).code).toBe(0);

  expect(problems).toEqual([]);
  expect(Object.keys(counted(log))).toEqual(['200']);
  const [, ...windows] = perWindow(log);
  // The first and the last may have begun late, or not have ended.
  expect(Math.min(...windows.slice(0, WINDOWS - 1))).toBeGreaterThanOrEqual(0.97 * LIMIT);
  // A window has room for one of each: whoever waits for the others has one answer, after the end.
  expect(Math.min(...answers.values()), JSON.stringify([...answers])).toBeGreaterThanOrEqual(WINDOWS - 1);
});

it('a proxy that is killed at any moment loses no acknowledged write, and the next one sends nothing early', async () => {
  // Windows so long that what a killed proxy has sent arrives within the same one, on a busy machine too.
  const plan = { perMinute: 20, perDay: 1_000_000, minuteMs: 6_000 };
  const random = mulberry32(20);
  const kills = scaled(8);
  let proxy: ServedProxy | undefined;
  let killAt = 0;
  /** True for a kill when the window is spent: the next one must wait for another. */
  let isSpent = false;
  const { env, log, stock } = await realSandbox(plan, {
    rules: { plan, banAfter: 1 },
    onRequest: () => {
      if (killAt-- <= 0 && (!isSpent || log.at(-1)?.remaining === 0)) proxy?.kill('SIGKILL');
    },
  });
  const home = createHome();
  /** The last quantity that was acknowledged for each pet, and what was sent after it. */
  const acknowledged = new Map<number, number>();
  const sent = new Map<number, number[]>();
  let quantity = 0;
  for (let kill = 0; kill < kills; kill++) {
    killAt = Number.POSITIVE_INFINITY;
    const started = await startProxy({ home, env }, ['--max-wait', '60s']);
    proxy = started;
    isSpent = kill % 2 === 0;
    killAt = isSpent ? 0 : Math.floor(random() * 20);
    const client = async (pet: number): Promise<void> => {
      for (;;) {
        const next = ++quantity;
        sent.set(pet, [...(sent.get(pet) ?? []), next]);
        const answer = await set(started, pet, next).catch(() => undefined);
        if (answer?.status !== 200) return;
        acknowledged.set(pet, next);
        sent.set(pet, []);
      }
    };
    await Promise.all([1, 2, 3, 4, 5, 6].map(client));
    await started.exited;
  }
  expect(Object.keys(counted(log))).toEqual(['200']);
  const found = await stock();
  for (const [pet, quantityThen] of acknowledged)
    expect([quantityThen, ...(sent.get(pet) ?? [])]).toContain(found[pet]);
}, 300_000);

it('six tills with one gateway, one of them on its machine and of its user, lose no sale', async () => {
  const plan = { perMinute: 100_000, perDay: 1_000_000 };
  const { env, log, stock } = await realSandbox(plan, { rules: { plan } });
  const home = createHome();
  const proxy = await startProxy({ home, env });
  const start = 100;
  await set(proxy, 7, start);
  const sales = scaled(3);
  const codes: (number | null)[] = [];
  const till = async (home: Home): Promise<void> => {
    for (let i = 0; i < sales; i++) {
      const { code } = await runPetstore(['inventory', 'adjust', '7', '-1'], { home, env: behind(proxy) });
      codes.push(code);
    }
  };
  await Promise.all([home, ...Array.from({ length: 5 }, createHome)].map(till));
  expect(codes).toEqual(Array.from({ length: 6 * sales }, () => 0));
  expect((await stock())[7]).toBe(start - 6 * sales);
  // A client without a condition still overwrites what it has not read.
  const found = start - 6 * sales;
  await runPetstore(['inventory', 'adjust', '7', '+1'], { home: createHome(), env: behind(proxy) });
  await set(proxy, 7, found - 1);
  expect((await stock())[7]).toBe(found - 1);
  expect(Object.keys(counted(log))).toEqual(['200']);
});

it('a block outlives a proxy that is killed', async () => {
  const { env, log } = await realSandbox(
    { perMinute: 60, perDay: 1_000, minuteMs: 60_000 },
    { fault: [parseFault('status=429,retry-after=100,nth=2')] },
  );
  const home = createHome();
  const ask = async (proxy: ServedProxy): Promise<number> => (await proxy.ask('/inventory')).status;
  const first = await startProxy({ home, env });
  expect([await ask(first), await ask(first)]).toEqual([200, 429]);
  first.kill('SIGKILL');
  await first.exited;
  const second = await startProxy({ home, env });
  expect(await ask(second)).toBe(429);
  expect(counted(log)).toEqual({ 200: 1, 429: 1 });
});

async function curl(url: string, token: string): Promise<string> {
  const args = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '-K', '-', url];
  const stdin = `header = "Authorization: Bearer ${token}"\n`;
  return (await runPetstore(args, { command: ['curl'], stdin })).stdout;
}
