/**
 * The screens in the documents: what a person sees on a terminal of 80 columns, taken from the program itself.
 * `npm run pictures` takes them again.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { replacePart } from '../../src/build/docs.ts';
import { createHome } from '../support/home.ts';
import { startPty } from '../support/pty.ts';
import { screenOf } from '../support/screen.ts';

interface Scene {
  readonly command: string;
  /** What is waited for, and what is typed then. */
  readonly typed?: readonly (readonly [RegExp, string])[];
}

const TOUR: readonly Scene[] = [
  { command: 'export PETSTORE_ENV=sandbox' },
  { command: 'petstore inventory list --max 1 --sort quantity' },
  { command: 'petstore inventory adjust 7 +3' },
  { command: 'petstore inventory undo --yes' },
  { command: 'petstore inventory list --pet 7' },
];

const STOCKTAKE: readonly Scene[] = [
  {
    command: 'petstore --env sandbox inventory count',
    typed: [
      [/done ends it/, '7\r'],
      [/pet 7: 1 counted/, '7\r'],
      [/pet 7: 2 counted/, '12 5\r'],
      [/pet 12: 5 counted/, '999\r'],
      [/pet 999 does not exist/, '2 4\r'],
      [/pet 2: 4 counted/, 'done\r'],
      [/Change 2 pets/, 'y\r'],
    ],
  },
  { command: 'petstore --env sandbox inventory undo', typed: [[/Undo run 1/, 'y\r']] },
];

/** As the terminal shows it in the end. */
async function shown({ command, typed = [] }: Scene, home: ReturnType<typeof createHome>): Promise<string[]> {
  const pty = startPty(command.split(' ').slice(1), {
    home,
    env: { NO_COLOR: '1', PETSTORE_ENV: 'sandbox' },
    cols: 80,
    rows: 40,
  });
  for (const [match, text] of typed) {
    await pty.waitFor(match);
    pty.write(text);
  }
  const { code } = await pty.exited;
  expect(code).toBe(0);
  return screenOf(pty.output, { cols: 80, rows: 40 });
}

/** Times are the machine's, not the program's. */
function steady(line: string): string {
  return line
    .replace(/\b\d\d:\d\d:\d\d\b/g, '14:03:20')
    .replace(/resets in [^(]+ \(/, 'resets in 60 s (')
    .replace(/\b\d+\/60 left/, '57/60 left');
}

it.each([
  ['README.md', 'tour', TOUR],
  ['docs/import-and-count.md', 'screens', STOCKTAKE],
])('%s shows what the program shows: %s', { timeout: 60_000 }, async (path, name, scenes) => {
  const document = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  const home = createHome();
  const blocks: string[] = [];
  for (const scene of scenes) {
    const lines = scene.command.startsWith('petstore') ? await shown(scene, home) : [];
    blocks.push([`$ ${scene.command}`, ...lines.map(steady)].join('\n'));
  }
  const text = readFileSync(document, 'utf8');
  const made = replacePart(text, name, `\`\`\`text\n${blocks.join('\n\n')}\n\`\`\``);
  if (process.env.PETSTORE_SCREENS === 'take') writeFileSync(document, made);
  else expect(text).toBe(made);
});
