import { defineCommand, flag } from '../cli/command.ts';
import { WHY_OPTIONS, withWhy } from '../cli/why-options.ts';

export const inventoryRedo = defineCommand({
  path: 'inventory redo',
  summary: 'Bring back what was undone',
  description:
    'Brings back the command that "inventory undo" has taken back last, and with each further redo the one before. A ' +
    'new change of stock in the environment ends that. Shows what would change and asks; without a terminal, add ' +
    '--yes. Pets changed since the undo are reported as conflicts and skipped.',
  examples: [
    { says: 'What was undone last', command: 'petstore inventory redo' },
    { says: 'What it would do', command: 'petstore inventory redo --dry-run' },
  ],
  arguments: {},
  options: { dryRun: flag('--dry-run', 'show what would change and send no write'), ...WHY_OPTIONS },
  experimental: true,
  more: ['output', 'exit-codes'],
  async run(input, context) {
    const { undo } = await import('../stock/undo.ts');
    return undo(withWhy(context, input), input, 'redo');
  },
});
