/**
 * Provides one compile cache for all processes of a test run, because a test's home folder has none. Like a user's, it
 * is warm after the first process.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-compiled-'));
  process.env.PETSTORE_TEST_CACHE = folder;
  return () => {
    rmSync(folder, { recursive: true, force: true });
  };
}
