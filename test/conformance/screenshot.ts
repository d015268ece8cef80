/**
 * Takes the pictures of the sandbox's page in docs/sandbox.md, light and dark, after a few requests to a real server.
 *
 *   npm run pictures
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageHash } from '../support/page-hash.ts';
import { missing, openBrowser } from './browser.ts';

const why = missing();
if (why !== undefined) throw new Error(why);

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'petstore-page-'));
const args = ['sandbox', 'serve', '--json', '--quiet', '--data', join(folder, 'shop.db'), '--per-minute', '8'];
const server = spawn(process.execPath, [join(ROOT, 'bin/petstore.js'), ...args, '--fault', 'status=503,nth=4'], {
  env: { PATH: process.env.PATH, HOME: folder },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const browser = await openBrowser();
try {
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  const { baseUrl, page: address } = JSON.parse(line.toString()) as { baseUrl: string; page: string };
  const headers = { authorization: 'Bearer sandbox', 'content-type': 'application/json' };
  for (const pet of [7, 12, 999, 4, 5, 6, 8]) {
    await fetch(`${baseUrl}/inventory/${pet}`, { method: 'PATCH', headers, body: `{"quantity":${pet + 5}}` });
  }
  for (let i = 0; i < 2; i++) await fetch(`${baseUrl}/inventory`, { headers });
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ colorScheme, viewport: { width: 1_000, height: 820 } });
    await page.goto(address);
    await page.getByText(/must wait until/).waitFor();
    await page.screenshot({ path: join(ROOT, `.github/sandbox-${colorScheme}.png`) });
  }
  // What a test compares: pictures themselves differ from one browser to the next.
  const document = join(ROOT, 'docs/sandbox.md');
  const hash = await pageHash();
  const noted = readFileSync(document, 'utf8').replace(/(<!-- sandbox-page: )[0-9a-f]*/, `$1${hash}`);
  writeFileSync(document, noted);
} finally {
  await browser.close();
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}
