/** `inventory browse` on a real terminal, and line by line. */
import { describe, expect, it } from 'vitest';
import { runPetstore, startPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';
import { type Pty, type PtyOptions, startPty } from '../support/pty.ts';
import { screenOf } from '../support/screen.ts';
import { error, item, json } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { control, serveSandbox } from '../support/served.ts';
import { holdState, list, shopWith, take } from '../support/shop.ts';
import { staging } from '../support/staging.ts';

const CTRL = {
  c: '\u0003',
  d: '\u0004',
  l: '\u000c',
  o: '\u000f',
  r: '\u0012',
  s: '\u0013',
  space: '\0',
  x: '\u0018',
  y: '\u0019',
  z: '\u001a',
} as const;
const ESC = '\u001b';
const INSERT = '\u001b[2~';
const HOME = '\u001b[H';
const DOWN = '\u001b[B';
/** One more. */
const RIGHT = '\u001b[C';
/** As xterm has it: the screen as it was before, with a cursor. */
const RESTORED = '\u001b[?1006l\u001b[?1000l\u001b[?7h\u001b[?25h\u001b[2J\u001b[H\u001b[?1049l';

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
    await terminal.type('gold', '2 of 25 pets');
    await terminal.type(RIGHT + RIGHT, '→ 12');
    // As many scanners end a barcode.
    await terminal.type(`${DOWN}\r\n`, 'Quantity of pet 12');
    await terminal.type('9\r', '→ 9');
    await terminal.type(CTRL.x, /pet +7 +10 → 12 +\+2 +Goldfish/);
    await terminal.waitFor('Change 2 pets in sandbox?');
    await terminal.type('n\r', 'Nothing was applied.');
    expect(await quantityOf(home, 7)).toBe('10');
    await terminal.type('\x17', 'Esc leaves');
    await terminal.type('\x1b', 'The cause was not changed.');
    await terminal.type('\x17', 'Cause (received,');
    await terminal.type('sold\r', 'Note');
    await terminal.type('by mistake\r', 'For the history: sold, by mistake.');
    await terminal.type('\x17', '(sold)');
    await terminal.type('-\r', '(- clears; Esc leaves) (by mistake)');
    await terminal.type('-\r', 'The history will have no cause.');
    await terminal.type('\x17', 'Cause (received,');
    await terminal.type('returned\r', 'Note');
    await terminal.type('from the fair\r', 'For the history: returned, from the fair.');
    await terminal.type(CTRL.x, 'Change 2 pets in sandbox?');
    await terminal.type('y\r', 'Run 1 (browse) in sandbox: 2 applied.');
    await left(terminal, CTRL.c);
    expect([await quantityOf(home, 7), await quantityOf(home, 12)]).toEqual(['12', '9']);
    const history = await petstore(home, 'inventory', 'history', '-o', 'csv');
    expect(history.stdout.match(/,returned,from the fair,browse/g)).toHaveLength(2);
    expect((await petstore(home, 'inventory', 'undo', '--yes')).code).toBe(0);
    expect([await quantityOf(home, 7), await quantityOf(home, 12)]).toEqual(['10', '5']);
  });

  it.each<[how: string, end: (terminal: Pty) => void, code: number, isRestored: boolean]>([
    ['kill -9', (terminal) => terminal.kill('SIGKILL'), 137, false],
    ['SIGTERM', (terminal) => terminal.kill('SIGTERM'), 143, true],
    ['SIGINT', (terminal) => terminal.kill('SIGINT'), 130, true],
    ['the end of the terminal', (terminal) => terminal.hangUp(), 129, false],
    ['Ctrl-C twice', (terminal) => terminal.write(CTRL.c + CTRL.c), 0, true],
    ['Ctrl-C and an Enter that sends LF', (terminal) => terminal.write(`${CTRL.c}\n`), 0, true],
  ])('what is pending survives %s, and is offered on the next start', async (_how, end, code, isRestored) => {
    const home = createHome();
    let terminal = await opened(home);
    await terminal.type(RIGHT, '1 change to apply');
    await stored(home, 1);
    end(terminal);
    expect((await terminal.exited).code).toBe(code);
    if (isRestored) expect(terminal.output).toContain(RESTORED);
    // The question says what it is about, also with --quiet.
    terminal = start(home, { cols: 120 }, '--quiet');
    await terminal.waitFor('You did not apply 1 change (pet 1: 14 → 15).\nKeep it? No throws it away. (Y/n)');
    await terminal.type('\r', '→ 15 +1');
    await left(terminal, `${CTRL.c}d`);
    // Nothing is left to offer.
    await left(await opened(home), CTRL.c);
  });

  it('Ctrl-C with pending changes asks once', async () => {
    const terminal = await opened(createHome());
    await terminal.type(RIGHT, '1 change to apply');
    await terminal.type(CTRL.c, 'Leave with 1 change to apply? Enter: keep for later, d: discard, Esc: stay.');
    // Together, as over a slow line: Esc stays, the d is not the answer.
    terminal.write(`${ESC}d`);
    await shows(terminal, (screen) => !screen.includes('Leave with') && screen.includes('Search: d_'));
    await left(terminal, CTRL.c + CTRL.c);
    expect(terminal.plain()).toContain('You did not apply 1 change. Continue: petstore --env sandbox inventory browse');
  });

  it('marked pets, undo and redo; the last changes of a pet', async () => {
    const home = createHome();
    const terminal = await opened(home, { cols: 120 });
    await terminal.type(`${INSERT}${CTRL.space}+6\r`, '2 changes to apply');
    await terminal.type(CTRL.z, 'Undone: 2 pets.');
    await terminal.type(CTRL.y, 'Redone: 2 pets.');
    await terminal.type(CTRL.x, /pet 1 +14 → 20 +\+6[^]*pet 2 +3 → +9 +\+6[^]*Change 2 pets in sandbox\?/);
    await terminal.type('y\r', '2 applied.');
    await terminal.type(CTRL.o + HOME, /Canary \(pet 1\)[^]*14 → 20 \+6/);
    await left(terminal, CTRL.c);
    expect([await quantityOf(home, 1), await quantityOf(home, 2)]).toEqual(['20', '9']);
  });

  it('a pet that someone else has changed since is left as it is, and marked, for the user to decide', async () => {
    const home = createHome();
    const terminal = await opened(home, { cols: 120 });
    await terminal.type(`${RIGHT}${DOWN}${RIGHT}`, '2 changes to apply');
    expect((await petstore(home, 'inventory', 'set', '1', '99')).code).toBe(0);
    await terminal.type(CTRL.x, 'Pet 1 is left as it is: it was 14 when you changed it, and is now 99.');
    await terminal.waitFor('Change 1 pet in sandbox?');
    await terminal.type('y\r', /! +1 +Canary +99 +→ 15 /);
    await terminal.waitFor('The stock of 1 pet was changed by someone else since (marked with !).');
    // Only the conflict is left: nothing to ask.
    await terminal.type(CTRL.x, 'Nothing was applied. The stock of 1 pet');
    await terminal.type(`\u001b[H=100\r`, '→ 100');
    await terminal.type(CTRL.x, 'Change 1 pet in sandbox?');
    await terminal.type('y\r', 'Run 2 (browse) in sandbox: 1 applied.');
    await terminal.end('SIGTERM');
    const lines = await screenOf(terminal.output, { cols: 120, rows: 24 });
    const results = [1, 2].map((run) => `Run ${run} (browse) in sandbox: 1 applied.`);
    expect(lines.filter((line) => line.startsWith('Run'))).toEqual(results);
    expect([await quantityOf(home, 1), await quantityOf(home, 2)]).toEqual(['100', '4']);
  });

  it('changes that could not be saved are stored with the next one', async () => {
    const home = createHome();
    let terminal = await opened(home, { cols: 120 });
    const release = holdState(home);
    await terminal.type(RIGHT, 'The changes could not be saved');
    release();
    terminal.write(`${DOWN}${RIGHT}`);
    await stored(home, 2);
    await terminal.end('SIGKILL');
    terminal = start(home);
    await terminal.waitFor('You did not apply 2 changes (pet 1: 14 → 15, pet 2: 3 → 4).');
    await terminal.waitFor('Keep them? No throws them away. (Y/n)');
    await terminal.type('n\r', 'Type to search.');
    await stored(home, 0);
    await left(terminal, CTRL.c);
  });

  it('a run that is killed while it applies is resumed, and is not offered a second time', async () => {
    const sandbox = await serveSandbox(['--fault', 'delay=90s,method=PATCH']);
    const home = createHome();
    const env = staging(sandbox.baseUrl, sandbox.apiKey);
    const terminal = startPty(['inventory', 'browse'], { home, env, cols: 120 });
    await terminal.waitFor('Type to search.');
    await terminal.type(`${RIGHT}${DOWN}${RIGHT}`, '2 changes to apply');
    await terminal.type(CTRL.x, 'Change 2 pets in staging?');
    terminal.write('y\r');
    await stored(home, 0);
    await terminal.end('SIGKILL');
    const again = startPty(['inventory', 'browse'], { home, env, cols: 120 });
    await again.waitFor('Run 1 (browse) was not finished:');
    await again.waitFor('continue: petstore --env staging inventory runs resume 1');
    await again.waitFor('Run 1 was not finished; petstore --env staging inventory runs shows it.');
    again.write(CTRL.c);
    await again.exited;
    expect(await screenOf(again.output, { cols: 120, rows: 24 })).toContainEqual(expect.stringContaining('continue: '));
    await control(sandbox.port, 'PUT', '/faults', []);
    const resumed = await runPetstore(['inventory', 'runs', 'resume', '1', '--yes'], { home, env });
    expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringContaining('2 applied')]);
  });

  it('fits a narrow terminal, is drawn again when its size changes, and has no colour with NO_COLOR', async () => {
    const terminal = await opened(createHome(), { cols: 120, rows: 30, env: { NO_COLOR: '1' } });
    terminal.resize(40, 10);
    await terminal.waitFor(/25 pets[^]*type|25 pets[^]*\^C leave/);
    // A size that changes and changes back before petstore has seen it.
    terminal.kill('SIGWINCH');
    await terminal.waitForFrame(/25 pets[^]*\^C leave/);
    // Marks of direction, as those of text from a chat, are not searched for.
    await terminal.type('\u202a99\u202c', '1 of 25 pets');
    const screen = await screenOf(terminal.output.slice(terminal.output.lastIndexOf('\u001b[2J')), {
      cols: 40,
      rows: 10,
    });
    expect(screen.slice(0, 4)).toEqual([
      ' sandbox: 1 of 25 pets, quantity 4',
      'Search: 99_',
      '                Pet  Name       Quantity',
      '>  9007199254740993  Koi               4',
    ]);
    expect(screen).toHaveLength(10);
    // eslint-disable-next-line no-control-regex -- the sequences of colours: reverse video is not one
    expect(terminal.output).not.toMatch(/\u001b\[(?!2?7m)[0-9;]*m/);
    await left(terminal, CTRL.c);
  });

  it('an emoji that the terminal draws wider than others do moves no line', async () => {
    const size = { cols: 20, rows: 6 };
    const terminal = await opened(createHome(), { cols: 80, rows: 6 });
    terminal.resize(size.cols, size.rows);
    await terminal.waitFor('Ent…');
    // Two columns each, on this terminal three.
    await terminal.type('👨‍👩‍👧'.repeat(5), '👨‍👩‍👧_');
    const screen = await screenOf(terminal.output.slice(terminal.output.lastIndexOf('\u001b[?1049h')), size);
    expect(screen.slice(2, 4)).toEqual(['   Pet  Quantity', 'No pet matches. Esc…']);
    await left(terminal, CTRL.c);
  });

  it('leaves nothing on a terminal without an alternate screen, as that of Linux', async () => {
    const size = { cols: 80, rows: 12 };
    const terminal = await opened(createHome(), size);
    await left(terminal, CTRL.c);
    const output = terminal.output.replaceAll('\u001b[?1049h', '').replaceAll('\u001b[?1049l', '');
    expect(await screenOf(output, size)).toEqual(['Nothing was changed.', expect.stringMatching(/ requests left/)]);
  });

  it('mouse: a click puts the cursor on a pet, the wheel scrolls; neither is taken for typed text', async () => {
    const home = createHome();
    const terminal = await opened(home, { cols: 80, rows: 12 });
    // The form of terminals that know no other, and xterm's.
    terminal.write('\u001b[M *\u0026\u001b[M#*');
    terminal.write('\u0026\u001b[<0;10;6M\u001b[<0;10;6m');
    await terminal.type(RIGHT, '→ 1 +1');
    terminal.write('\u001b[<65;10;6M\u001b[<65;10');
    // So that the rest arrives by itself.
    await shows(terminal, (screen) => screen.includes('Persian cat'), 12);
    terminal.write(';6M');
    await shows(terminal, (screen) => screen.includes('Hamster'), 12);
    const screen = (await screenOf(terminal.output, { cols: 80, rows: 12 })).join('\n');
    expect([screen, screen]).toEqual([expect.stringMatching(/Search: _\n/), expect.stringMatching(/\n> +7 +Goldfish/)]);
    await left(terminal, `${CTRL.c}d`);
  });

  it('--dry-run shows the plan, and sends no write', async () => {
    const home = createHome();
    const terminal = await opened(home, {}, '--dry-run');
    terminal.write(RIGHT + CTRL.x);
    expect((await terminal.exited).code).toBe(0);
    expect(terminal.plain()).toContain(
      '1 pet to change (+1 in all), 0 unchanged. Dry run in sandbox: no write is sent.',
    );
    expect(await quantityOf(home, 1)).toBe('14');
  });

  it('one at a time for each environment', async () => {
    const home = createHome();
    const terminal = await opened(home);
    const second = start(home);
    expect((await second.exited).code).toBe(6);
    expect(second.plain()).toContain('The table is already open in another window.');
    await left(terminal, CTRL.c);
  });

  it('without the stock it ends with the failure; once it has been read, a refresh that fails is shown on the screen', async () => {
    const refused = await scriptedServer([error(401)]);
    const first = startPty(['inventory', 'browse'], { env: staging(refused.baseUrl) });
    expect((await first.exited).code).toBe(4);
    const [screen, after] = first.output.split(RESTORED);
    expect([screen, after]).toEqual([expect.not.stringContaining('error'), expect.stringContaining('error')]);
    const server = await scriptedServer([json([item(7, 10)]), error(401), json([item(7, 11)])]);
    const [home, env] = [createHome(), staging(server.baseUrl)];
    await runPetstore(['catalog', 'import', '-'], { home, env, stdin: 'petId,name\n7,Rex\n' });
    const terminal = startPty(['inventory', 'browse'], { home, env, cols: 120 });
    await terminal.waitFor('Type to search.');
    terminal.write(CTRL.r);
    await terminal.waitForFrame(/401.*\. \^R tries again\./);
    expect((await screenOf(terminal.output, { cols: 120, rows: 24 })).join('\n')).toMatch(/7 +Rex +10/);
    await terminal.type(CTRL.r, /7 +Rex +11 +available/);
    await left(terminal, CTRL.c);
  });

  it('what was applied is told, too, where the stock cannot be read after it', async () => {
    const [before, after] = [json([item(7, 10)]), json([item(7, 11)])];
    const server = await scriptedServer([before, before, before, json(item(7, 11)), after, error(401)]);
    const terminal = startPty(['inventory', 'browse'], { env: staging(server.baseUrl), cols: 120 });
    await terminal.waitFor('Type to search.');
    await terminal.type(`${RIGHT}${CTRL.x}`, 'Change 1 pet in staging?');
    terminal.write('y\r');
    await terminal.waitForFrame(/Run 1 \(browse\) in staging: 1 applied\. .*refused the API key/);
    await left(terminal, CTRL.c);
  });
});

