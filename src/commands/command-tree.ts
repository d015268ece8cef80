/** Turns the command specs into plain data, for help, completion, reference and man page. */
import { type AnyCommand, argumentsOf, type OptionSpec, optionsOf } from '../cli/command.ts';
import { GLOBAL_OPTIONS, HELP_OPTIONS } from '../cli/global-options.ts';
import type { Tree, TreeCommand, TreeOption, TreeValue } from '../cli/help/tree.ts';
import { shapeOf } from '../cli/scan.ts';
import type { Parser } from '../cli/value-parsers.ts';
import { GROUPS, LOADERS, SECTIONS } from './index.ts';

/** First words of the commands, which `help` also accepts but cannot import. */
const FIRST_WORDS = [...new Set(Object.keys(LOADERS).map((path) => path.split(' ')[0]!))];

/** Returns the command specs as plain data. The build calls it once, and bundles the result in place of this file. */
export async function buildTree(): Promise<Tree> {
  return {
    name: 'petstore',
    summary: 'Manage the stock of a pet store from the command line.',
    examples: [
      { says: 'Try it without an account', command: 'petstore --env sandbox inventory list' },
      { says: 'Connect your store', command: 'petstore login' },
      { says: 'See what is running out', command: 'petstore inventory list --max 3 --sort quantity' },
      { says: 'Set pet 7 to 12', command: 'petstore inventory set 7 12' },
      { says: 'Add a delivery: shows the changes and asks', command: 'petstore inventory import delivery.csv' },
    ],
    sections: await Promise.all(
      SECTIONS.map(async ({ title, commands }) => ({
        title,
        commands: await Promise.all(Object.values(commands).map(async (load) => treeCommand(await load()))),
      })),
    ),
    groups: Object.fromEntries(Object.entries(GROUPS).map(([name, { summary }]) => [name, summary])),
    globals: [...GLOBAL_OPTIONS, ...HELP_OPTIONS].map(treeOption),
  };
}

function treeCommand({ run: _run, graceMs: _graceMs, ...spec }: AnyCommand): TreeCommand {
  return {
    ...GROUPS[spec.path.split(' ')[0]!],
    ...spec,
    examples: Object.entries(spec.examples).map(([says, command]) => ({ says, command })),
    arguments: argumentsOf(spec).map(({ name, description, optional = false, variadic = false, parser }) => ({
      name,
      description,
      optional,
      variadic,
      list: parser.isList === true,
      ...proposals(name, parser, spec.path === 'help' ? [...(parser.words ?? []), ...FIRST_WORDS] : parser.words),
    })),
    options: optionsOf(spec).map(treeOption),
  };
}

function treeOption({ flags, description, purpose, parser, ...spec }: OptionSpec): TreeOption {
  const { names, value, valueName = '' } = shapeOf(flags);
  const shown = spec.shownDefault ?? (spec.default === true ? undefined : spec.default);
  return {
    flags,
    names,
    description: shown === undefined ? description : `${description} (default: ${shown})`,
    purpose: purpose ?? 'Options',
    ...(value !== undefined && {
      value: {
        name: valueName,
        ...value,
        list: parser?.isList === true,
        ...proposals(valueName, parser),
      },
    }),
  };
}

function proposals(name: string, parser?: Parser, words = parser?.words): Pick<TreeValue, 'words' | 'from'> {
  if (words !== undefined) return { words };
  if (parser?.isPet === true) return { from: 'pets' };
  return /\bfile\b/.test(name) ? { from: 'files' } : {};
}
