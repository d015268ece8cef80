import type { JsonValue } from '../api/json.ts';
import { defineCommand } from '../cli/command.ts';
import { parseBaseUrl } from '../session/environments.ts';
import type { ConfigFile } from '../session/config-file.ts';
import { maskKey } from '../session/config-keys.ts';
import { homeProblem } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import type { ResolvedSettings, Source, Sourced } from '../session/resolve.ts';
import { record, type RecordView } from '../view/view.ts';

export const status = defineCommand({
  path: 'status',
  summary: 'Show the active environment, base URL and key',
  description:
    'Sends nothing, and runs no key command. Names the source of each value: option, variable, config, key-command or ' +
    'built in.',
  examples: [
    { says: 'The active settings and their sources', command: 'petstore status' },
    { says: 'For a program', command: 'petstore status --json' },
  ],
  more: ['environments'],
  async run(_input, context) {
    return describe(linesOf(await context.settings(), context), await context.configFile(), context);
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

function describe(lines: readonly Line[], file: ConfigFile, context: CommandContext): RecordView {
  const width = Math.max(...lines.map(({ name }) => name.length));
  const text = lines.map(({ name, value, source, shadows }) => {
    const hidden = shadows === undefined ? '' : `, before ${words(shadows)}`;
    const from = source === undefined ? '' : `  (${words(source)}${hidden})`;
    return `${name.padEnd(width)}  ${value ?? 'none'}${from}`;
  });
  const config = `${'config'.padEnd(width)}  ${configNote(file, context)}`;
  const members = lines.map(({ name, value, source, shadows }): [string, JsonValue] => [
    name,
    new Map<string, JsonValue>([
      ['value', value ?? null],
      ['source', source === undefined ? null : words(source)],
      ['shadows', shadows === undefined ? null : words(shadows)],
    ]),
  ]);
  return record([...text, config].join('\n'), [...members, ['config', configJson(file)]], {
    csv: [...lines.map(({ name, value }) => [name, value ?? null] as const), ['config', file.path]],
  });
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