describe('without a full screen', () => {
  it('--plain on a terminal: the same by lines', async () => {
    const home = createHome();
    const terminal = startPty([...browse, '--plain'], { home, cols: 120 });
    await terminal.waitFor('1 to 10 of 25 pets; next shows more.');
    await terminal.type('next\r', '11 to 20 of 25 pets');
    await terminal.type('status sold\r', 'pet 3 (Red macaw): 0, sold');
    await terminal.type('3 +4\r', 'pet 3 (Red macaw): 0, to be 4, sold');
    await terminal.type('3 -9\r', 'Below zero: petstore --env sandbox inventory set 3 -5 --allow-negative');
    await terminal.type('apply\r', 'Change 1 pet in sandbox?');
    await terminal.type('y\r', 'Run 1 (browse) in sandbox: 1 applied.');
    await terminal.type('3 5\rapply\r', 'Change 1 pet in sandbox?');
    await terminal.type('y\r', 'Run 2 (browse) in sandbox: 1 applied.');
    expect(terminal.plain().match(/Run 1/g)).toHaveLength(1);
    await terminal.type('3 6\r', 'to be 6');
    await terminal.type('find gold\r', 'No pet matches gold, status sold.');
    await left(terminal, 'q\r');
    expect(terminal.plain()).toContain('Continue: petstore --env sandbox inventory browse --plain\n');
    expect(await quantityOf(home, 3)).toBe('5');
    expect(terminal.output).not.toContain('\u001b[?1049h');
  });

  it('--plain from a pipe: a wrong line after an apply tells of both', async () => {
    const home = createHome();
    const stdin = '7 12\napply\n9 1\n9 x\n';
    const { code, stdout, stderr } = await runPetstore([...browse, '--plain', '--yes'], { home, stdin });
    expect([code, stdout], stderr).toEqual([11, expect.stringContaining('Run 1 (browse) in sandbox: 1 applied.')]);
    expect(stderr).toContain('1 row of stdin cannot be used; what was applied before stays applied.');
    expect(stderr).toContain('Remove the lines up to the last apply');
    expect([await quantityOf(home, 7), await quantityOf(home, 9)]).toEqual(['12', '0']);
  });

  it('--plain from a pipe: the service is down after an apply, which is told of too', async () => {
    const stock = { 7: 10, 9: 10 };
    const down = error(503, 'No.', 'error', { headers: { 'Retry-After': '600' } });
    const { server, ...shop } = await shopWith([list(stock), list(stock), take(stock), down]);
    const stdin = '7 12\napply\n9 1\napply\n';
    const { code, stdout, stderr } = await runPetstore(['inventory', 'browse', '--plain', '--yes'], { ...shop, stdin });
    expect([code, stdout], stderr).toEqual([8, expect.stringContaining('Run 1 (browse) in staging: 1 applied.')]);
    expect(stderr).toContain('; nothing more was sent.');
    expect(server.requests.length).toBe(4);
  });

  it('--plain from a pipe goes on after it was suspended while it applies', async () => {
    const stock = { 7: 10 };
    const resume = (): void => {
      running.kill('SIGCONT');
    };
    const listed = list(stock);
    const shop = await shopWith([listed, listed, take(stock, undefined, resume), listed, listed]);
    const stdin = '7 12\napply\n';
    const running = startPetstore(['inventory', 'browse', '--plain', '--yes'], { ...shop, stdin });
    expect((await running.exited).code, running.stderr).toBe(0);
  });

  it('--plain from a pipe, with --yes: what was left at a terminal is not its business', async () => {
    const home = createHome();
    const terminal = await opened(home);
    terminal.write(RIGHT);
    await stored(home, 1);
    terminal.write(CTRL.c + CTRL.c);
    await terminal.exited;
    await runPetstore(['--env', 'sandbox', 'catalog', 'import', '-'], {
      home,
      stdin: 'petId,name,barcode\n8,Guppy,4006381333931\n',
    });
    const lines = ['7 +5', '4006381333931 2', 'sort quantity', 'low', 'changes', 'apply', '9 1', 'q'];
    const { code, stdout, stderr } = await runPetstore([...browse, '--plain', '--yes'], {
      home,
      stdin: `${lines.join('\n')}\n`,
    });
    expect([code, stdout], stderr).toEqual([0, expect.stringContaining('Run 1 (browse) in sandbox: 2 applied.')]);
    expect(stderr).toContain('pet 7 (Goldfish): 10 → 15');
    expect(stderr).toContain('You did not apply 1 change.');
    expect([await quantityOf(home, 1), await quantityOf(home, 7), await quantityOf(home, 8)]).toEqual([
      '14',
      '15',
      '2',
    ]);
    expect(await quantityOf(home, 9)).toBe('0');
  });
});

/** Ends it with these keys. */
async function left(terminal: Pty, keys: string): Promise<void> {
  terminal.write(keys);
  expect((await terminal.exited).code).toBe(0);
}

/** Resolves once the screen is as wanted. */
async function shows(terminal: Pty, isWanted: (screen: string) => boolean, rows = 24): Promise<void> {
  while (!isWanted((await screenOf(terminal.output, { cols: 80, rows })).join('\n'))) {
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
