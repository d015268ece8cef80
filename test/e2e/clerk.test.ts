/** A clerk's morning at a real terminal: a wrong number, a spreadsheet, a stocktake, and Ctrl-D at each question. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { runPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';
import { startPty } from '../support/pty.ts';

interface Step {
  readonly args: readonly string[];
  /** What is typed, each after what it waits for. */
  readonly keys?: readonly (readonly [wait: string, keys: string])[];
  /** The question, the only one, and its answer. */
  readonly answer?: readonly [question: string, keys: string];
  readonly code?: number;
  readonly shows: readonly (string | RegExp)[];
}

const UNDO = 'Undo change 1 (set) in sandbox?';
const CHANGE = 'Change 2 pets in sandbox?';
const IMPORT = 'Set 2 pets to the numbers of the file (to add them: --add) in sandbox?';
const FILE = 'stock-saturday.csv';
const CTRL_D = '\x04';
const YES = 'y\r';
const CANCELLED = /\nCancelled\. Nothing was changed\.\n$/;
const SAVED = 'Your count is saved. Continue: petstore --env sandbox inventory count --resume 3';
const COUNTED = [/pet 7 +14 → 13 +-1/, /pet 2 +5 → +4 +-1/];

const MORNING: readonly Step[] = [
  { args: ['list', '--pet', '7'], shows: [/│ +7 │ Goldfish │ +10 │ available │/] },
  { args: ['set', '7', '120'], shows: ['Pet 7 (Goldfish): 10 → 120 (+110) in sandbox.\nUndo: petstore'] },
  { args: ['undo'], answer: [UNDO, CTRL_D], code: 2, shows: [CANCELLED] },
  { args: ['undo'], answer: [UNDO, YES], shows: ['Pet 7 (Goldfish): 120 → 10. Undone.'] },
  { args: ['import', FILE], answer: [IMPORT, CTRL_D], code: 2, shows: [CANCELLED] },
  {
    args: ['import', FILE],
    answer: [IMPORT, YES],
    shows: [/pet 7 +10 → 14 +\+4/, /pet 2 +3 → +5 +\+2/, 'Run 2 (import) in sandbox: 2 applied, 1 unchanged.'],
  },
  {
    args: ['count'],
    keys: [
      ['Stocktake 3 in sandbox', '7\r'],
      ['pet 7 (Goldfish): 1 counted (stock: 14)', '12\r'],
      ['pet 12 (Hamster): 1 counted (stock: 5)', '-\r'],
      ['pet 12 (Hamster): taken back, 0 counted', '7 12\r'],
      ['pet 7 (Goldfish): 13 counted', '2 4\r'],
      // Ends the scans, and then the question.
      ['pet 2 (Guppy): 4 counted', CTRL_D],
    ],
    answer: [CHANGE, CTRL_D],
    code: 2,
    shows: ['3 scans of 2 pets.', ...COUNTED, SAVED, CANCELLED],
  },
  {
    args: ['count', '--resume'],
    keys: [['Stocktake 3 continues: 3 scans so far.', 'done\r']],
    answer: [CHANGE, YES],
    shows: [...COUNTED, 'Run 3 (count) in sandbox: 2 applied.'],
  },
  // 80 columns are enough for both tables.
  { args: ['history', '-n', '4'], shows: [/Change +Run +When +Pet/, /3 +[\d:]{8} +2 +Guppy +5 +4 +count/] },
  { args: ['runs', '-n', '2'], shows: [/3\W+count .* finished/, /2\W+import .* finished/] },
];

it('ends with the right stock, and asks nothing else', async () => {
  const home = createHome();
  writeFileSync(join(home.path, FILE), 'Pet ID;Name;Quantity\r\n7;Rex;14\r\n2;Mia;5\r\n12;Tom;5\r\n');
  const before = await stock();
  for (const step of MORNING) {
    const { args, keys = [], answer, code = 0, shows } = step;
    const terminal = startPty(['--env', 'sandbox', 'inventory', ...args], { home, cwd: home.path });
    for (const [wait, typed] of [...keys, ...(answer === undefined ? [] : [answer])]) {
      await terminal.waitFor(wait);
      terminal.write(typed);
    }
    expect((await terminal.exited).code, terminal.plain()).toBe(code);
    expect(questions(terminal.output)).toEqual(answer === undefined ? [] : [answer[0]]);
    for (const text of shows) expect(terminal.plain()).toMatch(text);
    expect(terminal.plain()).not.toMatch(/error:|hint:/);
  }
  expect(await stock()).toBe(before.replace('\n2,3,', '\n2,4,').replace('\n7,10,', '\n7,13,'));

  async function stock(): Promise<string> {
    return (await runPetstore(['--env', 'sandbox', 'inventory', 'list', '-o', 'csv'], { home })).stdout;
  }
});

/** Returns each question once, however often it was drawn: a blue "?" and a bold text. */
function questions(output: string): string[] {
  const drawn = output.split('\x1b[34m?\x1b[39m ').slice(1);
  return [...new Set(drawn.map((text) => stripVTControlCharacters(text.split('\x1b[22m')[0] ?? '')))];
}
