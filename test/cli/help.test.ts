import { describe, expect, it } from 'vitest';
import { LOADERS } from '../../src/commands/index.ts';
import { buildTree } from '../../src/commands/command-tree.ts';
import { helpText, topicText } from '../../src/cli/help/render.ts';
import { type Topic, TOPICS } from '../../src/cli/help/topics.ts';
import { commandsOf, commonOptions, pathsOf } from '../../src/cli/help/tree.ts';
import { runIn } from '../support/in-process.ts';
import { createTestContext } from '../support/test-context.ts';

const TREE = await buildTree();
const COMMANDS = await Promise.all(Object.values(LOADERS).map((load) => load()));

describe('the help of every command', () => {
  it.each([40, 60, 80, 120])('fits %i columns, but for a word that is longer', (width) => {
    const texts = [
      ...[...pathsOf(TREE), 'options'].map((path) => helpText(TREE, { path }, width)),
      ...commandsOf(TREE).map(({ path }) => helpText(TREE, { path, isShort: true }, width)),
      ...(Object.keys(TOPICS) as Topic[]).map((name) => topicText(name, width)),
    ];
    const tooLong = texts.flatMap((text) =>
      text.split('\n').filter((line) => line.length > width && line.trim().includes(' ')),
    );
    expect(tooLong).toEqual([]);
  });

  it.each(commandsOf(TREE))(
    '$path --help: what it does, examples first, then options by purpose, then where to read more',
    ({ path, ...command }) => {
      const text = helpText(TREE, { path }, 80);
      const headings = text.match(/^[A-Z][\w ,]*:(?=$| petstore)/gm) ?? [];
      expect(text.startsWith(command.summary.slice(0, 30))).toBe(true);
      expect(headings.slice(0, 2)).toEqual(['Usage:', 'Examples:']);
      expect(headings.slice(-2)).toEqual(['Help:', 'More:']);
      for (const { flags, description } of command.options) {
        expect(text).toContain(flags);
        expect(text.replace(/\s+/g, ' ')).toContain(description);
        expect(description.length).toBeGreaterThan(4);
      }
      const lines = Object.values(command.examples);
      expect(lines.length).toBeGreaterThan(0);
      for (const line of lines) expect(line).toContain(`petstore`);
    },
  );

  it('marks what the service calls experimental: whatever updates stock', () => {
    const marked = commandsOf(TREE).filter(({ experimental }) => experimental);
    expect(marked.map(({ path }) => path)).toEqual([
      'inventory set',
      'inventory adjust',
      'inventory browse',
      'inventory import',
      'inventory count',
      'inventory edit',
      'inventory undo',
      'inventory redo',
    ]);
    for (const { path } of marked) expect(helpText(TREE, { path }, 80)).toContain('(experimental in the service)');
  });

  it('no word that is proposed is refused', () => {
    const refused = COMMANDS.flatMap((command) =>
      command.options.flatMap(({ flags, parser }) =>
        (parser?.words ?? [])
          .filter((word) => {
            try {
              parser?.parse(word, flags);
              return false;
            } catch {
              return true;
            }
          })
          .map((word) => `${command.path} ${flags}: ${word}`),
      ),
    );
    expect(refused).toEqual([]);
  });
});

