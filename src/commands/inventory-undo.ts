import { defineCommand, flag, option, optionalArgument } from '../cli/command.ts';
import { integerValue } from '../cli/values.ts';
import { WHY_OPTIONS, withWhy } from '../cli/why-options.ts';

export const inventoryUndo = defineCommand({
  path: 'inventory undo',
  summary: 'Undo changes made from this machine',
  description:
    'Takes back the last command of the environment: one change, or a whole import, count or edit. The next undo takes ' +
    'back the command before, and "inventory redo" brings back what was undone last. Shows what would change and ' +
    'asks; without a terminal, add --yes. Pets changed since are reported as conflicts and skipped.',
  examples: [
    { says: 'The last command', command: 'petstore inventory undo' },
    { says: 'One change that the history shows', command: 'petstore inventory undo 12' },
    { says: 'A whole import', command: 'petstore inventory undo --run 3' },
    { says: 'What it would do', command: 'petstore inventory undo --dry-run' },
  ],
  arguments: { changeId: optionalArgument(integerValue, 'number of the change (default: the last command)') },
  options: {
    run: option('--run <run>', integerValue, 'all changes of a run'),
    dryRun: flag('--dry-run', 'show what would change and send no write'),
    ...WHY_OPTIONS,
  },
  experimental: true,
  more: ['output', 'exit-codes'],
  async run(input, context) {
    const { undo } = await import('../stock/undo.ts');
    return undo(withWhy(context, input), input);
  },
});
