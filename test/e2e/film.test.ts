/**
 * The README's moving pictures: a delivery and the full screen, recorded from the program on a terminal.
 * `npm run pictures` takes them again; this test compares them with what the program shows now.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { createHome } from '../support/home.ts';
import { type Pty, startPty } from '../support/pty.ts';
import { type Run, runsOf } from '../support/screen.ts';
import { type Frame, THEMES, toFilm } from '../support/svg.ts';

const SIZE = { cols: 80, rows: 20 };
const SAYS =
  'A terminal: a delivery is added to the stock after its changes are shown, then pets are searched, changed and applied on the whole screen.';

const RIGHT = '\u001b[C';

/** What is typed, what the screen then shows, and for how long the film does, ms. */
type Step = readonly [keys: string, shows: RegExp, ms: number];

interface Scene {
  readonly command: string;
  readonly steps: readonly Step[];
  /** Ends the program. */
  readonly ends?: string;
}

const SCENES: readonly Scene[] = [
  {
    command: 'petstore inventory import delivery.csv',
    steps: [
      ['', /Add 4 rows to the stock in sandbox\? \(y\/N\)/, 3_500],
      ['y\r', /4 applied\.[^]*requests left/, 3_000],
    ],
  },
  {
    command: 'petstore inventory browse',
    steps: [
      ['', /25 pets[^]*Goldfish[^]*requests left[^]*leave/, 2_000],
      ['f', /Search: f/, 400],
      ['i', /Search: fi/, 400],
      ['n', /Search: fin[^]*\bfinch/, 1_200],
      ['\u007f\u007f\u007f', /25 pets(?![^]*Search: f)/, 400],
      ['g', /Search: g/, 400],
      ['o', /Search: go/, 400],
      ['l', /Search: gol/, 400],
      ['d', /Search: gold[^]*Goldfish/, 1_000],
      [RIGHT, /→ 23 \+1/, 400],
      [RIGHT, /→ 24 \+2/, 1_000],
      ['=', /Quantity of pet 7/, 800],
      ['-3\r', /→ 21 -1|→ 19 -3/, 1_500],
      ['\u0018', /in sandbox\? \(Y?y?\/N?n?\)/i, 2_500],
      ['y\r', /1 applied\./, 3_500],
    ],
    ends: '\u0003',
  },
];
/** For readers who prefer no motion. */
const STILL = SCENES[0]!.steps.length + SCENES[1]!.steps.findIndex(([keys]) => keys === '=');

const DELIVERY =
  'barcode,delta,cause\n2000000000077,12,received\n2000000000121,8,received\n2000000000053,10,received\n2000000000022,24,received\n';

it('show what the program shows', { timeout: 60_000 }, async () => {
  const frames = await record();
  for (const name of ['light', 'dark'] as const) {
    const file = fileURLToPath(new URL(`../../.github/tour-${name}.svg`, import.meta.url));
    const svg = toFilm(frames, SIZE, STILL, THEMES[name], SAYS);
    if (process.env.PETSTORE_SCREENS === 'take') writeFileSync(file, svg);
    else expect(svg, 'npm run pictures takes it again').toBe(readFileSync(file, 'utf8'));
  }
});

async function record(): Promise<Frame[]> {
  const home = createHome();
  writeFileSync(join(home.path, 'delivery.csv'), DELIVERY);
  const frames: Frame[] = [];
  for (const { command, steps, ends } of SCENES) {
    const prompt: Run[] = [
      { text: '$ ', colour: -1, ground: -1, bold: false, dim: true, inverse: false },
      { text: command, colour: -1, ground: -1, bold: true, dim: false, inverse: false },
    ];
    const pty = startPty(command.split(' ').slice(1), {
      home,
      env: { PETSTORE_ENV: 'sandbox', COLORTERM: undefined },
      cwd: home.path,
      ...SIZE,
    });
    for (const [keys, shows, ms] of steps) {
      pty.write(keys);
      const lines = await shown(pty, shows);
      const isWhole = ends !== undefined;
      frames.push({ lines: (isWhole ? lines : [prompt, ...lines]).slice(0, SIZE.rows), ms });
    }
    if (ends !== undefined) pty.write(ends);
    expect((await pty.exited).code).toBe(0);
  }
  return frames;
}

/** Resolves with the screen as soon as it has the text. */
async function shown(pty: Pty, text: RegExp): Promise<Run[][]> {
  for (;;) {
    const lines = (await runsOf(pty.output, SIZE)).slice(-SIZE.rows);
    if (text.test(lines.map((runs) => runs.map((run) => run.text).join('')).join('\n'))) return lines.map(steady);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Times are the machine's, not the program's; the line keeps its length. */
function steady(runs: readonly Run[]): Run[] {
  return runs.map((run) => ({
    ...run,
    text: run.text
      .replace(/\b\d\d:\d\d:\d\d\b/g, '14:03:20')
      .replace(/\d+( of |\/)60 (requests )?left, resets in .*?\(/, '57$160 $2left, resets in 42 s ('),
  }));
}
