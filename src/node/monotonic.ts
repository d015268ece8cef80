/**
 * Milliseconds since the machine was started, of the one clock that its processes share: CLOCK_MONOTONIC
 * (clock_gettime(2)). Node's process.hrtime is that on Linux. Bun's counts from the start of its own process, by
 * which no two would agree what is over in the ledger: there, the C library is asked.
 */
export const monotonicMs: () => number = process.versions.bun === undefined ? nodeMonotonicMs : bunMonotonicMs();

function nodeMonotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** As much of bun:ffi (bun.com/docs/runtime/ffi) as is used here. */
interface Ffi {
  dlopen(
    library: string,
    functions: Readonly<Record<string, { readonly args: readonly string[]; readonly returns: string }>>,
  ): { readonly symbols: Readonly<Record<'clock_gettime', (clock: number, result: BigInt64Array) => number>> };
}

function hasDlopen(ffi: object | undefined): ffi is Ffi {
  return ffi !== undefined && 'dlopen' in ffi;
}

const CLOCK_MONOTONIC = 1;

/** @throws where the library is missing: without the clock nothing may be sent. */
function bunMonotonicMs(): () => number {
  const ffi: object | undefined = process.getBuiltinModule('bun:ffi');
  if (!hasDlopen(ffi)) throw new Error('bun:ffi is missing');
  const { symbols } = ffi.dlopen('libc.so.6', { clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } });
  // struct timespec: seconds and nanoseconds, 64 bits each.
  const result = new BigInt64Array(2);
  return () => {
    if (symbols.clock_gettime(CLOCK_MONOTONIC, result) !== 0) throw new Error('the monotonic clock cannot be read');
    return Number(result[0]) * 1_000 + Number(result[1]! / 1_000n) / 1_000;
  };
}