describe('petstore --help', () => {
  const text = helpText(TREE, { path: '' }, 80);
  const lines = text.trimEnd().split('\n');

  it('has one line for each command, in groups with blank lines between them', () => {
    const named = lines.filter((line) => /^ {2}[a-z]/.test(line) && !line.includes('#'));
    const groups = text.split('\n\n').filter((part) => /^(Stock|Setup|Automation|Other)/.test(part));
    expect(groups.map((part) => part.split('\n').length - 1)).toEqual([13, 7, 5, 3]);
    expect(named).toHaveLength(28);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('names every command', () => {
    const names = commandsOf(TREE).map(({ path }) => (path.startsWith('inventory ') ? path : path.split(' ')[0]!));
    expect(names.filter((name) => !text.includes(name))).toEqual([]);
    expect(text.match(/experimental/g)).toHaveLength(1);
  });
});

describe('COMMAND -h', () => {
  it('inventory set: fits a screen of 24 lines', () => {
    const text = helpText(TREE, { path: 'inventory set', isShort: true }, 80);
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(23);
    expect(text).toMatchInlineSnapshot(`
      "Set the stock of one pet.

      Usage: petstore inventory set [petId] <quantity> [options]
        petId     id of the pet, an int64 (or --name, --barcode)
        quantity  the new quantity

      Options:
        --name <text>        the pet, by its name in the catalog or part of it
        --barcode <code>     the pet, by its barcode in the catalog
        --expect <quantity>  only if the current quantity is this (else exit 13)
        --read-first         read the old quantity first, so undo works
        --no-read-first      send a single request
        --allow-negative     allow a quantity below zero
        --dry-run            show what would change without sending a write

      Examples:
        petstore inventory set 7 12                # Set pet 7 to 12
        petstore inventory set 7 12 --expect 10    # Only if it is still 10
        petstore inventory set --name goldfish 12  # By its name in the catalog

      For the history: --cause --note --person
      Common options: --env --output --quiet --yes --verbose (petstore help options)
      This is the short help. More: petstore inventory set --help
      "
    `);
  });

  it.each(commandsOf(TREE))(
    '$path: all options, shorter than --help, with at most three examples',
    ({ path, options }) => {
      const text = helpText(TREE, { path, isShort: true }, 80);
      const [short, long] = [text, helpText(TREE, { path }, 80)].map((each) => each.split('\n').length);
      expect(short).toBeLessThan(long!);
      const examples = [80, 40, 60, 200].map(
        (width) => helpText(TREE, { path, isShort: true }, width).match(/# /g)!.length,
      );
      expect([...new Set(examples)]).toEqual([expect.toBeOneOf([1, 2, 3])]);
      expect(options.flatMap(({ names }) => names).filter((name) => !text.includes(name))).toEqual([]);
      expect(text).toMatch(
        /^Common options: .*\(petstore help options\)\nThis is the short help\. More: petstore .* --help\n$/m,
      );
      expect(text).not.toMatch(/--max-body|experimental|see below/);
      // No text is cut inside of parentheses.
      expect(text.split('(').length).toBe(text.split(')').length);
    },
  );
});

describe('the common options of a command are those that apply', () => {
  const headings = ['Where', 'Output', 'Questions', 'Requests'];
  it.each<[string, string[]]>([
    ['config path', ['Output']],
    ['completion', ['Output']],
    ['sandbox reset', ['Output']],
    ['status', ['Where', 'Output']],
    ['inventory history', ['Where', 'Output']],
    ['inventory list', ['Where', 'Output', 'Requests']],
    ['inventory set', headings],
    ['login', headings],
  ])('%s: %j', (path, expected) => {
    const text = helpText(TREE, { path }, 80);
    expect(headings.filter((heading) => text.includes(`\n${heading}:\n`))).toEqual(expected);
    expect(/--base-url|--max-body|--timeout/.test(text.split('\nOutput:')[1]!)).toBe(expected.includes('Requests'));
  });

  it('none that the command has a meaning of its own for', () => {
    for (const command of commandsOf(TREE)) {
      const names = [...command.options, ...commonOptions(TREE, command)].flatMap((option) => option.names);
      expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    }
    expect(helpText(TREE, { path: 'proxy' }, 80).match(/^ +--log /gm)).toHaveLength(1);
  });

  it('all of them somewhere', () => {
    const all = commandsOf(TREE).flatMap((command) => commonOptions(TREE, command));
    expect(new Set(all)).toEqual(new Set(TREE.globals));
  });
});

it('each command is loaded by its own path', () => {
  expect(COMMANDS.map(({ path }) => path)).toEqual(Object.keys(LOADERS));
});

it.each(['environments', 'output', 'rate-limits', 'scripting'] as const)('petstore help %s', async (topic) => {
  const stdout = topicText(topic, 80);
  expect(await runIn(createTestContext(), 'help', topic)).toEqual({ code: 0, stdout, stderr: '' });
});
