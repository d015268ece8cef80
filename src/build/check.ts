/**
 * Runs the static checks in parallel, and prints the output of each when it has ended. Then runs the tests, unless
 * --static is given.
 *
 * PETSTORE_CHECK_CACHE names a folder that caches the results for each file. Use it only to check the same files
 * several times, as CI does on each Node: the result of a rule that knows types may change when another file has
 * changed.
 */
import { exec, spawnSync } from 'node:child_process';

const cache = process.env.PETSTORE_CHECK_CACHE;
const cached = (flags: (folder: string) => string): string => (cache === undefined ? '' : ` ${flags(cache)}`);

const CHECKS: readonly string[] = [
  `eslint .${cached((folder) => `--cache --cache-strategy content --cache-location ${folder}/eslint`)}`,
  `tsc --project .${cached((folder) => `--incremental --tsBuildInfoFile ${folder}/tsc`)}`,
  'tsc --project src/sandbox/page',
  `prettier --check --log-level warn .${cached((folder) => `--cache --cache-location ${folder}/prettier`)}`,
  'knip',
  'npm run --silent generate -- --check',
];

function run(command: string): Promise<number> {
  return new Promise((resolve) => {
    // Through a shell, which finds node_modules/.bin on every system.
    exec(command, { maxBuffer: Infinity }, (error, stdout, stderr) => {
      if (error !== null) console.error(`${command} failed:\n${stdout}${stderr}`);
      resolve(error === null ? 0 : 1);
    });
  });
}

const codes = await Promise.all(CHECKS.map(run));
process.exitCode = Math.max(...codes);
if (process.exitCode === 0 && !process.argv.includes('--static')) {
  process.exitCode = spawnSync('npm', ['test'], { shell: true, stdio: 'inherit' }).status ?? 1;
}
