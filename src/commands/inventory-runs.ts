import { defineCommand, flag, option, optionalArgument, under } from '../cli/command.ts';
import { countValue, numberValue, wordValue } from '../value-parsers.ts';
import { namedEnvironment } from '../session/resolve.ts';
import { usageFailure } from '../errors.ts';
import { discardRun, listRuns, resumeStopped, showResume } from '../stock/runs.ts';

export const inventoryRuns = defineCommand({
  path: 'inventory runs',
  summary: 'List, resume or discard imports, counts, edits and undos',
  description:
    'A run is everything that one import, count, edit, browse, undo, redo or smoke --write changes. "list" (the ' +
    'default) shows runs, newest first, without a request, for the same environments as "inventory history". ' +
    '"resume" continues an unfinished run: the newest, or the one you name; no acknowledged row is sent twice. ' +
    '"discard" ends an unfinished run without applying its remaining rows.',
  examples: {
    'All runs': 'petstore inventory runs',
    'Continue the newest one': 'petstore inventory runs resume',
    'Continue run 3, waiting as often as needed': 'petstore inventory runs resume 3 --wait',
    'Discard run 3': 'petstore inventory runs discard 3',
  },
  arguments: {
    action: optionalArgument(wordValue(['list', 'resume', 'discard']), 'list, resume or discard (default: list)'),
    run: optionalArgument(numberValue, 'number of the run'),
  },
  options: {
    ...under('List', {
      unfinished: flag('--unfinished', 'only unfinished runs'),
      limit: option('-n, --limit <count>', countValue(1), 'number of runs to show (default: 50)'),
      allEnvironments: flag('--all-environments', 'runs of every environment'),
    }),
    ...under('Resume', { dryRun: flag('--dry-run', 'show what would change without sending a write') }),
  },
  async run({ action = 'list', run, unfinished, limit, allEnvironments, dryRun }, context) {
    const foreign = [
      action === 'list' && run !== undefined && 'number',
      action !== 'list' && unfinished === true && '--unfinished',
      action !== 'list' && limit !== undefined && '--limit',
      action !== 'list' && allEnvironments === true && '--all-environments',
      action !== 'resume' && dryRun === true && '--dry-run',
    ].find((each) => each !== false);
    if (foreign !== undefined) throw usageFailure(`inventory runs ${action} takes no ${foreign}.`);
    if (action === 'discard') {
      if (run === undefined)
        throw usageFailure('Discard which run? Name its number.', 'See all runs: petstore inventory runs');
      return discardRun(context, run);
    }
    if (action === 'resume') return dryRun === true ? showResume(context, run) : resumeStopped(context, run);
    const environment = allEnvironments === true ? undefined : namedEnvironment(await context.settings());
    return listRuns(context, { environment, limit: limit ?? 50, isUnfinished: unfinished === true });
  },
});
