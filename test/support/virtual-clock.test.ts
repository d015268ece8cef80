import { expect, test } from 'vitest';
import { START, VirtualClock } from './virtual-clock.ts';

test('those due together wake together, in due order, at their own instant', async () => {
  const clock = new VirtualClock({ now: 0, monotonic: 0 });
  const woken: [string, number][] = [];
  const sleeper = async (name: string, ms: number): Promise<void> => {
    await clock.sleep(ms);
    woken.push([name, clock.monotonic()]);
  };
  const all = Promise.all([sleeper('c', 30), sleeper('a', 10), sleeper('b', 10), sleeper('late', 31)]);
  await clock.advance(30);
  expect(woken).toEqual([
    ['a', 10],
    ['b', 10],
    ['c', 30],
  ]);
  expect(clock.sleeping).toEqual([1]);
  await clock.advance(1);
  await all;
});

test('a sleep that begins during an advance has its time in it', async () => {
  const clock = new VirtualClock({ monotonic: 0 });
  const ticks: number[] = [];
  const ticker = (async () => {
    for (let i = 0; i < 3; i++) {
      await clock.sleep(1_000);
      ticks.push(clock.monotonic());
    }
  })();
  await clock.advance(3_500);
  await ticker;
  expect([ticks, clock.monotonic(), clock.now()]).toEqual([[1_000, 2_000, 3_000], 3_500, START + 3_500]);
});

test.each(['before', 'during'] as const)('a signal that aborts %s the sleep rejects with its reason', async (when) => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const reason = new Error('stop');
  if (when === 'before') controller.abort(reason);
  const sleep = clock.sleep(1_000, controller.signal);
  controller.abort(reason);
  await expect(sleep).rejects.toBe(reason);
  expect(clock.sleeping).toEqual([]);
});

test('stepping the wall clock wakes no sleeper; a suspended machine wakes them late', async () => {
  const clock = new VirtualClock({ now: 0, monotonic: 0 });
  const woken = clock.sleep(60_000).then(() => [clock.now(), clock.monotonic()]);
  clock.stepWall(3_600_000);
  clock.suspend(10_000);
  expect([clock.now(), clock.monotonic(), clock.sleeping]).toEqual([3_610_000, 0, [60_000]]);
  clock.suspend(70_000, 'runs');
  expect(await woken).toEqual([3_680_000, 70_000]);
});

test('with autoAdvance sleepers wake by themselves, and alarms on the way ring', async () => {
  const clock = new VirtualClock({ monotonic: 0, autoAdvance: true });
  const rung: number[] = [];
  clock.alarm(500, () => rung.push(clock.monotonic()));
  const cancel = clock.alarm(600, () => rung.push(clock.monotonic()));
  cancel();
  await clock.sleep(86_400_000);
  expect([rung, clock.monotonic()]).toEqual([[500], 86_400_000]);
});

test('with autoAdvance an alarm alone does not ring, and nothing moves while time is held', async () => {
  const clock = new VirtualClock({ monotonic: 0, autoAdvance: true });
  const happened: string[] = [];
  clock.alarm(100, () => happened.push('alarm'));
  const release = clock.hold();
  const sleep = clock.sleep(50).then(() => happened.push('sleeper'));
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect([happened, clock.sleeping, clock.alarms]).toEqual([[], [50], [100]]);
  release();
  await sleep;
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect([happened, clock.monotonic()]).toEqual([['sleeper'], 50]);
});

test('whenSleeping tells as soon as so many sleep', async () => {
  const clock = new VirtualClock();
  const sleeping = clock.whenSleeping(2).then(() => clock.sleeping);
  const sleeps = [clock.sleep(5), clock.sleep(7)];
  expect(await sleeping).toEqual([5, 7]);
  await clock.advance(7);
  await Promise.all(sleeps);
});
