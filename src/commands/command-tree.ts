/** Turns the command specs into plain data, for help, completion, reference and man page. */
import { GLOBAL_OPTIONS } from '../cli/global-options.ts';
import type { Tree } from '../cli/help/tree.ts';
import { GROUPS, SECTIONS } from './index.ts';

/** Returns the command specs as plain data. The build calls it once, and bundles the result in place of this file. */
export async function buildTree(): Promise<Tree> {
  return {
    summary: 'Manage the stock of a pet store from the command line.',
    examples: {
      'Try it without an account': 'petstore --env sandbox inventory list',
      'Connect your store': 'petstore login',
      'See what is running out': 'petstore inventory list --max 3 --sort quantity',
      'Set pet 7 to 12': 'petstore inventory set 7 12',
      'Add a delivery: shows the changes and asks': 'petstore inventory import delivery.csv',
    },
    sections: await Promise.all(
      SECTIONS.map(async ({ title, commands }) => ({
        title,
        commands: await Promise.all(
          Object.entries(commands).map(async ([path, load]) => ({ ...GROUPS[path.split(' ')[0]!], ...(await load()) })),
        ),
      })),
    ),
    groups: Object.fromEntries(Object.entries(GROUPS).map(([name, { summary }]) => [name, summary])),
    globals: GLOBAL_OPTIONS,
  };
}
