/** Resolves environment, base URL and key, each with its source, once and only when needed. */
import { Failure, usageFailure } from '../errors.ts';
import { SANDBOX_KEY, SANDBOX_URL } from '../sandbox/plans.ts';
import type { ConfigFile } from './config-file.ts';
import { type EnvironmentName, isProduction, parseBaseUrl, partsOf, placeIn } from './environments.ts';
import type { CommandContext, Globals, PlaceOptions, ResolvedSettings, Target } from './globals.ts';
import { shellWord } from './run-commands.ts';
import { commandFor, find, inVariable, isExplicit, keyOf, resolve, SETTINGS, type Stored } from './settings.ts';
import { parseStored, splitWords } from '../value-parsers.ts';
import { FORMAT_FACTS } from '../view/view.ts';
import { visible } from '../view/words.ts';

const KEY_COMMAND = { from: 'key-command', name: 'the key command' } as const;

/** @throws {Failure} `usage`, `invalid-value`: an unknown environment */
export function resolveSettings(call: PlaceOptions, stored: Stored): ResolvedSettings {
  const resolved = resolve(SETTINGS.env, { ...stored, option: call.env });
  const name = partsOf(resolved.value).environment as EnvironmentName;
  const environment = { ...resolved, value: placeIn(inVariable(SETTINGS.profile, stored.env), name) };
  if (name === 'sandbox') {
    if (call.baseUrl === undefined) return { environment };
    throw usageFailure(
      '--base-url cannot be used with the sandbox, which is built in.',
      'Name the environment that the address belongs to: --env staging or --env production.',
    );
  }
  const given = { ...stored, environment: name };
  const baseUrl = find(SETTINGS.baseUrl, { ...given, option: call.baseUrl });
  const isNamed = call.profile !== undefined || call.env?.includes('/') === true;
  const profileUrl = isNamed ? find(SETTINGS.baseUrl, { ...given, env: {} })?.value : undefined;
  const where = { environment, baseUrl, profileUrl };
  const apiKey = find(SETTINGS.apiKey, given);
  const command = find(SETTINGS.keyCommand, given);
  if (command === undefined) return { ...where, apiKey };
  if (apiKey?.source.from !== 'variable') {
    return { ...where, keyCommand: { value: command.value, source: KEY_COMMAND } };
  }
  return { ...where, apiKey: { ...apiKey, shadows: KEY_COMMAND } };
}

/** Returns the profile that `--profile` or its variable names; undefined if the environment does. */
export function profileOf({ env, globals }: Pick<CommandContext, 'env' | 'globals'>) {
  const place = globals.env ?? env.PETSTORE_ENV ?? '';
  if (place.includes('/') || place === 'sandbox') return undefined;
  return find(SETTINGS.profile, { env, config: {}, option: globals.profile });
}

/** Returns the environment if the flag, the variable, the config or a profile names it; undefined for the default. */
export function namedEnvironment({ environment: { value, source } }: ResolvedSettings): string | undefined {
  return source.from === 'default' && !value.includes('/') ? undefined : value;
}

/** Returns a line for a terminal: how to undo this command, with --env if the next shell may have another environment. */
export async function undoLine(context: CommandContext): Promise<string> {
  if (!canAsk(context)) return '';
  const { value, source } = (await context.settings()).environment;
  return `\nUndo: petstore ${source.from === 'flag' || value.includes('/') ? `--env ${value} ` : ''}inventory undo`;
}

/** @throws {Failure} `no-base-url`, `base-url` */
export function requireBaseUrl(settings: ResolvedSettings, globals: { readonly insecureHttp: boolean }): URL {
  const { baseUrl, environment, profileUrl } = settings;
  if (environment.value === 'sandbox') return new URL(SANDBOX_URL);
  if (baseUrl === undefined) throw new Failure('no-base-url', { environment: environment.value });
  const url = parseBaseUrl(baseUrl.value, globals);
  if (baseUrl.source.from !== 'variable' || profileUrl === undefined) return url;
  // The variable may be left over from another shop, which would get the key and the changes of this one.
  const own = parseBaseUrl(profileUrl, { insecureHttp: true }).href;
  if (own === url.href) return url;
  const problem = `of ${baseUrl.source.name} is not that of ${environment.value}, ${own}`;
  const hint = `Unset ${baseUrl.source.name}, or give the address that is meant with --base-url.`;
  throw new Failure('base-url', { shown: url.href, problem, hint });
}

/** @throws {Failure} `no-key`, `key-unreadable`, `key-malformed` */
export function requireKey(settings: ResolvedSettings, file: ConfigFile): string {
  const { apiKey, environment } = settings;
  if (apiKey === undefined) {
    if (file.unreadable !== undefined) {
      throw new Failure('key-unreadable', { path: file.path, code: file.unreadable });
    }
    throw new Failure('no-key', { environment: environment.value });
  }
  checkKey(apiKey.value, apiKey.source.name);
  return apiKey.value;
}

