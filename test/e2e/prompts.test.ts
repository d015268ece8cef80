/** Every question of the program on a real terminal, ended with Ctrl-D, Ctrl-C and by closing the terminal. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';
import { type Pty, startPty } from '../support/pty.ts';
import { error, item, json } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { KEY, staging } from '../support/staging.ts';

const SANDBOX = ['--env', 'sandbox'];
const LOGIN = ['login', '--env', 'staging'];
const CLOSED = 'http://127.0.0.1:9/v1';

interface Question {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
  /** What is typed before, each after what it waits for. */
  readonly before?: readonly (readonly [wait: string, keys: string])[];
  readonly asks: string;
}

const QUESTIONS: readonly Question[] = [
  { name: 'login: environment', args: ['login'], asks: 'Environment' },
  { name: 'login: base URL', args: LOGIN, asks: 'Base URL of staging' },
  {
    name: 'login: another base URL',
    args: LOGIN,
    before: [['Base URL of staging', 'localhost:9\r']],
    asks: 'Use http://localhost:9/v1?',
  },
  { name: 'login: key', args: [...LOGIN, '--base-url', CLOSED], asks: 'API key of staging' },
  { name: 'limits', args: [...SANDBOX, 'limits', '--clear-block'], asks: 'Type "clear"' },
  { name: 'import', args: [...SANDBOX, 'inventory', 'import', 'rows.csv'], asks: 'Change 1 pet in sandbox?' },
  { name: 'undo', args: [...SANDBOX, 'inventory', 'undo', '--last'], asks: 'Change 1 pet in sandbox?' },
  {
    name: 'count',
    args: [...SANDBOX, 'inventory', 'count'],
    before: [['Stocktake', '7\rdone\r']],
    asks: 'Change 1 pet in sandbox?',
  },
  {
    name: 'count, after Ctrl-D at the scans',
    args: [...SANDBOX, 'inventory', 'count'],
    before: [
      ['Stocktake', '7\r'],
      ['pet 7: 1 counted', '\x04'],
    ],
    asks: 'Change 1 pet in sandbox?',
  },
  {
    name: 'count: keep for later',
    args: [...SANDBOX, 'inventory', 'count'],
    before: [['Stocktake', '7\rq\r']],
    asks: 'Keep this count for later?',
  },
  {
    name: 'edit',
    args: [...SANDBOX, 'inventory', 'edit'],
    env: { EDITOR: "sed -i 's/^7,.*/7,99,available/'" },
    asks: 'Change 1 pet in sandbox?',
  },
  {
    name: 'edit: again',
    args: [...SANDBOX, 'inventory', 'edit'],
    env: { EDITOR: "sed -i 's/^7,.*/7,many,available/'" },
    asks: 'Edit it again?',
  },
];

/** A home with a file to import, and one change to undo. */
async function prepare(): Promise<Home> {
  const home = createHome();
  writeFileSync(join(home.path, 'rows.csv'), 'petId,quantity\n7,99\n');
  await runPetstore([...SANDBOX, 'inventory', 'set', '7', '10', '--expect', '10'], { home });
  await runPetstore([...SANDBOX, 'inventory', 'set', '7', '11', '--expect', '10'], { home });
  return home;
}

async function ask({ args, env, before = [], asks }: Question, home: Home): Promise<Pty> {
  const terminal = startPty(args, { home, cwd: home.path, ...(env && { env }) });
  for (const [wait, keys] of before) {
    await terminal.waitFor(wait);
    terminal.write(keys);
  }
  await terminal.waitFor(asks);
  return terminal;
}

const ENDS = [
  ['Ctrl-D', (terminal: Pty) => terminal.write('\x04'), 2, /\nCancelled\. Nothing was changed\.\n$/],
  ['Ctrl-C', (terminal: Pty) => terminal.write('\x03'), 130, /\nCancelled\.\n$/],
  ['the end of the terminal', (terminal: Pty) => terminal.hangUp(), 129, /./],
] as const;

describe.each(QUESTIONS)('$name', (question) => {
  it.each(ENDS)('ends cleanly with %s, and nothing is changed', async (_name, end, code, words) => {
    const home = await prepare();
    const terminal = await ask(question, home);
    end(terminal);
    expect((await terminal.exited).code).toBe(code);
    const text = terminal.plain();
    expect(text).toMatch(words);
    expect(text).not.toMatch(/error:|hint:|bug|\n {4}at /);
    const list = await runPetstore([...SANDBOX, 'inventory', 'list', '--pet', '7', '-o', 'csv', '--no-header'], {
      home,
    });
    expect(list.stdout).toBe('7,11,available\n');
  });
});
