/**
 * The checks that run nothing of the program, side by side; what each says comes in one piece when it has ended. Then
 * the tests, but with --static.
 *
 * With PETSTORE_CHECK_CACHE, a folder, what has been found of a file is not looked for again. That is for who checks
 * the same files several times, as CI does on each Node: a rule that knows types may say something else of a file
 * when another one has changed.
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
    // A shell finds what is in node_modules/.bin, on every system.
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
