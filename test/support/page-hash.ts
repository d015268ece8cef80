/** Which page of the sandbox the pictures in docs/sandbox.md show. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export function pageHash(): string {
  const page = readFileSync(new URL('../../src/sandbox/page.json', import.meta.url));
  return createHash('sha256').update(page).digest('hex').slice(0, 16);
}
