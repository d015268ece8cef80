import { defineConfig } from 'vitest/config';

/** The tests that every mutant of the rate limit's core has to get past: those that take no processes and no servers. */
export default defineConfig({
  test: {
    root: '.',
    include: [
      'test/rate-limit/{governor,governor-edges,headers,gate,dead,reserve-file,redis-ledger}.test.ts',
      'test/http/http-date.test.ts',
      'test/client/attempt.test.ts',
    ],
    env: { TZ: 'UTC' },
  },
});
