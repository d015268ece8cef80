/** The system clock that the standalone executable reads; other systems are simulated. */
import { describe, expect, it } from 'vitest';
import { type Dlopen, systemMonotonicMs } from '../../src/node/bun.ts';
import { monotonicMs } from '../../src/node/clock.ts';

interface Call {
  readonly library: string;
  readonly name: string;
  readonly clock?: number;
}

/** Plays a system: writes the numbers of a function where its last argument points to, and notes the call. */
function libraryWith(
  answers: Readonly<Record<string, readonly bigint[]>>,
  code: number,
): { dlopen: Dlopen; calls: Call[] } {
  const calls: Call[] = [];
  const dlopen: Dlopen = (library, functions) => ({
    symbols: Object.fromEntries(
      Object.keys(functions).map((name) => [
        name,
        (...args) => {
          const [clock] = args;
          calls.push({ library, name, ...(typeof clock === 'number' && { clock }) });
          const result = args.at(-1);
          if (typeof result === 'object') answers[name]!.forEach((value, index) => (result[index] = value));
          return code;
        },
      ]),
    ),
  });
  return { dlopen, calls };
}

describe('systemMonotonicMs', () => {
  it.each([
    { platform: 'linux', library: 'libc.so.6', clock: 1 },
    { platform: 'darwin', library: 'libSystem.B.dylib', clock: 4 },
  ])('asks clock_gettime on $platform', ({ platform, library, clock }) => {
    const { dlopen, calls } = libraryWith({ clock_gettime: [86_400n, 123_456_789n] }, 0);
    expect(systemMonotonicMs(platform, dlopen)()).toBe(86_400_123.456);
    expect(calls).toEqual([{ library, name: 'clock_gettime', clock }]);
  });

  it('asks the performance counter on win32, without losing ticks to rounding', () => {
    const { dlopen, calls } = libraryWith(
      { QueryPerformanceCounter: [864_001_234_567n], QueryPerformanceFrequency: [10_000_000n] },
      1,
    );
    const read = systemMonotonicMs('win32', dlopen);
    expect([read(), read()]).toEqual([86_400_123.456, 86_400_123.456]);
    expect(calls).toEqual(
      ['QueryPerformanceFrequency', 'QueryPerformanceCounter', 'QueryPerformanceCounter'].map((name) => ({
        library: 'kernel32.dll',
        name,
      })),
    );
  });

  it('throws where the clock cannot be read', () => {
    const posix = libraryWith({ clock_gettime: [0n, 0n] }, -1);
    expect(systemMonotonicMs('linux', posix.dlopen)).toThrow('the monotonic clock cannot be read');
    const windows = libraryWith({ QueryPerformanceFrequency: [0n] }, 0);
    expect(() => systemMonotonicMs('win32', windows.dlopen)).toThrow('QueryPerformanceFrequency failed');
  });

  it('throws on a system whose clock is not known', () => {
    expect(() => systemMonotonicMs('sunos', libraryWith({}, 0).dlopen)).toThrow(
      'no monotonic clock is known for sunos',
    );
  });
});

describe('monotonicMs', () => {
  it('never goes back', () => {
    const first = monotonicMs();
    expect(monotonicMs()).toBeGreaterThanOrEqual(first);
  });
});
