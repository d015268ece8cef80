/** Handles differences between Node and Bun, which runs the standalone executable. */

/** Bun's version; undefined on Node. */
export const BUN: string | undefined = process.versions.bun;

/** The part of dlopen in bun:ffi (bun.com/docs/runtime/ffi) that is used here. */
export type Dlopen = (
  library: string,
  functions: Readonly<Record<string, { readonly args: readonly string[]; readonly returns: 'i32' }>>,
) => { readonly symbols: Readonly<Record<string, (...args: readonly (number | BigInt64Array)[]) => number>> };

/** By platform: the library with clock_gettime, and the clockid_t. */
const POSIX_CLOCKS: Readonly<Record<string, readonly [library: string, id: number]>> = {
  // CLOCK_MONOTONIC. The loader of musl maps libc.so.6 to itself.
  linux: ['libc.so.6', 1],
  // CLOCK_MONOTONIC_RAW, which is mach_continuous_time; CLOCK_MONOTONIC there moves when the time is adjusted.
  darwin: ['libSystem.B.dylib', 4],
};

/** Returns a function that reads the clock of a platform (process.platform). @throws if that clock is not known. */
export function systemMonotonicMs(platform: string, dlopen: Dlopen): () => number {
  if (platform === 'win32') return performanceCounterMs(dlopen);
  const clock = POSIX_CLOCKS[platform];
  if (clock === undefined) throw new Error(`no monotonic clock is known for ${platform}`);
  const [library, id] = clock;
  const { symbols } = dlopen(library, { clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } });
  // struct timespec: seconds and nanoseconds, 64 bits each.
  const result = new BigInt64Array(2);
  return () => {
    if (symbols.clock_gettime!(id, result) !== 0) throw new Error('the monotonic clock cannot be read');
    return Number(result[0]) * 1_000 + Number(result[1]! / 1_000n) / 1_000;
  };
}

function performanceCounterMs(dlopen: Dlopen): () => number {
  const query = { args: ['ptr'], returns: 'i32' } as const;
  const { symbols } = dlopen('kernel32.dll', { QueryPerformanceCounter: query, QueryPerformanceFrequency: query });
  const result = new BigInt64Array(1);
  const read = (name: 'QueryPerformanceCounter' | 'QueryPerformanceFrequency'): bigint => {
    if (symbols[name]!(result) === 0) throw new Error(`the monotonic clock cannot be read: ${name} failed`);
    return result[0]!;
  };
  const ticksPerSecond = read('QueryPerformanceFrequency');
  return () => Number((read('QueryPerformanceCounter') * 1_000_000n) / ticksPerSecond) / 1_000;
}
