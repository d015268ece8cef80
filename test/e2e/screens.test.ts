/**
 * The README's screens: what a clerk sees at a terminal of 80 columns, taken from the program itself.
 * `npm run pictures` takes them anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { createHome } from '../support/home.ts';
import { startPty } from '../support/pty.ts';
import { screenOf } from '../support/screen.ts';

const README = fileURLToPath(new URL('../../README.md', import.meta.url));
const [BEGIN, END] = ['<!-- screens: begin -->', '<!-- screens: end -->'];

interface Scene {
  readonly command: string;
  /** What is waited for, and what is typed then. */
  readonly typed?: readonly (readonly [RegExp, string])[];
}

const SCENES: readonly Scene[] = [
  {
    command: 'petstore --env sandbox inventory count',
    typed: [
      [/done ends it/, '7\r'],
      [/pet 7: 1 counted/, '7\r'],
      [/pet 7: 2 counted/, '12 5\r'],
      [/pet 12: 5 counted/, '999\r'],
      [/no pet 999/, '2 4\r'],
      [/pet 2: 4 counted/, 'done\r'],
      [/Change 2 pets/, 'y\r'],
    ],
  },
  { command: 'petstore --env sandbox inventory undo --import 1', typed: [[/Change 2 pets/, 'y\r']] },
];

/** As the terminal shows it in the end. */
async function shown({ command, typed = [] }: Scene, home: ReturnType<typeof createHome>): Promise<string[]> {
  const pty = startPty(command.split(' ').slice(1), { home, env: { NO_COLOR: '1' }, cols: 80, rows: 40 });
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

it('show what the program shows', { timeout: 60_000 }, async () => {
  const home = createHome();
  const blocks: string[] = [];
  for (const scene of SCENES) blocks.push([`$ ${scene.command}`, ...(await shown(scene, home)).map(steady)].join('\n'));
  const text = readFileSync(README, 'utf8');
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  const made = `${BEGIN}\n\n\`\`\`text\n${blocks.join('\n\n')}\n\`\`\`\n\n`;
  if (process.env.PETSTORE_SCREENS === 'take') writeFileSync(README, text.slice(0, from) + made + text.slice(to));
  else expect(text.slice(from, to)).toBe(made);
});
