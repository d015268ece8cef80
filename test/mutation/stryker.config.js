/**
 * Changes one place of the code at a time, and runs its folder's tests. Those of the built program do not see changes.
 * MUTATE: the folder of src/, default rate-limit. SAMPLE=5: only the first twelve of each sixty lines.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { env } from 'node:process';

/** @type {Record<string, string>} */
const TESTS = {
  'rate-limit': 'test/rate-limit --exclude "test/rate-limit/{simulation,every-state}.test.ts"',
  client: 'test/client test/commands/{inventory,api,list}.test.ts test/stock/writes.test.ts test/e2e/smoke.test.ts',
  stock: 'test/stock test/commands/inventory.test.ts test/e2e/edit.test.ts --exclude test/stock/writes.test.ts',
};
const RANGE = 12;

const { MUTATE: part = 'rate-limit', SAMPLE: sample = '1' } = env;
const folder = `src/${part}`;
// What runs inside Redis is not JavaScript.
const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && name !== 'lease-script.ts');

/** @param {string} file */
function sampleOf(file) {
  if (sample === '1') return [file];
  const lines = readFileSync(file, 'utf8').split('\n').length;
  const starts = Array.from(
    { length: Math.ceil(lines / (RANGE * Number(sample))) },
    (_, i) => 1 + i * RANGE * Number(sample),
  );
  return starts.map((start) => `${file}:${start}-${Math.min(lines, start + RANGE - 1)}`);
}

export default {
  testRunner: 'command',
  commandRunner: { command: `vitest run --bail 1 --reporter dot ${TESTS[part]}` },
  mutate: files.flatMap((name) => sampleOf(`${folder}/${name}`)),
  ignorePatterns: ['coverage'],
  tempDirName: '.stryker-tmp',
  reporters: ['clear-text'],
  clearTextReporter: { logTests: false, allowColor: false },
  concurrency: 2,
  // Two at a time take twice as long as the first run: a test that is only slow must not count as one that failed.
  timeoutFactor: 4,
  thresholds: { high: 95, low: 90, break: 90 },
};
