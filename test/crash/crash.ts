/**
 * Imports that are killed with SIGKILL at random moments and resumed until they are done, against a real sandbox:
 * is the final stock what the file sets or adds up to, and was any row sent again that had been acknowledged?
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { nodeClock } from '../../src/node/clock.ts';
import { nodeFiles } from '../../src/node/files.ts';
import { openDatabase } from '../../src/node/sqlite.ts';
import { openStateFile } from '../../src/state/database.ts';
import { Journal } from '../../src/state/journal.ts';
import { startPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';
import { realSandbox } from '../support/real-sandbox.ts';
import { mulberry32 } from '../support/test-ports.ts';

export interface Crashes {
  readonly kills: number;
  readonly imports: number;
  /** Pets whose stock is not what the file says in the end: too little, or added twice. */
  readonly lost: number;
  /** Rows that were sent again after their answer was in the journal. */
  readonly repeated: number;
}

const PETS = 22;
/** A whole import takes less. */
const LONGEST_MS = 350;

export async function crash(kills: number, seed: number, column: 'quantity' | 'delta' = 'quantity'): Promise<Crashes> {
  const random = mulberry32(seed);
  let onRequest = (): void => undefined;
  const plan = { perMinute: 1_000_000, perDay: 1_000_000 };
  const sandbox = await realSandbox(plan, {
    onRequest: () => {
      onRequest();
    },
  });
  const home = createHome();
  const file = join(home.path, 'stock.csv');
  const totals = { kills: 0, imports: 0, lost: 0, repeated: 0 };

  const sentSince = (from: number): bigint[] =>
    sandbox.log
      .slice(from)
      .filter(({ method }) => method === 'PATCH')
      .map(({ target }) => BigInt(target.split('/').at(-1) ?? ''));

  while (totals.kills < kills) {
    const amounts = Array.from({ length: PETS }, () => 1 + Math.floor(random() * 100_000));
    writeFileSync(file, [`petId,${column}`, ...amounts.map((amount, i) => `${i + 1},${amount}`)].join('\n'));
    const first = await sandbox.stock();
    const wanted = amounts.map((amount, i) => (column === 'delta' ? (first[`${i + 1}`] ?? 0) + amount : amount));
    const runsBefore = (await journaled(home.state)).runs;
    let args = ['inventory', 'import', file, '--yes', '--quiet'];
    let acknowledged = new Set<bigint>();
    for (;;) {
      const before = sandbox.log.length;
      const running = startPetstore(args, { home, env: sandbox.env });
      // Half of them after so many requests, while the last one's answer is under way; half at any time.
      let left = 1 + Math.floor(random() * (PETS + 1));
      onRequest = () => {
        if (--left === 0) running.kill('SIGKILL');
      };
      if (random() < 0.5 || totals.kills >= kills) {
        left = Number.POSITIVE_INFINITY;
        if (totals.kills < kills) void wait(random() * LONGEST_MS).then(() => running.kill('SIGKILL'));
      }
      const { code, signal, stderr } = await running.exited;
      totals.repeated += sentSince(before).filter((petId) => acknowledged.has(petId)).length;
      if (signal === 'SIGKILL') totals.kills++;
      else if (code === 0) break;
      else if (!stderr.includes('No run was left unfinished')) throw new Error(`exit ${code}: ${stderr}`);
      const journal = await journaled(home.state);
      acknowledged = journal.acknowledged;
      // Killed after it had ended: a file that adds must not be imported once more.
      if (column === 'delta' && !journal.isUnfinished && journal.runs > runsBefore) break;
      // Killed before it had begun, or after it had ended: the same file once more.
      args = journal.isUnfinished
        ? ['inventory', 'runs', 'resume', '--yes', '--quiet']
        : ['inventory', 'import', file, '--yes', '--quiet'];
    }
    totals.imports++;
    const stock = await sandbox.stock();
    totals.lost += wanted.filter((quantity, i) => stock[`${i + 1}`] !== quantity).length;
  }
  return totals;
}

async function journaled(
  stateHome: string,
): Promise<{ isUnfinished: boolean; acknowledged: Set<bigint>; runs: number }> {
  const ports = {
    clock: nodeClock,
    files: nodeFiles,
    openDatabase,
    random: Math.random,
    signal: new AbortController().signal,
  };
  const state = await openStateFile(ports, join(stateHome, 'petstore', 'state.db'));
  try {
    const journal = new Journal(state);
    const [run] = journal.unfinished();
    const changes = run === undefined ? [] : journal.changesOf(run.id);
    const applied = changes.filter((change) => change.state === 'applied').map(({ petId }) => petId);
    const runs = Number(state.database.get('SELECT count(*) AS runs FROM run')?.runs);
    return { isUnfinished: run !== undefined, acknowledged: new Set(applied), runs };
  } finally {
    state.close();
  }
}
