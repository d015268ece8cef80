import { configDefaults, defineConfig } from 'vitest/config';

/** Where CI wants the counts. */
const report = process.env.VITEST_REPORT;

/** Where the long tests have been run in full elsewhere, these would tell nothing new on another Node. */
const elsewhere = ['completion/**', 'conformance/**', 'crash/**', 'readme.test.ts', 'release.test.ts'].map(
  (each) => `test/${each}`,
);
const isPart = Number(process.env.PETSTORE_TEST_SCALE ?? 1) < 1;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
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