type Lazy = 'settings' | 'target';

export function lazySettings(context: Omit<CommandContext, Lazy>): Pick<CommandContext, Lazy> {
  const settings = once(async () => {
    const { config } = await context.configFile();
    const resolved = resolveSettings(context.globals, { env: context.env, config });
    if (resolved.apiKey !== undefined) context.secrets.add(resolved.apiKey.value);
    return resolved;
  });
  return { settings, target: once(() => findTarget({ ...context, settings })) };
}

/** Returns a function that does the work once, when first called. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

async function findTarget(context: Omit<CommandContext, 'target'>): Promise<Target> {
  const { globals, notices } = context;
  const [settings, file] = [await context.settings(), await context.configFile()];
  const { apiKey, keyCommand } = settings;
  const environment = settings.environment.value;
  if (environment === 'sandbox') {
    const baseUrl = requireBaseUrl(settings, globals);
    return { environment, baseUrl, apiKey: SANDBOX_KEY, keySource: 'the sandbox' };
  }
  if (apiKey?.source.from === 'config') {
    const { path, exposed, isForeign } = file;
    if (exposed && !isForeign)
      notices.warning(`Others on this machine may read the key in ${path}: run chmod 600 ${shellWord(path)}`);
    if (isForeign) notices.warning(`The config ${path} belongs to another user, who may send the key anywhere.`);
  }
  const storedKey = keyCommand === undefined ? requireKey(settings, file) : '';
  const baseUrl = requireBaseUrl(settings, globals);
  if (globals.insecureHttp && baseUrl.protocol === 'http:') {
    notices.warning(`The key travels unencrypted to ${baseUrl.host} (--insecure-http).`);
  }
  if (keyCommand === undefined) return { environment, baseUrl, apiKey: storedKey, keySource: apiKey!.source.name };
  const { assertTrusted, keyFromCommand } = await import('./key-command.ts');
  assertTrusted(file, keyCommand.value);
  const split = (text: string, name: string) => splitWords(text, context.machine.platform, name);
  const key = keyOf(SETTINGS.keyCommand, partsOf(environment).environment);
  const words = parseStored(split, keyCommand.value, key, commandFor(key));
  const printed = takeKey(context, await keyFromCommand(context, keyCommand.value, words), keyCommand.source.name);
  return { environment, baseUrl, apiKey: printed, keySource: keyCommand.source.name };
}

/**
 * Checks that a write is allowed. Without a terminal, production must be named by flag or variable or confirmed by
 * --yes: a default is not enough.
 * @throws {Failure} `production-not-confirmed`
 */
export async function assertWriteAllowed(context: CommandContext): Promise<void> {
  context.notices.writes();
  const { environment } = await context.settings();
  if (!isProduction(environment.value) || isExplicit(environment) || context.globals.yes) return;
  if (context.stdin.isTTY && context.globals.input) return;
  const line = context.argv.map(shellWord).join(' ');
  throw new Failure('production-not-confirmed', { environment: environment.value, line });
}

/** True if a prompt can be answered: both stderr (questions) and stdin (answers) are terminals. */
export function canAsk({ globals, stdin, stderr }: Pick<CommandContext, 'globals' | 'stdin' | 'stderr'>): boolean {
  return globals.input && stdin.isTTY && stderr.isTTY;
}

/** Returns a question, below the lines that it is about where these are not printed as information. */
export function questionWith({ globals }: CommandContext, lines: readonly string[], question: string): string {
  return [...(showsInfo(globals) ? [] : lines.map(visible)), question].join('\n');
}

export function showsInfo({ output, quiet, verbose }: Pick<Globals, 'output' | 'quiet' | 'verbose'>): boolean {
  return !quiet && (!FORMAT_FACTS[output].isJson || verbose);
}

/** Masks a key: enough to tell two apart, too little to use one. */
export function maskKey(key: string): string {
  return key.length >= 16 ? `****${key.slice(-4)}` : '****';
}

/**
 * Checks a key. It is sent in a header, so only visible ASCII is allowed (RFC 6750 allows less; the service shows no
 * form).
 * @throws {Failure} `key-malformed`, which never holds the key
 */
function checkKey(key: string, source: string): void {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Failure('key-malformed', { source, problem: keyProblem(key) });
}

/** Checks a key that was typed, piped in or fetched, and redacts it from then on. @throws {Failure} `key-malformed` */
export function takeKey({ secrets }: Pick<CommandContext, 'secrets'>, key: string, source: string): string {
  checkKey(key, source);
  secrets.add(key);
  return key;
}

function keyProblem(key: string): string {
  if (key === '') return 'is empty';
  if (/[\r\n]/.test(key)) return 'contains a line break';
  return /\s/.test(key) ? 'contains white space' : 'contains a character that is not plain ASCII';
}
