import { defineConfig } from 'vitest/config';

/** Where CI wants the counts. */
const report = process.env.VITEST_REPORT;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    env: { TZ: 'UTC' },
    // Most tests wait for processes, not for a processor.
    maxWorkers: 4,
    testTimeout: 30_000,
    restoreMocks: true,
    reporters: report === undefined ? ['default'] : ['dot', ['json', { outputFile: report }]],
  },
});
