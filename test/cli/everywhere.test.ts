/** Every command and option is defined once, and every list of commands is complete. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { manPage } from '../../src/build/man.ts';
import { buildTree } from '../../src/commands/command-tree.ts';
import { helpText } from '../../src/cli/help/render.ts';
import { commandsOf, type TreeCommand } from '../../src/cli/help/tree.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TREE = await buildTree();
const read = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');
const words = (text: string): string => text.replace(/&lt;/g, '<').replace(/\s+/g, ' ');

const MAN = manPage(TREE, '0.0.0');
const PLACES: Readonly<Record<string, (command: TreeCommand) => string>> = {
  'the help': ({ path }) => helpText(TREE, { path }, 80),
  'the short help': ({ path }) => helpText(TREE, { path, isShort: true }, 80),
  'docs/commands.md': ({ path }) => read('docs/commands.md').split(`petstore ${path}</code>`)[1] ?? '',
  'the man page': ({ path }) =>
    (MAN.split(`.SS petstore ${path}\n`)[1] ?? '').split('\n.S')[0]!.replaceAll('\\-', '-').replaceAll('\\e', '\\'),
};

describe.each(Object.entries(PLACES))('%s', (_place, textFor) => {
  it.each(commandsOf(TREE).map((command) => [command.path, command] as const))(
    'has %s with all its options',
    (_path, command) => {
      const text = words(textFor(command));
      expect(text).not.toBe('');
      const names = command.options.flatMap((option) => option.names);
      expect(names.filter((name) => !text.includes(name))).toEqual([]);
    },
  );

  it('has the options of every command', () => {
    const whole =
      _place === 'the man page'
        ? MAN.replaceAll('\\-', '-')
        : _place.startsWith('docs/')
          ? read(_place)
          : helpText(TREE, { path: 'options' }, 80);
    const names = TREE.globals.flatMap((option) => option.names);
    expect(names.filter((name) => !whole.includes(name))).toEqual([]);
  });
});

it('every command and option says what it does, in one place', () => {
  const undescribed = commandsOf(TREE).flatMap(({ path, summary, options, arguments: args }) => [
    ...(summary.length < 10 ? [path] : []),
    ...[
      ...options.map(({ flags, description }) => [flags, description]),
      ...args.map(({ name, description }) => [name, description]),
    ]
      .filter(([, description = '']) => description.length < 5)
      .map(([name]) => `${path} ${name}`),
  ]);
  expect(undescribed).toEqual([]);
});

const hasMandoc = spawnSync('mandoc', ['-T', 'lint', '/dev/null'], { stdio: 'ignore' }).error === undefined;
if (!hasMandoc) process.stderr.write('Skipped: the man page held against mandoc, which is not installed.\n');

it.skipIf(!hasMandoc)('the man page is one that mandoc has nothing to say about', () => {
  const { stdout, stderr } = spawnSync('mandoc', ['-T', 'lint', '-W', 'style', `${ROOT}dist/petstore.1`], {
    encoding: 'utf8',
  });
  expect(stdout + stderr).toBe('');
  const { stdout: html } = spawnSync('mandoc', ['-T', 'html', `${ROOT}dist/petstore.1`], { encoding: 'utf8' });
  const shown = words(html.replace(/<[^>]*>/g, ' '));
  expect(shown).toContain('Set pet 7 to 12: petstore inventory set 7 12');
  expect(shown).toMatch(/PETSTORE\(1\) petstore manual PETSTORE\(1\).* petstore \d+\.\d+\.\d+ /);
});

it('the man page describes options in sentences', () => {
  const descriptions = MAN.split('\n.TP\n').slice(1).map((item) => item.split('\n.')[0]!.split('\n').slice(1).join(' ')); // prettier-ignore
  expect(descriptions.length).toBeGreaterThan(100);
  expect(descriptions.filter((text) => !/^[^a-z].*\.$/.test(text))).toEqual([]);
});
