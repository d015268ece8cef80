import { readdirSync, readFileSync } from 'node:fs';
import { configDefaults, defineConfig } from 'vitest/config';

/** Where CI wants the counts. */
const report = process.env.VITEST_REPORT;

/** Where the long tests have been run in full elsewhere, these would tell nothing new on another Node. */
const elsewhere = [
  'completion/**',
  'conformance/**',
  'crash/**',
  'limiters/**',
  'readme.test.ts',
  'release.test.ts',
].map((each) => `test/${each}`);
const isPart = Number(process.env.PETSTORE_TEST_SCALE ?? 1) < 1;

/** What runs the program as a process: all that another build of it, PETSTORE_BIN, has to be tried with. */
function blackBoxTests(): string[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
    .map((path) => `test/${path}`)
    .filter((path) => /support\/(binary|faults|pty|real-sandbox|served|staging)\.ts/.test(readFileSync(path, 'utf8')));
}

export default defineConfig({
  test: {
    include: process.env.PETSTORE_BIN === undefined ? ['test/**/*.test.ts'] : blackBoxTests(),
    exclude: [...configDefaults.exclude, ...(isPart ? elsewhere : [])],
    env: { TZ: 'UTC' },
    globalSetup: ['test/support/compile-cache.ts'],
    // Most tests wait for processes, not for a processor.
    maxWorkers: 4,
    testTimeout: 30_000,
    restoreMocks: true,
    reporters: report === undefined ? ['default'] : ['dot', ['json', { outputFile: report }]],
  },
});
