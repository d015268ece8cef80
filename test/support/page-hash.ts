/** Hashes the sandbox's page, to tell whether the pictures in docs/sandbox.md show it. */
import { createHash } from 'node:crypto';
import { buildPage } from '../../src/build/page.ts';

export async function pageHash(): Promise<string> {
  const page = `${JSON.stringify(await buildPage(), null, 2)}\n`;
  return createHash('sha256').update(page).digest('hex').slice(0, 16);
}
