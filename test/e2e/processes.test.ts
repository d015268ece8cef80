/** Many real processes with one key, checked against the sandbox's own log; spent windows are in test/rate-limit/. */
import { expect, it } from 'vitest';
import type { Plan } from '../../src/sandbox/plans.ts';
import { runPetstore, type Running, startPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';
import { counted, realSandbox } from '../support/real-sandbox.ts';
import { scaled } from '../support/scale.ts';
import { mulberry32 } from '../support/test-ports.ts';

it('60 processes on one ledger, 24 of them killed at any moment: no 429, and the others are done', async () => {
  const plan: Plan = { perMinute: 1_000, perDay: 10_000, minuteMs: 3_600_000 };
  const random = mulberry32(80);
  const kills = scaled(24);
  const running = new Set<Running>();
  const killed = new Set<Running>();
  const kill = (): void => {
    const victims = [...running].filter((each) => !killed.has(each));
    const victim = victims[Math.floor(random() * victims.length)];
    if (victim === undefined || killed.size >= kills || random() < 0.2) return;
    killed.add(victim);
    victim.kill('SIGKILL');
  };
  const { env, log } = await realSandbox(plan, { onRequest: kill });
  const home = createHome();
  // Its headers make the window known, so that no process waits for the probe of a killed one.
  expect((await runPetstore(['inventory', 'list'], { home, env })).code).toBe(0);

  let left = scaled(60);
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
  expect(killed.size).toBe(kills);
  expect(Object.keys(counted(log))).toEqual(['200']);
  const shown = await runPetstore(['limits', '--json'], { home, env });
  const { remaining, inFlight } = JSON.parse(shown.stdout) as { remaining: number; inFlight: unknown[] };
  // Whatever was under way when its process was killed counts as sent: never more than the service would allow.
  expect(remaining - inFlight.length).toBeLessThanOrEqual(1_000 - log.length);
});
