/** `inventory edit`, in this process, on the built-in sandbox. */
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { asMortal, exits, petstoreCommand, runPetstore, startPetstore } from '../support/binary.ts';
import { staging } from '../support/staging.ts';
import { createHome, fileIn } from '../support/home.ts';
import { sandboxShop, TERMINAL } from '../support/sandbox-shop.ts';
import { serveSandbox } from '../support/served.ts';

const shop = () => sandboxShop({ areNamed: false });

it('shows the names of the catalog', async () => {
  const { run } = shop();
  await run(['catalog', 'set', '8', '--name', 'Guppy']);
  let shown = '';
  const keep = editing((text) => (shown = text));
  await run(['inventory', 'edit', '--pet', '7,8'], keep);
  expect(shown).toMatch(/\npetId,quantity,status,pet name\n7,10,available,\n8,6,available,Guppy\n$/);
});

const editing = (change: (text: string) => string) => ({
  ...TERMINAL,
  editor: (path: string) => {
    writeFileSync(path, change(readFileSync(path, 'utf8')));
  },
});

it.each(['utf8', 'utf16le'] as const)('sets what was changed, after a question: %s with a BOM', async (encoding) => {
  const { run, stock } = shop();
  const editor = (path: string): void => {
    const text = `\ufeff${readFileSync(path, 'utf8')}`;
    writeFileSync(path, text.replace('\n7,10,', '\n7,11,').replace(/\n8,.*/, ''), encoding);
  };
  const { code, stdout } = await run(['inventory', 'edit'], { ...editing(String), editor, answers: [true] });
  const done = 'Run 1 (edit) in sandbox: 1 applied.\nUndo: petstore --env sandbox inventory undo\n';
  expect([code, stdout, await stock(7, 8)]).toEqual([0, done, [11, 6]]);
});

it('does nothing where nothing was changed, and shows what the filters leave', async () => {
  const { run } = shop();
  let shown = '';
  const keep = editing((text) => (shown = text));
  const { code, stdout } = await run(['inventory', 'edit', '--pet', '7'], keep);
  expect([code, stdout]).toEqual([0, 'Nothing was changed.\n']);
  expect(shown.split('\n').slice(2)).toEqual(['petId,quantity,status', '7,10,available', '']);
});

it('changes only pets that it has shown: a digit that is lost from an id names another pet', async () => {
  const { run, stock } = shop();
  const slip = editing((text) => text.replace('\n17,', '\n7,'));
  const { code, stderr } = await run(['inventory', 'edit', '--pet', '17'], { ...slip, answers: [false] });
  const problem = 'line 4: pet 7 was not in this file';
  expect([code, stderr, await stock(7)]).toEqual([2, expect.stringContaining(problem), [10]]);
});

it('keeps the file where it cannot be used', async () => {
  const { run, quantity } = shop();
  const wrong = editing((text) => text.replace('\n7,10,', '\n7,ten,'));
  const edit = () => run(['inventory', 'edit'], { ...wrong, answers: [false] });
  const { code, stderr } = await edit();
  expect([code, stderr, await quantity(7)]).toEqual([2, expect.stringContaining('quantity is "ten"'), 10]);
  const keptIn = (text: string): string | undefined => /file is\s+kept:\s+(\S+)/.exec(text)?.[1];
  expect(readFileSync(keptIn(stderr)!, 'utf8')).toContain('\n7,ten,');
  // Also from the next one, which in a container has the same process number.
  expect(keptIn((await edit()).stderr)).not.toBe(keptIn(stderr));
  expect(stderr).toContain('hint: To start again from the current stock, run the command again.');
});

it.each([
  () => {
    throw new Failure('editor', { command: 'vi', problem: 'was not found' });
  },
  rmSync,
])('leaves no file that the editor has not changed, or has removed', async (editor) => {
  const { home, run } = shop();
  const { code, stderr } = await run(['inventory', 'edit'], { ...TERMINAL, editor });
  expect([code, readdirSync(join(home.state, 'petstore/edit'))]).toEqual([3, []]);
  expect(stderr).not.toContain('kept');
});

it('does not block other commands while the editor is open', async () => {
  const { home, run } = shop();
  const stock = fileIn(home, 'meanwhile.csv', 'petId,quantity\n8,3\n');
  const program = petstoreCommand()
    .map((word) => `'${word}'`)
    .join(' ');
  const meanwhile = `${program} --env sandbox inventory import --yes '${stock}' && sed -i s/^7,10,/7,11,/ "$1"`;
  const script = fileIn(home, 'editor', `#!/bin/sh\n${meanwhile}\n`, 0o755);
  const edit = ['--env', 'sandbox', 'inventory', 'edit', '--yes'];
  expect(await runPetstore(edit, { home, env: { EDITOR: `'${script}'` } })).toMatchObject({
    code: 0,
    stdout: 'Run 2 (edit) in sandbox: 1 applied.\n',
  });
  expect((await run(['inventory', 'history', '--json'])).stdout.match(/"applied"/g)).toHaveLength(2);
});

