/**
 * Measures the cost of safety: a list with the ledger in the state database and one with a ledger in memory (the state
 * folder is unusable), in pairs, against its own service. Then measures how many requests per second each kind of
 * ledger handles. Prints Markdown on stdout.
 *
 *   npm run bench -- ledger [--runs 150] [--seconds 5] [--assert]
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HEAD, measureLedgers } from './ledger-load.ts';
import { markdownTable, median, readOptions, spread } from './report.ts';
import { PETSTORE, withService } from './service.ts';

/** How long a list may take, at the median, times one with its ledger in memory. */
const MOST_RATIO = 1.09;
const WARM_UPS = 3;

const values = readOptions({ runs: '150', seconds: '5' });

interface Pair {
  readonly database: number;
  readonly memory: number;
}

process.exitCode = await withService(async ({ env, home }) => {
  // A file where the folder should be: petstore says so, and keeps the ledger in memory.
  const noFolder = join(home, 'no-folder');
  writeFileSync(noFolder, '');
  const timed = (command: string, state: string): number => {
    const started = process.hrtime.bigint();
    const { status, stderr } = spawnSync(process.execPath, [PETSTORE, '--env', 'staging', ...command.split(' ')], {
      // Each has its own compiled code: what is kept of a command is what its first run has needed.
      env: { ...env, XDG_STATE_HOME: state, XDG_CACHE_HOME: `${state}-cache` },
    });
    const ms = Number(process.hrtime.bigint() - started) / 1e6;
    const isShared = !stderr.includes('cannot be shared');
    if (status !== 0 || isShared !== (state !== noFolder)) throw new Error(stderr.toString());
    return ms;
  };
  const command = 'inventory list --pet 7';
  const pairs: Pair[] = [];
  for (let run = -WARM_UPS; run < Number(values.runs); run++) {
    // The second run finds the machine warm, so the two alternate.
    const isFirst = run % 2 === 0;
    const before = isFirst ? undefined : timed(command, noFolder);
    const database = timed(command, join(home, 'state'));
    const memory = before ?? timed(command, noFolder);
    if (run >= 0) pairs.push({ database, memory });
  }
  const added = pairs.map(({ database, memory }) => database - memory);
  const ratio = median(pairs.map(({ database, memory }) => database / memory));
  const row = [
    '`inventory list`: the ledger',
    `${ratio.toFixed(2)} (at most ${MOST_RATIO})`,
    median(added).toFixed(1),
    spread(added, 1),
    median(pairs.map(({ memory }) => memory)).toFixed(1),
  ];
  const head = ['', 'ratio to a ledger in memory', 'added, median, ms', 'added, least – most, ms'];
  console.log(markdownTable([...head, 'in memory, median, ms'], [row]));
  const loads = await measureLedgers(home, Number(values.seconds) * 1_000);
  console.log(`\n${markdownTable(HEAD, loads)}`);
  return values.assert && ratio > MOST_RATIO ? 1 : 0;
});
