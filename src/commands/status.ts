import { jsonObject, type JsonValue } from '../api/json.ts';
import { defineCommand } from '../cli/command.ts';
import { parseBaseUrl } from '../session/environments.ts';
import type { ConfigFile } from '../session/config-file.ts';
import { blockWords, limitsJson, rateLimitWords, sharingWords } from '../session/limit-words.ts';
import { openLedger } from '../session/open-ledger.ts';
import { homeProblem } from '../session/paths.ts';
import type { CommandContext, ResolvedSettings } from '../session/globals.ts';
import { maskKey, profileOf, requireBaseUrl, requireKey } from '../session/resolve.ts';
import { type Source, type Sourced, unreadVariables, VARIABLES } from '../session/settings.ts';
import { SANDBOX_KEY } from '../sandbox/plans.ts';
import { isFailure } from '../errors.ts';
import { describeFailure } from '../report/failures.ts';
import { hintedPlace, nextSteps, resumeCommand, shellWord, withEnvironment } from '../session/run-commands.ts';
import type { RunSummary } from '../state/journal.ts';
import { openJournal } from '../stock/open-journal.ts';
import { type Labelled, labelled, type RecordView } from '../view/view.ts';

export const status = defineCommand({
  path: 'status',
  common: 'environment',
  summary: 'Show settings, rate limit and unfinished runs',
  description:
    'Sends nothing to the service, and runs no key command. With PETSTORE_LEDGER, it asks the Redis server once ' +
    'whether it answers, for at most two seconds. Shows the source of each value (option, variable, config, ' +
    'key-command, built in or default), and unfinished runs with the command that continues each.',
  examples: {
    'The active settings and their sources': 'petstore status',
    'For a program': 'petstore status --json',
  },
  more: ['environments'],
  async run(_input, context) {
    const lines = linesOf(await context.settings(), context);
    for (const name of unreadVariables(context.env)) {
      context.notices.warning(`petstore ignores the variable ${name}; it reads ${VARIABLES.join(', ')}.`);
    }
    return describe(lines, await knownLimits(context), await unfinishedRuns(context), context);
  },
});

type Line = readonly [name: string, label: string, found: Sourced<string> | undefined];

function linesOf(settings: ResolvedSettings, context: CommandContext): readonly Line[] {
  const { environment, baseUrl, apiKey, keyCommand } = settings;
  if (environment.value === 'sandbox') {
    const source = { from: 'built in', name: 'built in' } as const;
    return [
      ['environment', 'environment', environment],
      ['baseUrl', 'base URL', { value: 'this machine', source }],
      ['apiKey', 'API key', { value: 'not needed', source }],
    ];
  }
  return [
    ['environment', 'environment', environment],
    // An invalid base URL may contain credentials: parsing it throws a failure that shows it masked.
    ['baseUrl', 'base URL', baseUrl && { ...baseUrl, value: parseBaseUrl(baseUrl.value, context.globals).href }],
    ['apiKey', 'API key', keyCommand ?? (apiKey && { ...apiKey, value: maskKey(apiKey.value) })],
  ];
}

/** Returns what is known of the key's rate limit and block; nothing if that would need a key command. */
async function knownLimits(context: CommandContext): Promise<{ notes: readonly Labelled[]; json?: JsonValue }> {
  const settings = await context.settings();
  if (settings.keyCommand !== undefined) return { notes: [] };
  const environment = settings.environment.value;
  try {
    const apiKey = environment === 'sandbox' ? SANDBOX_KEY : requireKey(settings, await context.configFile());
    const target = { environment, baseUrl: requireBaseUrl(settings, context.globals), apiKey };
    await using opened = await openLedger(context, target, { isShown: true });
    const view = await opened.view();
    const now = context.clock.now();
    const notes: Labelled[] = [
      ['shared', view.lease && sharingWords(view.lease, now)],
      ...(view.windows.length === 0 ? [] : rateLimitWords(view, now)).map((words): Labelled => ['rate limit', words]),
      ['block', view.block && blockWords(view, now)],
    ];
    return { notes, json: jsonObject(limitsJson(view, now)) };
  } catch (error) {
    if (!isFailure(error) || context.signal.aborted) throw error;
    const isLedger = error.is('ledger-refused') || error.is('invalid-value');
    return { notes: isLedger ? [['shared', describeFailure(error, context.clock.now()).message]] : [] };
  }
}

/** Returns no runs if the state cannot be read: `doctor` explains why. */
async function unfinishedRuns(context: CommandContext): Promise<readonly RunSummary[]> {
  try {
    using journal = await openJournal(context);
    return journal.unfinished();
  } catch (error) {
    if (!isFailure(error)) throw error;
    return [];
  }
}

async function describe(
  lines: readonly Line[],
  { notes, json: rateLimit = null }: Awaited<ReturnType<typeof knownLimits>>,
  runs: readonly RunSummary[],
  context: CommandContext,
): Promise<RecordView> {
  const file = await context.configFile();
  const place = await hintedPlace(context);
  const profile = profileOf(context);
  const isComplete = file.unreadable !== undefined || lines.every(([, , found]) => found !== undefined);
  const text = [
    ...lines.map(([, label, found]): Labelled => {
      const hidden = found?.shadows === undefined ? '' : `; it overrides ${found.shadows.name}`;
      const shown = found && `${found.value}  (${words(found.source)}${hidden})`;
      return [label, shown ?? 'none'];
    }),
    ...(profile === undefined ? [] : [['profile', `${profile.value}  (${words(profile.source)})`] as const]),
    ...(isComplete ? [] : [['log in', withEnvironment('petstore login', place)] as const]),
    ['config', configNote(file, context)] as const,
    ...notes,
    ...runs.map((run): Labelled => [
      'unfinished',
      `run ${run.id} (${run.kind}) in ${run.environment}  (${withEnvironment(nextSteps(run).join('; '), place)})`,
    ]),
  ];
  const members = lines.map(([name, , found]) => {
    const { value = null, source, shadows } = found ?? {};
    return [
      name,
      jsonObject({ value, source: source ? words(source) : null, shadows: shadows ? words(shadows) : null }),
    ] as const;
  });
  const config = jsonObject({ path: file.path, exists: file.exists, private: !file.exposed });
  const unfinished = runs.map((run) => {
    const { id, kind, environment, left } = run;
    return jsonObject({ run: id, kind, environment, left, resume: withEnvironment(resumeCommand(run), place) });
  });
  return labelled(
    text,
    [...members, ['config', config], ['rateLimit', rateLimit], ['unfinished', unfinished]],
    [...lines.map(([name, , found]) => [name, found?.value ?? null] as const), ['config', file.path]],
  );
}

function words({ from, name }: Source): string {
  if (from === 'flag') return `option ${name}`;
  return from === 'variable' ? `variable ${name}` : from;
}

function configNote(file: ConfigFile, context: CommandContext): string {
  const { path } = file;
  if (path === '') return `none  (${homeProblem(context)})`;
  if (file.unreadable !== undefined) return `${path}  (cannot be read: ${file.unreadable})`;
  if (!file.exists) return `${path}  (not there yet)`;
  if (file.isForeign) return `${path}  (belongs to another user)`;
  return file.exposed ? `${path}  (others may read it: run chmod 600 ${shellWord(path)})` : path;
}
