/**
 * The README's pictures of a terminal, taken from the program itself on a terminal of 80 columns.
 * `npm run pictures` takes them again; this test compares them with what the program shows now.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';
import { startPty } from '../support/pty.ts';
import { pageHash } from '../support/page-hash.ts';
import { type Run, runsOf } from '../support/screen.ts';
import { control, serveSandbox } from '../support/served.ts';
import { noonZone, steady, steadyLines } from '../support/steady.ts';
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

async function take(): Promise<Run[][]> {
  const home = createHome();
  const shop = await serveSandbox([], { home });
  writeFileSync(join(home.path, 'delivery.csv'), 'petId,delta\n3,24\n12,40\n18,6\n21,2\n');
  const env = {
    PETSTORE_ENV: 'staging',
    PETSTORE_BASE_URL: shop.baseUrl,
    PETSTORE_API_KEY: shop.apiKey,
    COLORTERM: undefined,
    TZ: noonZone(),
  };
  const names = await runPetstore(['--env', 'sandbox', 'catalog', 'list', '-o', 'csv'], { home });
  const kept = await runPetstore(['catalog', 'import', '-'], { home, env, stdin: names.stdout });
  expect(kept.code, kept.stderr).toBe(0);
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
  return steadyLines(lines.slice(0, -1), SIZE.cols);
}

it.each(['1 min', '42 s', '1 min 3 s', '900 ms', '59 min', '1 h 2 min'])('a time of %s is not in a picture', (time) => {
  expect(steady(`9 of 60 requests left, resets in ${time} (09:08:07)`)).toBe(
    '57 of 60 requests left, resets in 42 s (14:03:20)',
  );
  expect(steady(`continuing at 09:08:07 (${time}), try 2/2.`)).toBe('continuing at 14:03:20 (42 s), try 2/2.');
});

it('the rate limit of a full screen is shown after its window, too', () => {
  const run = { colour: -1, ground: -1, bold: false, dim: false, inverse: false };
  const lines = ['', '9 of 60 requests left, resets in 1 s (09:08:07)', '^X apply'].map((text) => [{ ...run, text }]);
  const over = lines.with(1, []);
  const texts = (shown: Run[][]): string[] => shown.map((runs) => runs.map(({ text }) => text).join(''));
  expect(texts(steadyLines(over, 80))).toEqual(texts(steadyLines(lines, 80)));
});

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
