/** Which ledger there is: the one in the state database, or, where that cannot be used, one for this run alone. */
import { isFailure } from '../errors.ts';
import type { Ledger } from '../limits/ledger.ts';
import { MemoryLedgers } from '../limits/memory-ledger.ts';
import { sqliteLedger } from '../limits/sqlite-ledger.ts';
import { openState } from '../state/database.ts';
import { stateFolder } from './folders.ts';
import type { CommandContext } from './globals.ts';

export interface OpenLedger {
  readonly ledger: Ledger;
  /** How many requests may follow a 429. */
  readonly probes: number;
  close(): void;
}

/**
 * The ledger in the state database. Where that cannot be used, petstore knows of no other process: it says so,
 * and does not try again after a 429.
 * @throws {Failure} `state`: another process holds it
 */
export async function openLedger(
  context: CommandContext,
  { ledgerOrigin, apiKey }: { ledgerOrigin: string; apiKey: string },
): Promise<OpenLedger> {
  try {
    const state = await openState(context, stateFolder(context));
    if (state.putAside !== undefined) {
      context.notices.warning(`The state database was damaged; it is now ${state.putAside}, and a new one was begun.`);
    }
    return {
      ledger: sqliteLedger(context, state, ledgerOrigin, apiKey),
      probes: 1,
      close: () => {
        state.close();
      },
    };
  } catch (error) {
    if (!isFailure(error) || (error.is('state') && error.facts.problem === 'held')) throw error;
    context.notices.warning(
      'Rate limits cannot be shared with other runs of petstore, because its state folder cannot be used: ' +
        'a 429 ends this command.',
    );
    return {
      ledger: new MemoryLedgers(context.clock).of(ledgerOrigin, apiKey),
      probes: 0,
      close: () => undefined,
    };
  }
}
