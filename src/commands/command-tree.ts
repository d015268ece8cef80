/** Turns the command specs into plain data, for help, completion, reference and man page. */
import { type AnyCommand, argumentsOf, optionsOf } from '../cli/command.ts';
import { GLOBAL_OPTIONS } from '../cli/global-options.ts';
import type { Tree, TreeCommand } from '../cli/help/tree.ts';
import { GROUPS, SECTIONS } from './index.ts';

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
    globals: GLOBAL_OPTIONS,
  };
}

function treeCommand({ run: _run, graceMs: _graceMs, ...spec }: AnyCommand): TreeCommand {
  return {
    ...GROUPS[spec.path.split(' ')[0]!],
    ...spec,
    examples: Object.entries(spec.examples).map(([says, command]) => ({ says, command })),
    arguments: argumentsOf(spec),
    options: optionsOf(spec),
  };
}
