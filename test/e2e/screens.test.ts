/**
 * Compares the screens in the documents with what the program shows on a terminal of 80 columns.
 * `npm run pictures` takes them again.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { replacePart } from '../../src/build/docs.ts';
import { createHome, type Home } from '../support/home.ts';
import { play, type Scene, startPty } from '../support/pty.ts';
import { expectKept, PLAIN, type Run, runsOf, screenOf, textOf, withoutEmptyEnd } from '../support/screen.ts';
import { noonZone, steady, steadyLines, steadyTimes } from '../support/steady.ts';

interface Command extends Scene {
  /** Of the program; default 0. */
  readonly code?: number;
}

const TOUR: readonly Command[] = [
  { command: 'export PETSTORE_ENV=sandbox' },
  { command: 'petstore inventory list --max 1 --sort quantity' },
  { command: 'petstore inventory adjust 7 +3' },
  { command: 'petstore inventory undo --yes' },
  { command: 'petstore inventory list --pet 7' },
];

const STOCKTAKE: readonly Command[] = [
  {
    command: 'petstore --env sandbox inventory count',
    typed: [
      [/done ends it/, '7\r'],
      [/pet 7 \(.+\): 1 counted/, '7\r'],
      [/pet 7 \(.+\): 2 counted/, '12 5\r'],
      [/pet 12 \(.+\): 5 counted/, '999\r'],
      [/barcode 999/, '2 4\r'],
      [/pet 2 \(.+\): 4 counted/, 'done\r'],
      [/Change 2 pets/, 'y\r'],
    ],
  },
  { command: 'petstore --env sandbox inventory undo', typed: [[/Undo run 1/, 'y\r']] },
];

const SLIP = 'Article;Arrived;Supplier\n2000000000077;12,00;Lake & Sons\n2000000000022;20,00;Lake & Sons\n';

const DAY: readonly Command[] = [
  { command: 'export PETSTORE_ENV=sandbox' },
  { command: 'cat delivery.csv' },
  {
    command: 'petstore inventory import delivery.csv --cause received',
    typed: [
      [/Which column has the pet\?/, '1\r'],
      [/What is in "Article"\?/, 'barcode\r'],
      [/Which column has the number\?/, 'Arrived\r'],
      [/What is in "Arrived"\?/, 'delta\r'],
      [/Remember this/, 'y\r'],
      [/Add 2 rows/, 'y\r'],
    ],
  },
  {
    command: 'petstore inventory import delivery.csv --cause received',
    typed: [
      [/Read the file as before/, '\r'],
      [/a second time/, '\r'],
    ],
    code: 2,
  },
  { command: 'petstore inventory adjust 7 -2 --cause sold' },
  { command: 'petstore inventory adjust 2 -1 --cause died --note "tank 4 was cold"' },
  { command: 'petstore inventory adjust 13 -3 --cause died --person Ann' },
  { command: 'petstore inventory undo', typed: [[/Undo change/, 'y\r']] },
  { command: 'petstore inventory undo', typed: [[/Undo change/, 'y\r']] },
  { command: 'petstore inventory redo', typed: [[/Redo change/, 'y\r']] },
  {
    command: 'petstore inventory count --cause count',
    typed: [
      [/done ends it/, '2000000000077\r'],
      [/pet 7 .*: 1 counted/, '7 19\r'],
      [/pet 7 .*: 20 counted/, '13 17\r'],
    ],
    killedAt: /pet 13 .*: 17 counted/,
  },
  { command: 'petstore inventory adjust 7 -1 --cause sold' },
  {
    command: 'petstore inventory count --cause count',
    typed: [
      [/Continue it\?/, 'y\r'],
      [/3 scans so far|continues/, '5 24\r'],
      [/pet 5 .*: 24 counted/, 'done\r'],
      [/Change 2 pets/, 'y\r'],
    ],
    code: 11,
  },
  { command: 'petstore inventory list --low' },
  { command: 'petstore inventory history --by cause --since 30d' },
];

/** As the terminal shows it in the end. */
async function shown({ code: expected = 0, ...scene }: Command, home: Home): Promise<string[]> {
  const size = { cols: 80, rows: 40 };
  const env = { NO_COLOR: '1', PETSTORE_ENV: 'sandbox', TZ: noonZone() };
  const pty = await play(scene, { home, cwd: home.path, env, ...size });
  const isKilled = scene.killedAt !== undefined;
  expect((await pty.exited).code, pty.plain()).toBe(isKilled ? 137 : expected);
  return [...(await screenOf(pty.output, size)), ...(isKilled ? ['Killed'] : [])];
}

