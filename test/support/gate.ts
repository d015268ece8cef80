import { type GateOptions, LedgerGate } from '../../src/rate-limit/gate.ts';

/** Returns the gate of one process, as a command has it unless its options say otherwise. */
export function gateWith(options: Pick<GateOptions, 'ledger' | 'clock'> & Partial<GateOptions>): LedgerGate {
  return new LedgerGate({
    address: '@5d0c2f',
    owner: 'process 1',
    random: () => 0,
    maxWaitMs: 75_000,
    timeoutMs: 30_000,
    probes: 1,
    reserve: 0,
    signal: new AbortController().signal,
    onWait: () => undefined,
    ...options,
  });
}
