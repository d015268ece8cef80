import { defineConfig } from 'vitest/config';

/** The tests that every mutant of the governor and of the header parser has to get past. */
export default defineConfig({
  test: {
    root: '.',
    include: ['test/limits/{governor,governor-edges,headers,http-date}.test.ts'],
    env: { TZ: 'UTC' },
  },
});