it.each([
  ['README.md', 'tour', TOUR, steadyTimes],
  ['docs/import-and-count.md', 'screens', STOCKTAKE, steady],
  ['docs/import-and-count.md', 'day', DAY, steady],
])('%s shows what the program shows: %s', async (path, name, scenes, inEveryPicture) => {
  const document = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  const home = createHome();
  writeFileSync(join(home.path, 'delivery.csv'), SLIP);
  const blocks: string[] = [];
  for (const scene of scenes) {
    const isOurs = scene.command.startsWith('petstore');
    const lines = isOurs ? await shown(scene, home) : scene.command.startsWith('cat ') ? SLIP.trim().split('\n') : [];
    blocks.push([`$ ${scene.command}`, ...lines.map(inEveryPicture)].join('\n'));
  }
  const picture = `\`\`\`text\n${blocks.join('\n\n')}\n\`\`\``;
  expectKept(document, replacePart(readFileSync(document, 'utf8'), name, picture));
});

/** One after the other, in one home. */
const SCREENS = [
  'inventory list --max 5',
  'inventory summary',
  'inventory set 7 12',
  'inventory import delivery.csv --dry-run',
  'inventory import delivery.csv --yes',
  'inventory history',
  'inventory runs',
  'inventory get 77777',
  'inventory set 7 -1',
  'smoke --only list-status,list-type',
  'inventory set -h',
  'help exit-codes',
  '--help --no-pager',
];

/** What is pressed in `inventory browse`, one after the other, and what is seen then. */
const BROWSED: readonly (readonly [keys: string, seen: string])[] = [
  ['', 'Type to search'],
  ['\u001b[B-1\r\u001b[B+2\r\u001b[B', '2 changes'],
  ['\u000f', 'Dwarf rabbit (pet 4)'],
  ['?', 'Any key:'],
];

/** The lines of all screens as a terminal of that width shows them. */
async function screensOf(cols: number, env: Record<string, string>): Promise<Run[][]> {
  const home = createHome();
  writeFileSync(join(home.path, 'delivery.csv'), 'petId,delta,current\n3,24,\n12,-4,\n21,2,9\n');
  const all: Run[][] = [];
  const colours = { PETSTORE_ENV: 'sandbox', COLORTERM: undefined, TZ: noonZone(), ...env };
  const options = { home, cwd: home.path, env: colours, cols, rows: 120 };
  const add = (command: string, lines: Run[][]): void => {
    all.push([{ ...PLAIN, text: `$ petstore ${command}` }], ...withoutEmptyEnd(lines), []);
  };
  for (const command of SCREENS) {
    const { output } = await play({ command: `petstore ${command}` }, options);
    const lines = await runsOf(output, options);
    // Where these lines break depends on the time.
    add(
      command,
      lines.filter((runs) => !/requests left|^ +\d+ s|\d\d:\d\d:\d\d\)/.test(textOf(runs))),
    );
  }
  const rows = 24;
  const pty = startPty(['inventory', 'browse'], { ...options, rows });
  for (const [keys, seen] of BROWSED) {
    pty.write(keys);
    await pty.waitForFrame(seen);
    add('inventory browse', steadyLines(await runsOf(pty.output, { cols, rows }), cols));
  }
  pty.kill('SIGKILL');
  return steadyLines(all, cols);
}

/** As text that a terminal shows in the same colours: `cat test/screens/80.txt`. */
function coloured(lines: readonly (readonly Run[])[]): string {
  const code = (first: number, colour: number): number[] =>
    colour < 0 ? [] : colour < 16 ? [colour < 8 ? first + colour : first + 60 + colour - 8] : [first + 8, 5, colour];
  const shown = lines.map((runs) =>
    runs
      .map(({ text, bold, dim, reverse, colour, ground }) => {
        const codes = [
          ...(bold ? [1] : []),
          ...(dim ? [2] : []),
          ...(reverse ? [7] : []),
          ...code(30, colour),
          ...code(40, ground),
        ];
        return codes.length === 0 ? text : `\u001b[${codes.join(';')}m${text}\u001b[0m`;
      })
      .join('')
      .trimEnd(),
  );
  return `${shown.join('\n')}\n`;
}

const folder = fileURLToPath(new URL('../screens/', import.meta.url));

it.each([40, 80, 120])('the screens of %i columns are as they are kept', async (cols) => {
  expectKept(join(folder, `${cols}.txt`), coloured(await screensOf(cols, {})));
});

it('without colour the screens say the same', async () => {
  const plain = coloured(await screensOf(80, { NO_COLOR: '1' }));
  // eslint-disable-next-line no-control-regex -- the sequences of colours: reverse video is not one
  expect(plain.match(/\u001b\[(?!7m|0m).*/)).toBeNull();
  const textsOf = (screens: string): string[] =>
    stripVTControlCharacters(screens)
      .split('\n')
      .map((line) => line.trimEnd());
  expect(textsOf(plain)).toEqual(textsOf(readFileSync(join(folder, '80.txt'), 'utf8')));
});
