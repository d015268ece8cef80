/**
 * One folder for what Node has compiled, for all processes of a run: like a user's, it is warm after the first. A
 * home folder of a test has none of its own.
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
