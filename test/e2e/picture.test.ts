/**
 * The README's pictures of a terminal, taken from the program itself on a terminal of 80 columns.
 * `npm run pictures` takes them again; this test compares them with what the program shows now.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { createHome } from '../support/home.ts';
import { startPty } from '../support/pty.ts';
import { pageHash } from '../support/page-hash.ts';
import { type Run, runsOf } from '../support/screen.ts';
import { control, serveSandbox } from '../support/served.ts';
import { THEMES, toSvg } from '../support/svg.ts';

const SIZE = { cols: 80, rows: 24 };
const SAYS =
  'A terminal: the stock that runs out, one pet set, a delivery imported after its difference has been shown, and a wait for the rate limit with its countdown.';

interface Scene {
  readonly command: string;
  readonly typed?: readonly (readonly [RegExp, string])[];
  /** What goes wrong from here on. */
  readonly fault?: string;
  /** The picture is taken here, and the command ended. */
  readonly until?: RegExp;
}

const SCENES: readonly Scene[] = [
  { command: 'petstore inventory list --max 2 --status available' },
  { command: 'petstore inventory set 7 12' },
  { command: 'petstore inventory import delivery.csv', typed: [[/(Add 4 rows to the stock|Set 4 pets)/, 'y\r']] },
  { command: 'petstore inventory list', fault: 'status=429,retry-after=40', until: /Ctrl-C/ },
];

/** Times and addresses are the machine's, not the program's. */
function steady(text: string): string {
  return text
    .replace(/\b\d\d:\d\d:\d\d\b/g, '14:03:20')
    .replace(/(?<before>resets in |14:03:20 \()(\d+ min )?\d+ s/g, '$<before>42 s');
}

async function take(): Promise<Run[][]> {
  const home = createHome();
  const shop = await serveSandbox([], { home });
  writeFileSync(join(home.path, 'delivery.csv'), 'petId,delta\n3,24\n12,40\n18,6\n21,2\n');
  const env = {
    PETSTORE_ENV: 'staging',
    PETSTORE_BASE_URL: shop.baseUrl,
    PETSTORE_API_KEY: shop.apiKey,
    COLORTERM: undefined,
  };
  const lines: Run[][] = [];
  for (const { command, typed = [], fault, until } of SCENES) {
    if (fault !== undefined) await control(shop.port, 'PUT', '/faults', [fault]);
    const pty = startPty(command.split(' ').slice(1), { home, env, cwd: home.path, ...SIZE });
    for (const [match, text] of typed) {
      await pty.waitFor(match);
      pty.write(text);
    }
    if (until !== undefined) {
      await pty.waitFor(until);
      pty.kill('SIGKILL');
    }
    await pty.exited;
    const shown = await runsOf(pty.output, SIZE);
    const last = shown.findLastIndex((runs) => runs.some(({ text }) => text.trim() !== ''));
    const prompt: Run[] = [
      { text: '$ ', colour: -1, ground: -1, bold: false, dim: true, inverse: false },
      { text: command, colour: -1, ground: -1, bold: true, dim: false, inverse: false },
    ];
    lines.push(prompt, ...shown.slice(0, last + 1), []);
  }
  return lines.slice(0, -1).map((runs) => runs.map((run) => ({ ...run, text: steady(run.text) })));
}

it('show what the program shows', { timeout: 60_000 }, async () => {
  const lines = await take();
  for (const name of ['light', 'dark'] as const) {
    const file = fileURLToPath(new URL(`../../.github/terminal-${name}.svg`, import.meta.url));
    const svg = toSvg(lines, SIZE.cols, THEMES[name], SAYS);
    if (process.env.PETSTORE_SCREENS === 'take') writeFileSync(file, svg);
    else expect(readFileSync(file, 'utf8'), 'npm run pictures takes it again').toBe(svg);
  }
});

it('of the sandbox’s page are of the page as it is', async () => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/sandbox.md', import.meta.url)), 'utf8');
  const [, shown] = /<!-- sandbox-page: ([0-9a-f]+) -->/.exec(page) ?? [];
  expect(shown, 'npm run pictures takes them again').toBe(await pageHash());
});
