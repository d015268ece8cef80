import { describe, expect, it } from 'vitest';
import { optionsOf } from '../../src/cli/command.ts';
import { LOADERS } from '../../src/commands/index.ts';
import { buildTree } from '../../src/commands/tree.ts';
import { helpText, topicText } from '../../src/cli/help/render.ts';
import { type Topic, TOPICS } from '../../src/cli/help/topics.ts';
import { commandsOf, grammarOf, pathsOf } from '../../src/cli/help/tree.ts';
import { helpWanted, scan } from '../../src/cli/scan.ts';
import { runIn } from '../support/in-process.ts';
import { createTestContext } from '../support/test-context.ts';

const TREE = await buildTree();
const COMMANDS = await Promise.all(Object.values(LOADERS).map((load) => load()));

describe('the help of every command', () => {
  it.each([40, 60, 80, 120])('fits %i columns, but for a word that is longer', (width) => {
    const texts = [
      ...pathsOf(TREE).map((path) => helpText(TREE, path, width)),
      ...(Object.keys(TOPICS) as Topic[]).map((name) => topicText(name, width)),
    ];
    const tooLong = texts.flatMap((text) =>
      text.split('\n').filter((line) => line.length > width && line.trim().includes(' ')),
    );
    expect(tooLong).toEqual([]);
  });

  it.each(commandsOf(TREE).map((command) => [command.path, command] as const))(
    '%s: what it does, examples first, then options by purpose, then where to read more',
    (path, command) => {
      const text = helpText(TREE, path, 80);
      const headings = text.match(/^[A-Z][\w ,]*:(?=$| petstore)/gm) ?? [];
      expect(text.startsWith(command.summary.slice(0, 30))).toBe(true);
      expect(headings.slice(0, 2)).toEqual(['Usage:', 'Examples:']);
      expect(headings.slice(-6)).toEqual(['Where:', 'Output:', 'Questions:', 'Limits and time:', 'Help:', 'More:']);
      for (const { flags, description } of command.options) {
        expect(text).toContain(flags);
        expect(text.replace(/\s+/g, ' ')).toContain(description);
      }
      expect(command.examples.length).toBeGreaterThan(0);
      for (const example of command.examples) expect(example.command).toContain(`petstore`);
      expect(command.more.filter((topic) => !(topic in TOPICS))).toEqual([]);
    },
  );

  it('marks what the service calls experimental: whatever updates stock', () => {
    const marked = commandsOf(TREE).filter(({ experimental }) => experimental);
    expect(marked.map(({ path }) => path)).toEqual([
      'inventory set',
      'inventory adjust',
      'inventory import',
      'inventory count',
      'inventory edit',
      'inventory undo',
    ]);
    for (const { path } of marked) expect(helpText(TREE, path, 80)).toContain('(experimental in the service)');
  });

  it('no word that is proposed is refused', () => {
    const refused = COMMANDS.flatMap((command) =>
      optionsOf(command).flatMap(({ flags, parser }) =>
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

describe('who asks for help', () => {
  it.each<[string, string | undefined]>([
    ['', ''],
    ['-h', ''],
    ['--help', ''],
    ['inventory', 'inventory'],
    ['inventory -h', 'inventory'],
    ['inventory list --help', 'inventory list'],
    ['-h inventory list', 'inventory list'],
    ['--env sandbox inventory list --max 3 -h', 'inventory list'],
    ['--env=sandbox', ''],
    ['--env inventory', ''],
    ['inventory set 7 12 -h', 'inventory set'],
    ['inventory list --watch -h', 'inventory list'],
    ['smoke --help --bogus', 'smoke'],
    ['inventory list', undefined],
    ['inventory list --pet -h', undefined],
    ['inventory list -- -h', undefined],
    ['bogus', undefined],
    ['bogus --help', undefined],
    ['inventory bogus', undefined],
    ['--bogus', undefined],
    ['--', ''],
  ])('petstore %s: %s', (line, path) => {
    expect(helpWanted(scan(grammarOf(TREE), line.split(' ').filter(Boolean)))).toBe(path);
  });
});

it('each command is loaded by its own path', () => {
  expect(COMMANDS.map(({ path }) => path)).toEqual(Object.keys(LOADERS));
});

describe('petstore help', () => {
  const run = (...args: string[]) => runIn(createTestContext(), ...args);

  it.each(['environments', 'output', 'rate-limits', 'scripting'] as const)('%s', async (topic) => {
    expect(await run('help', topic)).toEqual({ code: 0, stdout: topicText(topic, 80), stderr: '' });
  });

  it('a command, a group, and nothing', async () => {
    expect(await run('help', 'inventory', 'set')).toEqual(await run('inventory', 'set', '--help'));
    expect(await run('help', 'inventory')).toEqual(await run('inventory'));
    expect(await run('help')).toEqual(await run());
  });

  it('what is neither: 2, with the topics', async () => {
    const { code, stdout, stderr } = await run('help', 'nonsense');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Unknown command or topic "nonsense".');
    expect(stderr).toContain('Topics: environments, output, rate-limits, scripting, exit-codes.');
  });
});
