import { option, optionalArgument } from '../cli/command.ts';
import { defineWrite } from '../cli/shared-options.ts';
import { numberValue } from '../value-parsers.ts';
import { undo } from '../stock/undo.ts';

export const inventoryUndo = defineWrite({
  path: 'inventory undo',
  summary: 'Undo changes made from this machine',
  description:
    'Takes back the last command of the environment: one change, or a whole import, count or edit. The next undo ' +
    'takes back the command before that, and "inventory redo" brings back what you undid. Shows what would change ' +
    'and asks; without a terminal, add --yes. Pets changed since are reported as conflicts and skipped.',
  examples: {
    'The last command': 'petstore inventory undo',
    'One change, by its number in the history': 'petstore inventory undo 12',
    'A whole import': 'petstore inventory undo --run 3',
    'What it would do': 'petstore inventory undo --dry-run',
  },
  arguments: { changeId: optionalArgument(numberValue, 'number of the change (default: the last command)') },
  options: { run: option('--run <run>', numberValue, 'all changes of a run') },
  run: ({ changeId, run, dryRun }, context) => undo(context, { undoesChange: changeId, undoesRun: run, dryRun }),
});

export const inventoryRedo = defineWrite({
  path: 'inventory redo',
  summary: 'Bring back what was undone',
  description:
    'Brings back the command that "inventory undo" took back last; each further redo brings back the one before. A ' +
    'new change of stock in the environment ends this. Shows what would change and asks; without a terminal, add ' +
    '--yes. Pets changed since the undo are reported as conflicts and skipped.',
  examples: {
    'What was undone last': 'petstore inventory redo',
    'What it would do': 'petstore inventory redo --dry-run',
  },
  run: (input, context) => undo(context, input, 'redo'),
});
