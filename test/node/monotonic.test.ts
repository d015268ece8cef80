/** The system clock that the standalone executable reads; other systems are simulated. */
import { describe, expect, it } from 'vitest';
import { type Dlopen, systemMonotonicMs } from '../../src/node/bun.ts';

/** Plays a system's library: each function returns the code, and writes its numbers into its last argument. */
function playing(answers: Readonly<Record<string, readonly bigint[]>>, code: number) {
  const calls: unknown[] = [];
  const dlopen: Dlopen = (library, functions) => {
    const symbols = Object.keys(functions).map((name) => [
      name,
      (...args: readonly (number | BigInt64Array)[]) => {
        calls.push([library, name, ...args.slice(0, -1)]);
        (args.at(-1) as BigInt64Array).set(answers[name] ?? []);
        return code;
      },
    ]);
    return { symbols: Object.fromEntries(symbols) as Readonly<Record<string, () => number>> };
  };
  return { dlopen, calls };
}

describe('systemMonotonicMs', () => {
  it.each([
    ['linux', 'libc.so.6', 1],
    ['darwin', 'libSystem.B.dylib', 4],
  ])('asks clock_gettime on %s', (platform, library, clock) => {
    const { dlopen, calls } = playing({ clock_gettime: [86_400n, 123_456_789n] }, 0);
    expect(systemMonotonicMs(platform, dlopen)()).toBe(86_400_123.456);
    expect(calls).toEqual([[library, 'clock_gettime', clock]]);
  });

  it('asks the performance counter on win32, without losing ticks to rounding', () => {
    const numbers = { QueryPerformanceCounter: [864_001_234_567n], QueryPerformanceFrequency: [10_000_000n] };
    const { dlopen, calls } = playing(numbers, 1);
    expect(systemMonotonicMs('win32', dlopen)()).toBe(86_400_123.456);
    expect(calls).toEqual([
      ['kernel32.dll', 'QueryPerformanceFrequency'],
      ['kernel32.dll', 'QueryPerformanceCounter'],
    ]);
  });

  it.each([
    ['linux', -1, 'the monotonic clock cannot be read'],
    ['win32', 0, 'QueryPerformanceFrequency failed'],
    ['sunos', 0, 'no monotonic clock is known for sunos'],
  ])('throws if the clock cannot be read: %s', (platform, code, message) => {
    expect(() => systemMonotonicMs(platform, playing({}, code).dlopen)()).toThrow(message);
  });
});
