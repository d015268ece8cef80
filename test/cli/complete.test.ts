import { describe, expect, it } from 'vitest';
import { complete } from '../../src/cli/completion/complete.ts';
import { optionsAt, pathsOf } from '../../src/cli/help/tree.ts';
import { buildTree } from '../../src/commands/command-tree.ts';

const TREE = await buildTree();
const PETS = [12n, 7n, 9223372036854775807n];
const NAMES = new Map([
  [7n, { name: 'Goldfish,\t small' }],
  [12n, { name: '' }],
]);

/** The candidates, each with its description, and the directive. */
async function answer(...words: string[]): Promise<{ found: string[]; lines: string[]; directive: string }> {
  const known = PETS.map((petId) => ({ petId, ...NAMES.get(petId) }));
  const lines = (await complete(TREE, words, () => Promise.resolve(known))).trimEnd().split('\n');
  const directive = lines.pop() ?? '';
  return { found: lines.map((line) => line.split('\t')[0]!), lines, directive };
}

describe('candidates', () => {
  it.each([
    ['inv', ['inventory']],
    ['inventory h', ['history']],
    ['inventory ', 'list summary get set adjust browse import count edit history undo redo runs'.split(' ')],
    ['--env sandbox inventory hi', ['history']],
    ['-e s', ['staging', 'sandbox']],
    ['--env ', ['production', 'staging', 'sandbox']],
    ['inventory list --st', ['--status']],
    ['inventory list --status ', ['available', 'pending', 'sold']],
    ['inventory list --status available p', ['pending']],
    ['inventory list --status sold --fail-if-n', ['--fail-if-none']],
    ['inventory list --sort q', ['quantity']],
    ['inventory list --max 3 --sort pet', ['petId']],
    ['inventory list -o nd', ['ndjson']],
    ['inventory list --jso', ['--json']],
    ['inventory list -- --st', []],
    ['inventory summary -- ', []],
    ['config get staging.b', ['staging.base-url']],
    ['help rate', ['rate-limits']],
    ['help inv', ['inventory']],
    ['completion po', ['powershell']],
    ['smoke --only limit-4', ['limit-429']],
    ['api PA', ['PATCH']],
    ['inventory set 92', ['9223372036854775807']],
    ['inventory list --pet 92', ['9223372036854775807']],
    ['inventory set 7 ', []],
    ['bogus ', []],
    ['--env=sta', ['--env=staging']],
    ['-es', ['-estaging', '-esandbox']],
    ['-qesan', ['-qesandbox']],
    ['inventory list --columns petId,q', ['petId,quantity']],
    ['inventory list --columns=petId,q', ['--columns=petId,quantity']],
    ['inventory list --pet ', ['12', '7', '9223372036854775807']],
    ['inventory list --pet=1', ['--pet=12']],
    ['inventory list --pet 7 --pet 12,', ['12,12', '12,7', '12,9223372036854775807']],
    ['inventory list --sort -', ['-petId', '-quantity', '-status', '-name']],
    ['-- inven', ['inventory']],
  ])('petstore %s', async (line, candidates) => {
    expect((await answer(...line.split(' '))).found).toEqual(candidates);
  });

  it('are every option of every place, and nothing else', async () => {
    for (const path of pathsOf(TREE)) {
      const options = optionsAt(TREE, path).flatMap(({ names }) => names);
      expect([path, (await answer(...path.split(' ').filter(Boolean), '-')).found]).toEqual([path, options]);
    }
  });

  it('have their description in the same line', async () => {
    expect((await answer('inventory', 'hi')).lines).toEqual(['history\tShow changes made from this machine']);
  });

  it('have the names of pets beside their ids', async () => {
    expect((await answer('inventory', 'set', '')).lines).toEqual(['12', '7\tGoldfish, small', '9223372036854775807']);
    expect((await answer('inventory', 'list', '--pet', '12,7')).lines).toEqual(['12,7\tGoldfish, small']);
  });

  it.each([
    ['inventory set ', {}],
    ['--env staging inventory set ', { env: 'staging' }],
    ['-e staging inventory list --env=sandbox --pet ', { env: 'sandbox' }],
    ['inventory set --base-url http://a.example/v1 --insecure-http ', { baseUrl: 'http://a.example/v1' }],
    ['inventory list -- ', {}],
  ])('petstore %s: the names are those of the environment', async (line, place) => {
    const asked: unknown[] = [];
    await complete(TREE, line.split(' '), (each) => {
      asked.push(each);
      return Promise.resolve([]);
    });
    expect(asked).toEqual([{ env: undefined, baseUrl: undefined, ...place }]);
  });

  it.each([
    ['inventory import ', ':files'],
    ['api GET /x --input=', ':files'],
    ['inventory list --sort ', ':end'],
    ['nope ', ':end'],
  ])('petstore %s ends with %s', async (line, directive) => {
    expect((await answer(...line.split(' '))).directive).toBe(directive);
  });
});
