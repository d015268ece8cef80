/**
 * What the shared ledger costs one `inventory set`: the same command with the ledger in the state database, and with
 * one in memory (its state folder cannot be used), in pairs, against a service of its own. Markdown on stdout.
 *
 *   npm run bench -- ledger [--runs 100] [--assert]
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable, median, spread } from './report.ts';
import { PETSTORE, readArguments, withService } from './service.ts';

/** What the ledger may add, at the median, ms. */
const MOST_MS = 5;
const WARM_UPS = 3;

const { runs, assert } = readArguments(process.argv.slice(2), 100);
process.exitCode = await withService(({ env, home }) => {
  // A file where the folder should be: petstore says so, and keeps the ledger in memory.
  const noFolder = join(home, 'no-folder');
  writeFileSync(noFolder, '');
  const timed = (state: string): number => {
    const command = [PETSTORE, '--env', 'staging', 'inventory', 'set', '7', '12'];
    const started = process.hrtime.bigint();
    const { status, stderr } = spawnSync(process.execPath, command, { env: { ...env, XDG_STATE_HOME: state } });
    const ms = Number(process.hrtime.bigint() - started) / 1e6;
    const isShared = !stderr.includes('cannot be shared');
    if (status !== 0 || isShared !== (state !== noFolder)) throw new Error(stderr.toString());
    return ms;
  };
  const pairs: { database: number; memory: number }[] = [];
  for (let run = -WARM_UPS; run < runs; run++) {
    // Whoever comes second finds the machine warm: they take turns at that too.
    const first = run % 2 === 0 ? timed(join(home, 'state')) : timed(noFolder);
    const second = run % 2 === 0 ? timed(noFolder) : timed(join(home, 'state'));
    if (run >= 0) pairs.push(run % 2 === 0 ? { database: first, memory: second } : { database: second, memory: first });
  }
  const added = median(pairs.map(({ database, memory }) => database - memory));
  const [database, memory] = [pairs.map((pair) => pair.database), pairs.map((pair) => pair.memory)];
  const ratios = pairs.map((pair) => pair.database / pair.memory);
  console.log(
    markdownTable(
      ['`inventory set`, the ledger', 'ratio', 'median, ms', 'fastest – slowest, ms'],
      [
        ['in memory', '1.00', median(memory).toFixed(1), spread(memory, 1)],
        ['in the state database', median(ratios).toFixed(2), median(database).toFixed(1), spread(database, 1)],
      ],
    ),
  );
  console.log(`\nOver ${runs} pairs it adds ${added.toFixed(1)} ms at the median (at most ${MOST_MS}).`);
  return assert && added > MOST_MS ? 1 : 0;
});
