import { describe, expect, it } from 'vitest';
import { complete } from '../../src/cli/completion/complete.ts';
import { buildTree } from '../../src/commands/tree.ts';
import { CASES, INJECTIONS } from '../e2e/completion-cases.ts';

const TREE = await buildTree();
const PETS = [12n, 7n, 9223372036854775807n];

/** The candidates, each with its description, and the directive. */
async function answer(...words: string[]): Promise<{ found: string[]; lines: string[]; directive: string }> {
  const lines = (await complete(TREE, words, () => Promise.resolve(PETS))).trimEnd().split('\n');
  const directive = lines.pop() ?? '';
  return { found: lines.map((line) => line.split('\t')[0]!), lines, directive };
}

describe('candidates', () => {
  it.each(CASES.map((each) => [each.words.join(' '), each] as const))('petstore %s', async (_line, each) => {
    const { found } = await answer(...each.words);
    if (each.proposes !== undefined) expect([...found].sort()).toEqual([...each.proposes].sort());
    expect(found).toEqual(expect.arrayContaining([...(each.includes ?? [])]));
    expect(found.filter((word) => each.excludes?.includes(word))).toEqual([]);
  });

  it.each([
    ['--env=sta', ['--env=staging']],
    ['-es', ['-estaging', '-esandbox']],
    ['-qesan', ['-qesandbox']],
    ['inventory list --columns petId,q', ['petId,quantity']],
    ['inventory list --columns=petId,q', ['--columns=petId,quantity']],
    ['inventory list --pet ', ['12', '7', '9223372036854775807']],
    ['inventory list --pet=1', ['--pet=12']],
    ['inventory list --pet 7 --pet 12,', ['12,12', '12,7', '12,9223372036854775807']],
    ['inventory list --sort -', ['-petId', '-quantity', '-status']],
    ['-- inven', ['inventory']],
  ])('petstore %s', async (line, candidates) => {
    expect((await answer(...line.split(' '))).found).toEqual(candidates);
  });

  it('have their description in the same line', async () => {
    expect((await answer('inventory', 'hi')).lines).toEqual(['history\tShow changes made from this machine']);
  });

  it.each([
    ['inventory import ', ':files'],
    ['api GET /x --input=', ':files'],
    ['inventory list --sort ', ':end'],
    ['nope ', ':end'],
  ])('petstore %s ends with %s', async (line, directive) => {
    expect((await answer(...line.split(' '))).directive).toBe(directive);
  });

  it('are there for any word, and none spans two lines', async () => {
    for (const word of INJECTIONS) {
      for (const before of [[], ['inventory', 'list', '--status'], ['inventory', 'set'], [word]]) {
        const { found, directive } = await answer(...before, word);
        expect([word, found.length === 0 || word.startsWith('-'), directive.startsWith(':')]).toEqual([
          word,
          true,
          true,
        ]);
      }
    }
  });
});
