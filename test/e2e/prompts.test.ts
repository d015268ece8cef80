/** Every prompt of the program on a real terminal, ended with Ctrl-D, with Ctrl-C and by closing the terminal. */
import { describe, expect, it } from 'vitest';
import { petstoreCommand, runPetstore } from '../support/binary.ts';
import { createHome, fileIn, type Home } from '../support/home.ts';
import { runIn } from '../support/in-process.ts';
import { type Pty, startPty } from '../support/pty.ts';
import { item, json, tooMany } from '../support/replies.ts';
import { screenOf } from '../support/screen.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { KEY, staging } from '../support/staging.ts';
import { createTestContext } from '../support/test-context.ts';

const SANDBOX = ['--env', 'sandbox'];
const LOGIN = ['login', '--env', 'staging'];
const CLOSED = 'http://127.0.0.1:9/v1';

/** What is typed, each after what it waits for. */
type Keys = readonly (readonly [wait: string | RegExp, keys: string])[];

interface Question {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
  /** Returns further variables. */
  readonly setup?: (home: Home) => Promise<Record<string, string>>;
  readonly before?: Keys;
  readonly asks: string;
}

const QUESTIONS: readonly Question[] = [
  { name: 'login: environment', args: ['login'], asks: 'Environment' },
  { name: 'login: base URL', args: LOGIN, asks: 'Base URL of staging' },
  {
    name: 'login: another base URL',
    args: LOGIN,
    before: [
      ['Base URL of staging', '\r'],
      ['Type the base URL.', 'localhost:9\r'],
    ],
    asks: 'Use http://localhost:9/v1?',
  },
  { name: 'login: key', args: [...LOGIN, '--base-url', CLOSED], asks: 'API key of staging' },
  { name: 'limits', args: ['limits', '--clear-block'], setup: blocked, asks: 'Type "clear"' },
  { name: 'import', args: [...SANDBOX, 'inventory', 'import', 'rows.csv'], asks: '1 pet to the numbers of the file' },
  { name: 'undo', args: [...SANDBOX, 'inventory', 'undo'], asks: 'in sandbox?' },
  {
    name: 'count',
    args: [...SANDBOX, 'inventory', 'count'],
    before: [
      ['Stocktake', '7\rdone\r'],
      ['Change 1 pet', '4006381333931\t\r'],
      // The LF of a scanner that sends it as a key of its own is no answer.
      ['Type y or n.\n', '\n'],
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
  fileIn(home, 'rows.csv', 'petId,quantity\n7,99\n');
  await runIn(createTestContext({ home }), ...SANDBOX, 'inventory', 'set', '7', '11', '--expect', '10');
  return home;
}

/** Has the service block the key of staging. */
async function blocked(home: Home): Promise<Record<string, string>> {
  const server = await scriptedServer([tooMany(3_600)]);
  const env = staging(server.baseUrl);
  await runPetstore(['inventory', 'list'], { home, env });
  return env;
}

async function type(terminal: Pty, keys: Keys): Promise<void> {
  for (const [wait, typed] of keys) {
    await terminal.waitFor(wait);
    terminal.write(typed);
  }
}

const ENDS = [
  ['Ctrl-D', (terminal: Pty) => terminal.write('\x04'), 2, /\nCancelled\. Nothing was changed\.\n$/],
  ['Esc', (terminal: Pty) => terminal.write('\x1b'), 2, /\nCancelled\. Nothing was changed\.\n$/],
  ['Ctrl-C', (terminal: Pty) => terminal.write('\x03'), 130, /\nCancelled\.\n$/],
  ['the end of the terminal', (terminal: Pty) => terminal.hangUp(), 129, /./],
] as const;

// A question of each kind meets each end; the others one that is cancelled and one that is stopped.
describe.each(QUESTIONS)('$name', (question) => {
  const isOfKind = ['login: environment', 'login: key', 'import'].includes(question.name);
  it.each(ENDS.filter((_, i) => isOfKind || i % 2 === 0))(
    'ends cleanly with %s, and nothing is changed',
    async (_name, end, code, words) => {
      const home = await prepare();
      const env = { ...question.env, ...(await question.setup?.(home)) };
      const terminal = startPty(question.args, { home, cwd: home.path, env });
      await type(terminal, question.before ?? []);
      await terminal.waitFor(question.asks);
      end(terminal);
      expect((await terminal.exited).code).toBe(code);
      const text = terminal.plain();
      expect(text).toMatch(words);
      expect(text).not.toMatch(/error:|hint:|bug|\n {4}at /);
      const list = [...SANDBOX, 'inventory', 'list', '--pet', '7', '-o', 'csv', '--no-header'];
      expect((await runIn(createTestContext({ home }), ...list)).stdout).toBe('7,11,available\n');
    },
  );
});

it('an answer that is refused is asked for again; with --quiet, the question has the choices', async () => {
  const home = createHome();
  fileIn(home, 'rows.csv', 'Article;Pieces\n7;3\n');
  const terminal = startPty([...SANDBOX, '-q', 'inventory', 'import', 'rows.csv'], { home, cwd: home.path });
  await type(terminal, [[/1 {2}Article\s+2 {2}Pieces\s+Which column has the pet\?/, '9\r']]);
  await terminal.waitFor('Type a number or a name from the list.');
  await terminal.type('1\r', /Which column has the pet\? 1\n[^?]*What is in "Article"\?/);
  terminal.write('\x04');
  expect((await terminal.exited).code).toBe(2);
});

it('a question with wide characters is broken between words, too', async () => {
  const home = createHome();
  fileIn(home, 'rows.csv', '商品番号,到着した数量\n7,3\n');
  const asked = [...SANDBOX, 'inventory', 'import', 'rows.csv'];
  const first = startPty(asked, { home, cwd: home.path });
  const columns: Keys = [['Which column', '1\rpetId\r'], ['has the number', '2\rdelta\r']]; // prettier-ignore
  await type(first, [...columns, ['Remember', '\r'], ['Add 1 row', '\x04']]);
  await first.exited;
  const size = { cols: 40, rows: 10 };
  const again = startPty(asked, { home, cwd: home.path, ...size });
  await type(again, [['Y/n', '\x04']]);
  await again.exited;
  const screen = await screenOf(again.output, size);
  expect(screen.slice(0, 3)).toEqual([
    'Read the file as before',
    '  ("商品番号" is petId,',
    '  "到着した数量" is delta)? (Y/n)',
  ]);
});

it('an answer that is pasted over several rows is shown once after an edit', async () => {
  const size = { cols: 40, rows: 10 };
  const login = startPty(LOGIN, size);
  const url = `https://${'inventory.'.repeat(6)}example/v1`;
  await type(login, [['Base URL of staging', url], [/v1$/, '\x7f\x7f\x1b[D\x1b[Dx\x04\x05v2']]); // prettier-ignore
  await login.waitFor(/v2$/);
  const screen = await screenOf(login.output, size);
  expect(screen.join('')).toBe(`Base URL of staging  (https://…/v1): ${url.slice(0, -4)}x/v2`);
  login.write('\x03');
  await login.exited;
});

it('on a dumb terminal nothing moves the cursor, Backspace corrects a line, and Ctrl-D leaves the terminal readable', async () => {
  const home = createHome();
  const command = ['env', 'TERM=dumb', ...petstoreCommand()] as const;
  const server = await scriptedServer([json([item(7, 10)])]);
  const login = startPty(['login'], { home, command });
  await type(login, [
    ['Environment', 'sandbox\r'],
    // Before the question is there, the terminal itself would take the Backspace in any case.
    [/The sandbox needs no login\.\s+Environment/, 'stagingg\x7f\r'],
    ['Base URL of staging', `${server.baseUrl}\r`],
    ['API key of staging', `${KEY}x\x7f\r`],
  ]);
  expect((await login.exited).code).toBe(0);
  expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  const count = startPty([...SANDBOX, 'inventory', 'count'], { home, command });
  await type(count, [
    ['Stocktake', '77\x7f\r'],
    ['pet 7 (Goldfish): 1 counted', '\x04'],
    ['Change 1 pet in sandbox?', 'y\r'],
  ]);
  expect((await count.exited).code).toBe(0);
  const undo = startPty([...SANDBOX, 'inventory', 'undo'], { home, command });
  await undo.waitFor('Undo run 1');
  undo.hangUp();
  expect((await undo.exited).code).toBe(129);
  expect(login.output + count.output).not.toContain('\x1b');
});

describe('the scans of a stocktake', () => {
  it('those of a stocktake that was not finished are offered first: Enter continues them', async () => {
    const home = createHome();
    await runPetstore([...COUNT, '--yes'], { home, stdin: '7 20\nq\n' });
    const terminal = startPty(COUNT, { home });
    await type(terminal, [
      // A scan behind the answer is counted, though it arrives together with it.
      [/Stocktake 1 of .+ was not finished \(1 scan\)\. Continue it\? \(Y\/n\)/, '\r7\r'],
      ['Stocktake 1 continues: 1 scan so far.', '7 10\rdone\r'],
      ['Change 1 pet in sandbox?', 'y\r'],
    ]);
    expect((await terminal.exited).code).toBe(0);
    expect(terminal.plain()).toMatch(/pet 7 +10 → 31 +\+21/);
  });

  const COUNT = [...SANDBOX, 'inventory', 'count'];
  const SAVED = 'Your count is saved. Continue: petstore --env sandbox inventory count --resume 1';

  it.each([
    ['Ctrl-C', (terminal: Pty) => terminal.write('\x03'), 130],
    ['the end of the terminal', (terminal: Pty) => terminal.hangUp(), 129],
  ] as const)('%s stops them, and they can be continued', async (_name, end, code) => {
    const home = createHome();
    const terminal = startPty(COUNT, { home });
    await type(terminal, [['Stocktake 1', '7\r8']]);
    // What is typed already comes below the answer to the line before.
    await terminal.waitFor(/: 1 counted \(stock: 10\)\n8/);
    end(terminal);
    expect((await terminal.exited).code).toBe(code);
    expect(terminal.plain()).not.toMatch(/error:/);
    const shown = (await screenOf(terminal.output, { cols: 80, rows: 24 })).slice(1, code === 130 ? 5 : 4);
    expect(shown).toEqual(['7', 'pet 7 (Goldfish): 1 counted (stock: 10)', '8', SAVED].slice(0, shown.length));
    const resumed = await runPetstore([...COUNT, '--resume', '--yes'], { home, stdin: '7\n' });
    expect(resumed.stderr).toContain('Stocktake 1 continues: 1 scan so far.\npet 7 (Goldfish): 2 counted');
  });

  it('n right after Esc, as over a slow line, does not leave Enter to continue them', async () => {
    const home = createHome();
    await runPetstore([...COUNT, '--yes'], { home, stdin: '7 20\nq\n' });
    const terminal = startPty(COUNT, { home });
    await type(terminal, [['Continue it? (Y/n)', '\x1bn\r']]);
    await terminal.waitFor(/Cancelled|continues/);
    expect(terminal.plain()).toContain('Cancelled');
  });

  it('those of a stocktake that is open in another window are not offered', async () => {
    const home = createHome();
    const first = startPty(COUNT, { home });
    await type(first, [['Stocktake 1', '7\r']]);
    await first.waitFor('1 counted');
    const second = startPty(COUNT, { home });
    await second.waitFor('Stocktake 2 in sandbox: scan');
    expect(second.plain()).not.toContain('Stocktake 1');
  });

  it('an answer of no keeps them; q keeps or discards them', async () => {
    const home = createHome();
    const answer = async (scans: string, question: string, key: string, args: readonly string[] = []) => {
      const terminal = startPty([...COUNT, ...args], { home });
      await type(terminal, [
        ['Stocktake 1', scans],
        [question, key],
      ]);
      return { ...(await terminal.exited), text: terminal.plain() };
    };
    const declined = await answer('7\rdone\r', 'Change 1 pet in sandbox?', 'n\r');
    expect(declined.code).toBe(2);
    expect(declined.text).toMatch(new RegExp(`\n${SAVED}\n(\\d+ of .*\n)?Cancelled\\. Nothing was changed\\.\n$`));
    const kept = await answer('q\r', 'Keep this count for later? (Y/n)', '\r', ['--resume']);
    expect({ code: kept.code, isSaved: kept.text.includes(SAVED) }).toEqual({ code: 0, isSaved: true });
    const discarded = await answer('q\r', 'Keep this count for later?', 'n\r', ['--resume']);
    expect(discarded.text).toContain('Stocktake 1 is discarded. Nothing was changed.');
    expect((await runPetstore([...COUNT, '--resume'], { home })).code).toBe(2);
  });
});

it('--watch is broken between words, and Ctrl-C ends it without a word', async () => {
  const server = await scriptedServer([json([item(9223372036854775807n, 10)])]);
  const terminal = startPty(['inventory', 'list', '--watch'], { env: staging(server.baseUrl), cols: 40 });
  await terminal.waitFor(/ {2}pet 9223372036854775807: 10\n {2}\(available\)\n/);
  await terminal.waitFor('Watching 1 pet.\n');
  await terminal.waitFor(/Next check in \d+ s\. Ctrl-C stops\./);
  terminal.write('\x03');
  expect((await terminal.exited).code).toBe(130);
  expect(terminal.plain()).not.toMatch(/error|Stopped/);
});

it('with JSON output a cancelled command has its one error object', async () => {
  const home = await prepare();
  const terminal = startPty([...SANDBOX, '--json', 'inventory', 'import', 'rows.csv'], { home, cwd: home.path });
  await terminal.waitFor('Set 1 pet to the numbers');
  terminal.write('n\r');
  expect((await terminal.exited).code).toBe(2);
  expect(terminal.plain().match(/^\{"error":.*/gm)).toEqual([
    expect.stringContaining('"kind":"cancelled","message":"Cancelled. Nothing was changed."'),
  ]);
});

it('Ctrl-C and Ctrl-\\ are left to the editor', async () => {
  const home = createHome();
  const steps = [
    "trap 'echo interrupted' INT; trap 'echo quit' QUIT",
    'echo open',
    'until read -r _; do :; done',
    `sed -i s/^7,10/7,99/ "$1"`,
  ];
  const script = fileIn(home, 'editor', `#!/bin/sh\n${steps.join('\n')}\n`, 0o755);
  const terminal = startPty([...SANDBOX, 'inventory', 'edit'], { home, env: { EDITOR: `'${script}'` } });
  await terminal.waitFor('open');
  await terminal.type('\x03', 'interrupted');
  await terminal.type('\x1c', 'quit');
  await terminal.type('\r', 'Change 1 pet in sandbox?');
  terminal.write('y\r');
  expect((await terminal.exited).code).toBe(0);
});

it.each(['EDITOR', 'VISUAL'])('names an editor of %s that was not found', async (variable) => {
  const env = { EDITOR: 'true', [variable]: 'nope' };
  const { code, stderr } = await runPetstore([...SANDBOX, 'inventory', 'edit', '--yes'], { env });
  expect({ code, stderr }).toEqual({
    code: 3,
    stderr: `error: ${variable} "nope" was not found.\nhint: Choose another editor: ${variable}=nano petstore --env sandbox inventory edit\n`,
  });
});
