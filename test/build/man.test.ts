/** The man page: complete, in sentences, and correct for mandoc. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { manPage } from '../../src/build/man.ts';
import { buildTree } from '../../src/commands/command-tree.ts';
import { commandsOf } from '../../src/cli/help/tree.ts';

const FILE = fileURLToPath(new URL('../../dist/petstore.1', import.meta.url));
const TREE = await buildTree();
const MAN = manPage(TREE, '0.0.0').replaceAll('\\-', '-').replaceAll('\\e', '\\');

it.each(commandsOf(TREE))('has $path with all its options', ({ path, options }) => {
  const [, section = ''] = MAN.split(`.SS petstore ${path}\n`);
  const own = section.split('\n.S')[0]!;
  expect(options.flatMap(({ names }) => names).filter((name) => !own.includes(name))).toEqual([]);
  expect(section).not.toBe('');
});

it('has the options of every command', () => {
  const names = TREE.globals.flatMap((option) => option.names);
  expect(names.filter((name) => !MAN.includes(name))).toEqual([]);
});

it('describes options in sentences', () => {
  const descriptions = MAN.split('\n.TP\n').slice(1).map((item) => item.split('\n.')[0]!.split('\n').slice(1).join(' ')); // prettier-ignore
  expect(descriptions.length).toBeGreaterThan(100);
  expect(descriptions.filter((text) => !/^[^a-z].*\.$/.test(text))).toEqual([]);
});

it('lists the values of a variable as it lists those of its option', () => {
  expect(MAN).toMatch(/^\\fBPETSTORE_OUTPUT\\fR\nOne of table, json, ndjson, csv\.$/m);
});

const hasMandoc = spawnSync('mandoc', ['-T', 'lint', '/dev/null'], { stdio: 'ignore' }).error === undefined;
if (!hasMandoc) process.stderr.write('Skipped: the man page held against mandoc, which is not installed.\n');

it.skipIf(!hasMandoc)('is one that mandoc has nothing to say about', () => {
  const { stdout, stderr } = spawnSync('mandoc', ['-T', 'lint', '-W', 'style', FILE], { encoding: 'utf8' });
  expect(stdout + stderr).toBe('');
  const { stdout: html } = spawnSync('mandoc', ['-T', 'html', FILE], { encoding: 'utf8' });
  const shown = html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  expect(shown).toContain('Set pet 7 to 12: petstore inventory set 7 12');
  expect(shown).toMatch(/PETSTORE\(1\) petstore manual PETSTORE\(1\).* petstore \d+\.\d+\.\d+ /);
});