it('gives the editor no key and no ledger’s password', async () => {
  const home = createHome();
  const seen = join(home.path, 'seen');
  const secret = { PETSTORE_API_KEY: 'not-for-editors', PETSTORE_LEDGER: '' };
  const env = { ...secret, EDITOR: `env > '${seen}' #`, OTHER: 'kept' };
  const { code } = await runPetstore(['--env', 'sandbox', 'inventory', 'edit', '--yes'], { home, env });
  const names = readFileSync(seen, 'utf8').match(/^\w+(?==)/gm);
  expect({ code, secrets: names?.filter((name) => name.startsWith('PETSTORE_')) }).toEqual({ code: 0, secrets: [] });
  expect(names).toContain('OTHER');
});

it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('fault 122: %s ends the editor, and the command', async (signal, code) => {
  const home = createHome();
  // KILL: a child that is about to run sleep would lose a TERM.
  const steps = ["trap 'kill -9 $!; echo closed >&2' TERM", 'sleep 60 >/dev/null 2>&1 &', 'echo open >&2', 'wait'];
  const script = fileIn(home, 'editor', `#!/bin/sh\n${steps.join('\n')}\n`, 0o755);
  const env = { EDITOR: `'${script}'` };
  const running = startPetstore(['--env', 'sandbox', 'inventory', 'edit', '--yes'], { home, env });
  await running.waitFor(/open/, 'stderr');
  expect((await running.end(signal)).code).toBe(code);
  // The editor first, which restores the terminal. It has changed nothing.
  expect(running.stderr.startsWith('open\nclosed\n')).toBe(true);
  expect([running.stderr.includes('kept'), readdirSync(join(home.state, 'petstore/edit'))]).toEqual([false, []]);
});

it('opens what cannot be used once more, if that is wanted', async () => {
  const { run, quantity } = shop();
  const texts = ['ten', '11'];
  const { code, stderr } = await run(['inventory', 'edit'], {
    ...editing((text) => text.replace(/\n7,\w+,/, `\n7,${texts.shift()},`)),
    answers: [true, true],
  });
  expect([code, stderr, await quantity(7)]).toEqual([0, expect.stringContaining('warning: line 10: quantity'), 11]);
});

it('leaves alone what is below zero already, and takes no other count below zero without --allow-negative', async () => {
  const home = createHome();
  const { baseUrl, apiKey } = await serveSandbox(['--quantity=-100..100'], { home });
  const env = staging(baseUrl, apiKey);
  const run = (args: string[], editor = 'false') => runPetstore(args, { home, env: { ...env, EDITOR: editor } });
  const edit = (from: string, to: string, ...args: string[]) =>
    run(['inventory', 'edit', '--yes', ...args], `sed -i s/^${from},/${to},/`);
  expect(await run(['inventory', 'set', '7', '-3', '--allow-negative'])).toMatchObject({ code: 0 });
  expect(await edit('8,6', '8,5')).toMatchObject({ code: 0 });
  const refused = await edit('8,5', '8,-5');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('line 11: quantity is -5, below zero')]);
  expect(await edit('8,5', '8,-5', '--allow-negative')).toMatchObject({ code: 0 });
  const { stdout } = await run(['inventory', 'list', '--pet', '7', '8', '-o', 'csv', '--no-header']);
  expect(stdout).toBe('7,-3,available\n8,-5,available\n');
  // The refused rows are kept so that they can be fixed; the finished ones are not.
  expect(readdirSync(join(home.state, 'petstore', 'edit'))).toHaveLength(1);
});

it('needs a terminal, or an editor that was named', async () => {
  const { home, run } = shop();
  expect(await run(['inventory', 'edit'])).toMatchObject(exits(2, '--yes'));
  expect((await run(['inventory', 'edit', '--yes'])).stderr).not.toMatch('--yes');
  const script = fileIn(home, 'editor', '#!/bin/sh\nsed -i s/^7,10,/7,11,/ "$1"\n', 0o755);
  const edit = (...args: string[]) =>
    runPetstore(['--env', 'sandbox', 'inventory', 'edit', ...args], { home, env: { EDITOR: `'${script}'` } });
  expect(await edit('--no-input')).toMatchObject({ code: 2 });
  expect(await edit()).toMatchObject({ code: 2 });
  expect(await edit('--yes')).toMatchObject({ code: 0, stdout: 'Run 1 (edit) in sandbox: 1 applied.\n' });
});

it('has set what was changed, even if its file cannot be removed afterwards', async () => {
  const home = createHome();
  const script = '#!/bin/sh\nsed -i "s/^7,10,/7,12,/" "$1"; chmod 500 "${1%/*}"\n';
  const env = { EDITOR: fileIn(home, 'editor', script, 0o700) };
  const edit = ['--env', 'sandbox', 'inventory', 'edit', '--yes'];
  const { code, stdout, stderr } = await runPetstore(edit, { home, env, command: asMortal() });
  const folder = join(home.state, 'petstore', 'edit');
  const [file] = readdirSync(folder);
  // So that the home can be removed by a user who is not root.
  chmodSync(folder, 0o700);
  expect([code, stdout]).toEqual([0, expect.stringContaining('Run 1 (edit) in sandbox: 1 applied.')]);
  expect(stderr).toContain(`Your edited file is kept: ${join(folder, String(file))}\n`);
});
