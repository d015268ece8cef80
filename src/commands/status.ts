import type { JsonValue } from '../api/json.ts';
import { defineCommand } from '../cli/command.ts';
import { parseBaseUrl } from '../session/environments.ts';
import type { ConfigFile } from '../session/config-file.ts';
import { maskKey } from '../session/config-keys.ts';
import { unknownVariables, VARIABLES } from '../session/defaults.ts';
import { blockWords, rateLimitWords } from '../session/limit-words.ts';
import { type LedgerTarget, openLedger, sharedLedger } from '../session/open-ledger.ts';
import { homeProblem } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import { requireBaseUrl, requireKey, type ResolvedSettings, type Source, type Sourced } from '../session/resolve.ts';
import { SANDBOX_KEY } from '../sandbox/plans.ts';
import { isFailure } from '../errors.ts';
import { shift } from '../rate-limit/rebase.ts';
import { nextSteps, resumeCommand } from '../session/run-commands.ts';
import type { RunSummary } from '../state/journal.ts';
import { record, type RecordView } from '../view/view.ts';

export const status = defineCommand({
  path: 'status',
  common: 'environment',
  summary: 'Show the active settings, the rate limit and unfinished runs',
  description:
    'Sends nothing, and runs no key command. Names the source of each value: option, variable, config, key-command or ' +
    'built in; and unfinished runs with the command that continues each.',
  examples: [
    { says: 'The active settings and their sources', command: 'petstore status' },
    { says: 'For a program', command: 'petstore status --json' },
  ],
  more: ['environments'],
  async run(_input, context) {
    const lines = linesOf(await context.settings(), context);
    for (const name of unknownVariables(context.env)) {
      context.notices.warning(`Unknown variable ${name}: petstore reads ${VARIABLES.join(', ')}.`);
    }
    return describe(lines, await limitNotes(context), await unfinishedRuns(context), context);
  },
});

interface Line {
  readonly name: string;
  /** Undefined where nothing is set. */
  readonly value: string | undefined;
  readonly source: Source | undefined;
  readonly shadows?: Source;
}

function linesOf(settings: ResolvedSettings, context: CommandContext): Line[] {
  const { environment, baseUrl, apiKey, keyCommand } = settings;
  const line = (name: string, sourced: Sourced<string> | undefined, shown?: string): Line => ({
    name,
    value: shown ?? sourced?.value,
    source: sourced?.source,
    ...(sourced?.shadows !== undefined && { shadows: sourced.shadows }),
  });
  if (environment.value === 'sandbox') {
    const builtIn: Source = { from: 'built-in' };
    return [
      line('environment', environment),
      { name: 'baseUrl', value: 'this machine', source: builtIn },
      { name: 'apiKey', value: 'not needed', source: builtIn },
    ];
  }
  return [
    line('environment', environment),
    line('baseUrl', baseUrl, baseUrl && shownUrl(baseUrl.value, context)),
    line('apiKey', keyCommand ?? apiKey, apiKey && maskKey(apiKey.value)),
  ];
}

/** A base URL that is refused elsewhere may hold credentials: the refusal itself is shown masked. */
function shownUrl(text: string, context: CommandContext): string {
  return parseBaseUrl(text, context.globals).href;
}

type Note = readonly [name: string, words: string];

async function ledgerTarget(context: CommandContext): Promise<LedgerTarget> {
  const settings = await context.settings();
  const environment = settings.environment.value;
  const apiKey = environment === 'sandbox' ? SANDBOX_KEY : requireKey(settings, await context.configFile());
  return { environment, baseUrl: requireBaseUrl(settings, context.globals), apiKey };
}

/** Returns what this machine knows of the key's rate limit and block; nothing where that would need a key command or Redis. */
async function limitNotes(context: CommandContext): Promise<Note[]> {
  if ((await context.settings()).keyCommand !== undefined || sharedLedger(context) !== undefined) return [];
  try {
    const { clock } = context;
    using opened = await openLedger(context, await ledgerTarget(context));
    const now = clock.now();
    const view = shift(await opened.ledger.view(), now - clock.monotonic());
    return [
      ...(view.windows.length === 0 ? [] : rateLimitWords(view, now)).map((words): Note => ['rate limit', words]),
      ...(view.block === undefined ? [] : [['block', blockWords(view, now)] satisfies Note]),
    ];
  } catch (error) {
    if (!isFailure(error)) throw error;
    return [];
  }
}

/** What else keeps the state from being read is for `doctor` to explain. */
async function unfinishedRuns(context: CommandContext): Promise<readonly RunSummary[]> {
  try {
    const { withJournal } = await import('../bulk/open-journal.ts');
    return await withJournal(context, (journal) => journal.unfinished());
  } catch (error) {
    if (!isFailure(error)) throw error;
    return [];
  }
}

function runNote(run: RunSummary): string {
  return `run ${run.id} (${run.kind}) in ${run.environment}  (${nextSteps(run).join('; ')})`;
}

function runJson(run: RunSummary): JsonValue {
  return new Map<string, JsonValue>([
    ['run', run.id],
    ['kind', run.kind],
    ['environment', run.environment],
    ['left', run.left],
    ['resume', resumeCommand(run)],
  ]);
}

async function describe(
  lines: readonly Line[],
  notes: readonly Note[],
  runs: readonly RunSummary[],
  context: CommandContext,
): Promise<RecordView> {
  const file = await context.configFile();
  const width = Math.max(...lines.map(({ name }) => name.length));
  const text = lines.map(({ name, value, source, shadows }) => {
    const hidden = shadows === undefined ? '' : `, before ${words(shadows)}`;
    const from = source === undefined ? '' : `  (${words(source)}${hidden})`;
    return `${name.padEnd(width)}  ${value ?? 'none'}${from}`;
  });
  const more = [
    ['config', configNote(file, context)] as const,
    ...notes,
    ...runs.map((run) => ['unfinished', runNote(run)] as const),
  ].map(([name, words]) => `${name.padEnd(width)}  ${words}`);
  const members = lines.map(({ name, value, source, shadows }): [string, JsonValue] => [
    name,
    new Map<string, JsonValue>([
      ['value', value ?? null],
      ['source', source === undefined ? null : words(source)],
      ['shadows', shadows === undefined ? null : words(shadows)],
    ]),
  ]);
  return record(
    [...text, ...more].join('\n'),
    [...members, ['config', configJson(file)], ['unfinished', runs.map(runJson)]],
    {
      csv: [...lines.map(({ name, value }) => [name, value ?? null] as const), ['config', file.path]],
    },
  );
}

function words(source: Source): string {
  switch (source.from) {
    case 'flag':
      return `flag ${source.name}`;
    case 'variable':
      return `variable ${source.name}`;
    case 'built-in':
      return 'built in';
    default:
      return source.from;
  }
}

function configNote(file: ConfigFile, context: CommandContext): string {
  const { path } = file;
  if (path === '') return `none  (${homeProblem(context)})`;
  if (file.unreadable !== undefined) return `${path}  (cannot be read: ${file.unreadable})`;
  if (!file.exists) return `${path}  (not there yet)`;
  if (file.isForeign) return `${path}  (belongs to another user)`;
  return file.exposed ? `${path}  (others may read it: run chmod 600 ${path})` : path;
}

function configJson(file: ConfigFile): JsonValue {
  return new Map<string, JsonValue>([
    ['path', file.path],
    ['exists', file.exists],
    ['private', !file.exposed],
  ]);
}
