/**
 * Compares the README's pictures of a terminal with what the program now shows on a terminal of 80 columns.
 * `npm run pictures` takes them again.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';
import { play, type Scene } from '../support/pty.ts';
import { pageHash } from '../support/page-hash.ts';
import { expectKept, PLAIN, type Run, runsOf, withoutEmptyEnd } from '../support/screen.ts';
import { control, serveSandbox } from '../support/served.ts';
import { staging } from '../support/staging.ts';
import { noonZone, steadyLines } from '../support/steady.ts';
import { THEMES, toSvg } from '../support/svg.ts';

const SIZE = { cols: 80, rows: 20 };
const SAYS =
  'A terminal: the table in which stock is changed, the stock that runs out, a delivery added by barcode after its changes have been shown, and a wait for the rate limit with its countdown.';

interface Command extends Scene {
  /** What goes wrong from here on. */
  readonly fault?: string;
}

/** The first one is the picture where nothing moves; after the last one the key is blocked. */
const FRAMES: readonly (readonly Command[])[] = [
  [
    {
      command: 'petstore inventory browse',
      isFullScreen: true,
      typed: [
        [/Type to search/, '\x1b[B-1\r'],
        [/1 change to apply/, '\x1b[B\x1b[B\x1b[B=18\r'],
      ],
      killedAt: /2 changes to apply/,
    },
  ],
  [{ command: 'petstore inventory list --low' }, { command: 'petstore inventory adjust 7 -1 --cause sold' }],
  [{ command: 'petstore inventory import delivery.csv', typed: [[/Add 4 rows/, 'y\r']] }],
  [{ command: 'petstore inventory list', fault: 'status=429,retry-after=40', killedAt: /Ctrl-C/ }],
];

const DELIVERY = 'barcode,delta\n2000000000022,24\n2000000000053,10\n2000000000114,8\n2000000000121,4\n';

async function take(): Promise<Run[][][]> {
  const home = createHome();
  const shop = await serveSandbox([], { home });
  const names = await runPetstore(['--env', 'sandbox', 'catalog', 'list', '-o', 'csv'], { home });
  const env = {
    ...staging(shop.baseUrl, shop.apiKey),
    COLORTERM: undefined,
    TZ: noonZone(),
  };
  const kept = await runPetstore(['catalog', 'import', '-'], { home, env, stdin: names.stdout });
  expect(kept.code, kept.stderr).toBe(0);
  writeFileSync(join(home.path, 'delivery.csv'), DELIVERY);
  const frames: Run[][][] = [];
  for (const commands of FRAMES) {
    const lines: Run[][] = [];
    for (const { fault, ...scene } of commands) {
      await control(shop.port, 'PUT', '/faults', fault === undefined ? [] : [fault]);
      const { output } = await play(scene, { home, env, cwd: home.path, ...SIZE });
      const prompt: Run[] = [
        { ...PLAIN, text: '$ ', dim: true },
        { ...PLAIN, text: scene.command, bold: true },
      ];
      lines.push(...(scene.isFullScreen === true ? [] : [prompt]), ...withoutEmptyEnd(await runsOf(output, SIZE)), []);
    }
    frames.push(steadyLines(lines.slice(0, -1), SIZE.cols));
  }
  return frames;
}

it('show what the program shows', async () => {
  const frames = await take();
  for (const name of ['light', 'dark'] as const) {
    const file = fileURLToPath(new URL(`../../.github/terminal-${name}.svg`, import.meta.url));
    expectKept(file, toSvg(frames, SIZE.cols, THEMES[name], SAYS));
  }
});

it('of the sandbox’s page are of the page as it is', async () => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/sandbox.md', import.meta.url)), 'utf8');
  const [, shown] = /<!-- sandbox-page: ([0-9a-f]+) -->/.exec(page) ?? [];
  expect(shown, 'npm run pictures takes them again').toBe(await pageHash());
});
