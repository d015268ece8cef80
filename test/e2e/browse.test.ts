/** `inventory browse` on a real terminal, and by lines. */
import { describe, expect, it } from 'vitest';
import { petstoreCommand, runPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';
import { type Pty, type PtyOptions, startPty } from '../support/pty.ts';
import { screenOf } from '../support/screen.ts';
import { error, item, json } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { staging } from '../support/staging.ts';

const CTRL = { c: '\u0003', d: '\u0004', l: '\u000c', r: '\u0012', s: '\u0013', x: '\u0018' } as const;
const ESC = '\u001b';
const DOWN = '\u001b[B';
/** As xterm has them: the screen as it was before, with a cursor. */
const RESTORED = '\u001b[?25h\u001b[?1049l';

const browse = ['--env', 'sandbox', 'inventory', 'browse'];

function start(home: Home, options: PtyOptions = {}, ...more: string[]): Pty {
  return startPty([...browse, ...more], { home, cwd: home.path, ...options });
}

async function opened(home: Home, options: PtyOptions = {}, ...more: string[]): Promise<Pty> {
  const terminal = start(home, options, ...more);
  await terminal.waitFor('Type to search.');
  return terminal;
}

const petstore = (home: Home, ...args: string[]) => runPetstore(['--env', 'sandbox', ...args], { home });

async function quantityOf(home: Home, pet: number): Promise<string> {
  const listed = await petstore(home, 'inventory', 'list', String(pet), '-o', 'csv', '--columns', 'quantity');
  return listed.stdout.split('\n')[1]!.trim();
}

describe('on the screen', () => {
  it('search, change, review, apply and undo', async () => {
    const home = createHome();
    const catalog = await runPetstore(['--env', 'sandbox', 'catalog', 'import', '-'], {
      home,
      stdin: 'petId,name\n7,Goldfish\n12,Golden hamster\n',
    });
    expect(catalog.code, catalog.stderr).toBe(0);
    const terminal = await opened(home, { cols: 100 });
    terminal.write('gold');
    await terminal.waitFor('2 of 25 pets');
    terminal.write('++');
    await terminal.waitFor('-> 12');
    terminal.write(`${DOWN}=9\r`);
    await terminal.waitFor('-> 9');
    terminal.write(CTRL.x);
    await terminal.waitFor(/pet +7 +10 → 12 +\+2 +Goldfish/);
    await terminal.waitFor('Change 2 pets in sandbox?');
    terminal.write('n');
    terminal.write('\r');
    await terminal.waitFor('Nothing was applied: 2 changes pending.');
    expect(await quantityOf(home, 7)).toBe('10');
    terminal.write(CTRL.x);
    await terminal.waitFor('Change 2 pets in sandbox?');
    terminal.write('y');
    terminal.write('\r');
    await terminal.waitFor('Run 1 (edit) in sandbox: 2 applied.');
    terminal.write(CTRL.c);
    expect((await terminal.exited).code).toBe(0);
    expect([await quantityOf(home, 7), await quantityOf(home, 12)]).toEqual(['12', '9']);
    const history = await petstore(home, 'inventory', 'history', '-o', 'csv');
    expect(history.stdout).toContain('browse');
    expect((await petstore(home, 'inventory', 'undo', '--yes')).code).toBe(0);
    expect([await quantityOf(home, 7), await quantityOf(home, 12)]).toEqual(['10', '5']);
  });

  it('what is pending survives kill -9, and is offered on the next start', async () => {
    const home = createHome();
    let terminal = await opened(home);
    terminal.write('=77\r');
    await terminal.waitFor('-> 77');
    terminal.write(`${DOWN}+`);
    await terminal.waitFor('2 changes pending');
    await stored(home, 2);
    terminal.kill('SIGKILL');
    await terminal.exited;
    terminal = start(home, { cols: 120 });
    await terminal.waitFor('2 changes of an earlier petstore inventory browse are not applied. Continue with them?');
    terminal.write('\r');
    await terminal.waitFor('-> 77');
    terminal.write(CTRL.x);
    await terminal.waitFor('Change 2 pets in sandbox?');
    terminal.write('y');
    terminal.write('\r');
    await terminal.waitFor('2 applied.');
    terminal.write(CTRL.d);
    expect((await terminal.exited).code).toBe(0);
    expect([await quantityOf(home, 1), await quantityOf(home, 2)]).toEqual(['77', '4']);
    // Nothing is left to offer.
    terminal = await opened(home);
    terminal.write(CTRL.c);
    await terminal.exited;
    expect(terminal.plain()).not.toContain('not applied');
  });

  it('Ctrl-C with pending changes asks once; they can be kept, or discarded later', async () => {
    const home = createHome();
    let terminal = await opened(home);
    terminal.write('+');
    await terminal.waitFor('1 change pending');
    terminal.write(CTRL.c);
    await terminal.waitFor('Leave with 1 change pending? Enter: keep for later, d: discard, Esc: stay.');
    terminal.write(ESC);
    await shows(terminal, (screen) => !screen.includes('Leave with'));
    terminal.write(CTRL.c);
    terminal.write(CTRL.c);
    expect((await terminal.exited).code).toBe(0);
    expect(terminal.output).toContain(RESTORED);
    expect(terminal.plain()).toContain('1 change kept for the next petstore inventory browse.');
    expect(await quantityOf(home, 1)).toBe('14');
    terminal = start(home, { cols: 120 });
    await terminal.waitFor('Continue with it?');
    terminal.write('n');
    terminal.write('\r');
    await terminal.waitFor('Type to search.');
    terminal.write('+');
    await terminal.waitFor('1 change pending');
    terminal.write(`${CTRL.c}d`);
    expect((await terminal.exited).code).toBe(0);
    terminal = await opened(home);
    terminal.write(CTRL.c);
    expect((await terminal.exited).code).toBe(0);
  });

  it.each<[signal: NodeJS.Signals, code: number]>([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ])('%s restores the terminal, and keeps what is pending', async (signal, code) => {
    const home = createHome();
    let terminal = await opened(home);
    terminal.write('+');
    await terminal.waitFor('1 change pending');
    terminal.kill(signal);
    expect((await terminal.exited).code).toBe(code);
    expect(terminal.output).toContain(RESTORED);
    terminal = start(home);
    await terminal.waitFor('1 change of an earlier');
    terminal.write(CTRL.c);
    await terminal.exited;
  });

  it('a terminal that is closed ends it, and what is pending is kept', async () => {
    const home = createHome();
    let terminal = await opened(home);
    terminal.write('+');
    await terminal.waitFor('1 change pending');
    await stored(home, 1);
    terminal.hangUp();
    expect((await terminal.exited).code).toBe(129);
    terminal = start(home);
    await terminal.waitFor('1 change of an earlier');
    terminal.write(CTRL.c);
    await terminal.exited;
  });

  it('a pet that someone else has changed since is a conflict', async () => {
    const home = createHome();
    const terminal = await opened(home);
    terminal.write('+');
    await terminal.waitFor('1 change pending');
    expect((await petstore(home, 'inventory', 'set', '1', '99')).code).toBe(0);
    terminal.write(CTRL.x);
    await terminal.waitFor('you saw 14, but there are 99');
    expect((await terminal.exited).code, terminal.plain()).toBe(11);
    expect(await quantityOf(home, 1)).toBe('99');
  });

  it('fits a narrow terminal, and is drawn again when its size changes', async () => {
    const home = createHome();
    const terminal = await opened(home, { cols: 120, rows: 30 });
    terminal.resize(40, 10);
    await terminal.waitFor(/25 pets[^]*type|25 pets[^]*\^C leave/);
    terminal.write('99');
    await terminal.waitFor('1 of 25 pets');
    const screen = await screenOf(terminal.output.slice(terminal.output.lastIndexOf('\u001b[2J')), {
      cols: 40,
      rows: 10,
    });
    expect(screen.slice(0, 4)).toEqual([
      'sandbox: 1 of 25 pets',
      'Search: 99_',
      '                petId  quantity',
      '>    9007199254740993         4',
    ]);
    expect(screen).toHaveLength(10);
    terminal.write(CTRL.c);
    expect((await terminal.exited).code).toBe(0);
  });

  it('NO_COLOR: nothing is coloured', async () => {
    const home = createHome();
    const terminal = await opened(home, { env: { NO_COLOR: '1' } });
    terminal.write('+');
    await terminal.waitFor('1 change pending');
    // eslint-disable-next-line no-control-regex -- the sequences of colours
    expect(terminal.output).not.toMatch(/\u001b\[[0-9;]*m/);
    terminal.write(`${CTRL.c}d`);
    expect((await terminal.exited).code).toBe(0);
  });

  it('--dry-run shows the plan, and sends no write', async () => {
    const home = createHome();
    const terminal = await opened(home, {}, '--dry-run');
    terminal.write(`+${CTRL.x}`);
    expect((await terminal.exited).code).toBe(0);
    expect(terminal.plain()).toContain('15');
    expect(await quantityOf(home, 1)).toBe('14');
  });

  it('one at a time for each environment', async () => {
    const home = createHome();
    const terminal = await opened(home);
    const second = start(home);
    expect((await second.exited).code).toBe(6);
    expect(second.plain()).toContain('Inventory browse in another process is still running');
    terminal.write(CTRL.c);
    expect((await terminal.exited).code).toBe(0);
  });

  it('without the stock it ends with the failure; once it has been read, a refresh that fails is shown on the screen', async () => {
    const refused = await scriptedServer([error(401)]);
    const first = startPty(['inventory', 'browse'], { env: staging(refused.baseUrl) });
    expect((await first.exited).code).toBe(4);
    expect(first.output.indexOf(RESTORED)).toBeLessThan(first.output.indexOf('error'));
    const server = await scriptedServer([json([item(7, 10)]), error(401), json([item(7, 11)])]);
    const terminal = startPty(['inventory', 'browse'], { env: staging(server.baseUrl), cols: 120 });
    await terminal.waitFor('Type to search.');
    terminal.write(CTRL.r);
    await terminal.waitFor(/401/);
    terminal.write(CTRL.r);
    await terminal.waitFor(/7 +11 +available/);
    terminal.write(CTRL.c);
    expect((await terminal.exited).code).toBe(0);
  });
});

describe('without a full screen', () => {
  it.each<[what: string, env: Record<string, string>, args: string[]]>([
    ['a pipe', {}, []],
    ['--no-input', {}, ['--no-input']],
  ])('%s: exit 2 and a way to go on', async (_what, env, args) => {
    const { code, stderr } = await runPetstore([...browse, ...args], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining('petstore inventory browse --plain')]);
  });

  it('TERM=dumb', async () => {
    const terminal = startPty(browse, { command: ['env', 'TERM=dumb', ...petstoreCommand()] });
    expect((await terminal.exited).code).toBe(2);
  });

  it('--plain on a terminal: the same by lines', async () => {
    const home = createHome();
    const terminal = startPty([...browse, '--plain'], { home, cols: 120 });
    await terminal.waitFor('1 to 10 of 25 pets; next shows more.');
    terminal.write('next\r');
    await terminal.waitFor('11 to 20 of 25 pets');
    terminal.write('status sold\r');
    await terminal.waitFor('pet 3: 0, sold');
    terminal.write('3 +4\r');
    await terminal.waitFor('pet 3: 0, to be 4, sold');
    terminal.write('3 -9\r');
    await terminal.waitFor('Pet 3: a quantity below zero is set with petstore inventory set --allow-negative.');
    terminal.write('apply\r');
    await terminal.waitFor('Change 1 pet in sandbox?');
    terminal.write('y');
    terminal.write('\r');
    await terminal.waitFor('Type help for the commands.');
    terminal.write('q\r');
    expect((await terminal.exited).code).toBe(0);
    expect(await quantityOf(home, 3)).toBe('4');
    expect(terminal.output).not.toContain('\u001b[?1049h');
  });

  it('--plain from a pipe, with --yes', async () => {
    const home = createHome();
    const lines = ['7 +5', '8 nonsense', '4711 3', 'bogus', 'sort quantity', 'low', 'changes', 'apply', '9 1', 'q'];
    const { code, stdout, stderr } = await runPetstore([...browse, '--plain', '--yes'], {
      home,
      stdin: `${lines.join('\n')}\n`,
    });
    expect([code, stdout], stderr).toEqual([0, expect.stringContaining('Run 1 (edit) in sandbox: 1 applied.')]);
    expect(stderr).toContain('pet 7: 10 -> 15');
    for (const reason of ['"nonsense" is not a quantity', 'there is no pet 4711', '"bogus" is not a command']) {
      expect(stderr).toContain(reason);
    }
    expect([await quantityOf(home, 7), await quantityOf(home, 9)]).toEqual(['15', '0']);
    // What was not applied is kept.
    expect(stderr).toContain('1 change kept for the next petstore inventory browse.');
  });

  it('--plain without a terminal and without --yes changes nothing', async () => {
    const home = createHome();
    const { code, stderr } = await runPetstore([...browse, '--plain'], { home, stdin: '7 11\napply\n' });
    expect([code, stderr]).toEqual([2, expect.stringContaining('add --yes')]);
    expect(await quantityOf(home, 7)).toBe('10');
  });
});

/** Resolves once the screen is as wanted. */
async function shows(terminal: Pty, isWanted: (screen: string) => boolean): Promise<void> {
  while (!isWanted((await screenOf(terminal.output, { cols: 80, rows: 24 })).join('\n'))) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Resolves once the state database has this number of pending changes. */
async function stored(home: Home, count: number): Promise<void> {
  const { openDatabase } = await import('../../src/node/sqlite.ts');
  for (;;) {
    const database = await openDatabase(`${home.state}/petstore/state.db`, { readOnly: true });
    const rows = database.all('SELECT petId FROM draft').length;
    database.close();
    if (rows === count) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
