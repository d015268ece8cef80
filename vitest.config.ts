import { configDefaults, defineConfig } from 'vitest/config';

/** Where CI wants the counts. */
const report = process.env.VITEST_REPORT;

/** Where the long tests have been run in full elsewhere, these would tell nothing new on another Node. */
const elsewhere = [
  'e2e/completion.test.ts',
  'conformance/**',
  'crash/**',
  'limiters/**',
  'rate-limit/{simulation,every-state}.test.ts',
  'e2e/{docs,fleet}.test.ts',
].map((each) => `test/${each}`);
/** What runs the program in shells and terminals, sends it signals, or reads /proc: it has been run on Linux only. */
const onLinux = ['e2e/**', 'conformance/**', 'crash/**', 'limiters/**', 'node/**', 'support/**'].map(
  (each) => `test/${each}`,
);
const isPart = Number(process.env.PETSTORE_TEST_SCALE ?? 1) < 1;

/** Tests that run the built program: those that another build of it, PETSTORE_BIN, is tried with. */
const blackBox = ['test/e2e/**/*.test.ts', 'test/conformance/**/*.test.ts'];

export default defineConfig({
  test: {
    include: process.env.PETSTORE_BIN === undefined ? ['test/**/*.test.ts'] : blackBox,
    exclude: [
      ...configDefaults.exclude,
      ...(isPart ? elsewhere : []),
      ...(process.platform === 'linux' ? [] : onLinux),
    ],
    env: { TZ: 'UTC' },
    globalSetup: ['test/support/compile-cache.ts'],
    // Most tests wait for processes, not for a processor.
    maxWorkers: 7,
    // Files share what a worker has loaded: no test changes a module.
    isolate: false,
    // For what hangs. However busy a machine is, what works is done by then: no test has a time of its own that is shorter.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 100_000 } },
    restoreMocks: true,
    reporters: report === undefined ? ['default'] : ['dot', ['json', { outputFile: report }]],
  },
});
