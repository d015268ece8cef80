/** Doctor's checks of this machine. Sends nothing, and reads files as every command does. */
import { DatabaseFailure } from '../ports.ts';
import { CONFIG_SETTINGS, find, inVariable, SETTINGS, unreadVariables, VARIABLES } from '../session/settings.ts';
import { configFolder, homeProblem, stateFolder, statePath } from '../session/paths.ts';
import { type ConfigFile, isForeign } from '../session/config-file.ts';
import type { CommandContext, ResolvedSettings } from '../session/globals.ts';
import { openLedger, sharedLedger } from '../session/open-ledger.ts';
import { shellWord } from '../session/run-commands.ts';
import { profileOf, requireBaseUrl, requireKey } from '../session/resolve.ts';
import { fileFailed, isFailure, type Kind } from '../errors.ts';
import { openStateFile } from '../state/database.ts';
import { VERSION } from '../version.ts';
import { plural } from '../view/words.ts';
import { clockTime, duration } from '../view/progress.ts';
import { bad, type Diagnosis, failed, note, ok, skipped, type Steps, warn } from './diagnosis.ts';

/** Yields findings, and returns the base URL if it is known. */
export async function* lookAtMachine(context: CommandContext, isOffline: boolean): Steps<URL | undefined> {
  const { clock, machine } = context;
  const { name, version } = machine.runtime;
  yield ok('version', `petstore ${VERSION} on ${name} ${version}, ${machine.platform}.`);
  const file = yield* guarded('config', clock, config(context));
  const settings = file === undefined ? undefined : yield* guarded('environment', clock, environment(context));
  yield* guarded('variables', clock, variables(context, settings));
  let url: URL | undefined;
  if (file !== undefined && settings !== undefined) {
    url = yield* guarded('base-url', clock, baseUrl(context, settings));
    yield* guarded('key', clock, key(context, settings, file, isOffline));
  }
  const isStateSound = yield* guarded('state', clock, state(context));
  if (isOffline && settings?.keyCommand !== undefined) {
    yield skipped('limits', 'Limits are stored for each key, and --offline runs no key command.');
  } else if (isStateSound === true && settings !== undefined) yield* guarded('limits', clock, ledger(context));
  return url;
}

/** Runs a check. Yields its failure as the last finding, and then returns undefined. */
async function* guarded<T>(
  id: string,
  clock: CommandContext['clock'],
  check: Generator<Diagnosis, T> | Steps<T>,
): Steps<T | undefined> {
  try {
    return yield* check;
  } catch (error) {
    yield failed(id, error, clock.now());
    return undefined;
  }
}

async function* config(context: CommandContext): Steps<ConfigFile> {
  const file = await context.configFile();
  const { path, exists, unreadable, exposed } = file;
  if (path === '') {
    yield warn('config', `No config: ${homeProblem(context)}. Only variables are read.`, 'Set HOME.');
  } else if (unreadable !== undefined) {
    yield bad(
      'config',
      `The config ${path} cannot be read (${unreadable}).`,
      `chmod 600 ${shellWord(path)}, as its owner.`,
    );
  } else if (!exists) yield note('config', `Not created yet: ${path}.`);
  else if (exposed && !file.isForeign)
    yield warn('config', `Others on this machine may read the key in ${path}.`, `chmod 600 ${shellWord(path)}`);
  else {
    const open = await openToOthers(context, 'config', configFolder(context), path);
    yield* open.length > 0 ? open : [ok('config', `${path} can be read; only you can open it.`)];
  }
  return file;
}

/** Finds files that other users may change. Users who can write to a folder can replace its files. */
async function openToOthers(
  context: CommandContext,
  id: string,
  ...paths: readonly [folder: string, file: string]
): Promise<Diagnosis[]> {
  const found: Diagnosis[] = [];
  for (const path of context.machine.platform === 'win32' ? [] : paths) {
    const facts = await context.files.facts(path);
    // A link does not have its own mode.
    if (facts === undefined || facts.kind === 'symlink') continue;
    const isFolder = facts.kind === 'directory';
    if (isForeign(context, facts))
      found.push(warn(id, `${path} belongs to another user.`, `Take it over: sudo chown "$USER" ${shellWord(path)}`));
    else if ((facts.mode & 0o022) !== 0) {
      const says = `Others on this machine may change ${isFolder ? 'what is in ' : ''}${path}.`;
      found.push(warn(id, says, `chmod ${isFolder ? '700' : '600'} ${shellWord(path)}`));
    }
  }
  return found;
}

async function* environment(context: CommandContext): Steps<ResolvedSettings> {
  const settings = await context.settings();
  const profile = profileOf(context);
  const of = profile === undefined ? '' : `; the profile from ${profile.source.name}`;
  yield ok('environment', `${settings.environment.value}, from ${settings.environment.source.name}${of}.`);
  return settings;
}

/** Checks environment variables that hide a value of the config, are invalid or unknown, or name a missing file. */
async function* variables(context: CommandContext, settings: ResolvedSettings | undefined): Steps {
  const { env, files } = context;
  const config = settings === undefined ? {} : (await context.configFile()).config;
  const others = [...CONFIG_SETTINGS.values()].filter(({ isPerEnvironment }) => isPerEnvironment !== true);
  inVariable(SETTINGS.person, env);
  const found: Diagnosis[] = [];
  for (const value of [settings?.baseUrl, settings?.apiKey, ...others.map((each) => find(each, { env, config }))]) {
    if (value?.source.from !== 'variable' || value.shadows === undefined) continue;
    const { source, shadows } = value;
    const says = `The variable ${source.name} overrides ${shadows.name}.`;
    found.push(warn('variables', says, `If that is not intended: unset ${source.name}`));
  }
  for (const name of unreadVariables(env)) {
    found.push(warn('variables', `petstore ignores the variable ${name}.`, `It reads ${VARIABLES.join(', ')}.`));
  }
  const authorities = env.NODE_EXTRA_CA_CERTS ?? '';
  if (authorities !== '' && !(await isPem(files, authorities))) {
    const isThere = (await files.facts(authorities).catch(() => undefined)) !== undefined;
    const why = isThere ? 'from which no PEM certificate can be read' : 'which cannot be found';
    const says = `NODE_EXTRA_CA_CERTS names ${authorities}, ${why}, so it has no effect.`;
    const correct = isThere ? 'Name a file with -----BEGIN CERTIFICATE-----' : 'Correct the path';
    found.push(warn('variables', says, `${correct}, or unset NODE_EXTRA_CA_CERTS.`));
  }
  if (found.length === 0) found.push(ok('variables', 'No PETSTORE_* variable overrides the config.'));
  yield* found;
}

/** False without a certificate in PEM (RFC 7468), the only form that Node reads. Does not read a pipe: Node has read it. */
async function isPem(files: CommandContext['files'], path: string): Promise<boolean> {
  const head = await files.head(path, 65_536).catch(() => undefined);
  if (head !== undefined) return /-----BEGIN (X509 )?CERTIFICATE-----/.test(new TextDecoder().decode(head));
  const kind = (await files.facts(path).catch(() => undefined))?.kind;
  return kind === 'other' || kind === 'symlink';
}

function* baseUrl({ globals }: CommandContext, settings: ResolvedSettings): Generator<Diagnosis, URL> {
  const url = requireBaseUrl(settings, globals);
  if (settings.environment.value === 'sandbox') yield skipped('base-url', 'The sandbox is built in.');
  else if (url.protocol === 'http:' && globals.insecureHttp) {
    const says = `The key travels to ${url.hostname} unencrypted (--insecure-http).`;
    yield warn('base-url', says, 'Use an https address.');
  } else yield ok('base-url', `${url.href}, from ${settings.baseUrl?.source.name}.`);
  return url;
}

async function* key(context: CommandContext, settings: ResolvedSettings, file: ConfigFile, isOffline: boolean): Steps {
  const { apiKey, environment, keyCommand } = settings;
  if (environment.value === 'sandbox') yield skipped('key', 'The sandbox has one of its own.');
  else if (keyCommand === undefined) {
    requireKey(settings, file);
    yield ok('key', `Found, from ${apiKey?.source.name}.`);
  } else {
    const run = isOffline ? undefined : context.target();
    await run?.catch((error: unknown) => {
      if (!isAbout(error, BASE_URL_KINDS)) throw error;
    });
    yield ok('key', `It comes from a command: ${keyCommand.value}`);
  }
}

/** Checks the state database. @returns whether it can be used */
async function* state(context: CommandContext): Steps<boolean> {
  const folder = stateFolder(context);
  const path = statePath(context, 'state.db');
  const facts = await context.files.facts(path).catch(fileFailed('read', path));
  const size = facts?.size ?? 0;
  if (size > 0 && (await isDamaged(context, path, size))) {
    yield bad(
      'state',
      `${path} is damaged.`,
      'The next command that writes or sends puts it aside and starts a new one: the catalog, the history and unfinished runs are lost.',
    );
    return false;
  }
  using opened = await openStateFile(context, path);
  await opened.exclusively(() => undefined);
  if (await context.files.isOnNetwork(folder)) {
    yield warn(
      'state',
      `${folder} is on a network file system, whose locks other machines may not see: limits are not shared.`,
      'Set XDG_STATE_HOME to a folder of this machine, and share limits with PETSTORE_LEDGER=redis://…',
    );
    return true;
  }
  const open = await openToOthers(context, 'state', folder, path);
  const checked = size > MOST_CHECKED ? ` as far as it was read (the newest ${MOST_CHANGES} changes)` : '';
  yield* open.length > 0 ? open : [ok('state', `${path} is not damaged${checked}, and can be written.`)];
  yield note('state-size', await stateSize(context, folder));
  return true;
}

/** Largest database that is read whole (1 s per 60 MB), and how many changes are read of a larger one. */
const [MOST_CHECKED, MOST_CHANGES] = [32_000_000, 100_000];

/** Checks the database without changing it; of a large one, not the older changes. */
async function isDamaged({ openDatabase }: CommandContext, path: string, size: number): Promise<boolean> {
  try {
    using database = await openDatabase(path, { readOnly: true });
    const check = (of: string): boolean => Object.values(database.get(`PRAGMA quick_check(${of})`) ?? {})[0] === 'ok';
    if (size <= MOST_CHECKED) return !check('1');
    const tables = database.all("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'change'");
    database.get(`SELECT sum(length(after)) FROM (SELECT after FROM change ORDER BY id DESC LIMIT ${MOST_CHANGES})`);
    return !tables.every(({ name }) => check(String(name)));
  } catch (error) {
    // Other problems show when it is opened as usual.
    return error instanceof DatabaseFailure && error.problem === 'damaged';
  }
}

const BASE_URL_KINDS: readonly Kind[] = ['no-base-url', 'base-url'];
export const KEY_KINDS: readonly Kind[] = ['no-key', 'key-unreadable', 'key-malformed', 'key-command'];

export function isAbout(error: unknown, kinds: readonly Kind[]): boolean {
  return isFailure(error) && kinds.includes(error.kind);
}

/** Checks what the ledger knows about the key. A shared ledger is checked with the network. */
async function* ledger(context: CommandContext): Steps {
  const now = context.clock.now();
  if (sharedLedger(context) !== undefined) {
    yield note('limits', 'Limits are shared through PETSTORE_LEDGER.');
    return;
  }
  try {
    await using opened = await openLedger(context, await context.target());
    const until = (await opened.view()).block?.until ?? now;
    const says = `The service asked this key to wait; nothing is sent before ${clockTime(until, now)}.`;
    yield until > now
      ? warn('limits', says, 'Wait. petstore limits shows why.')
      : ok('limits', 'The service has not asked to wait.');
  } catch (error) {
    // The base URL and the key have their own checks.
    if (!isAbout(error, [...BASE_URL_KINDS, ...KEY_KINDS])) throw error;
  }
}

/** Returns two sentences: the sizes of the database, its log and the reports, and how long they are kept. */
async function stateSize({ files, globals: { keepHistory } }: CommandContext, folder: string): Promise<string> {
  const sizeOf = async (name: string): Promise<number> => (await files.facts(`${folder}/${name}`))?.size ?? 0;
  const reports = await files.list(`${folder}/reports`).catch(fileFailed('read', `${folder}/reports`));
  let total = 0;
  for (const name of reports) total += await sizeOf(`reports/${name}`);
  const [database, log] = [await sizeOf('state.db'), await sizeOf('state.db-wal')].map(bytes);
  const kept = Number.isFinite(keepHistory) ? `for ${duration(keepHistory)}` : 'forever';
  const written = reports.length === 0 ? '' : `, ${plural(reports.length, 'report')} ${bytes(total)}`;
  return `The database takes ${database}, its log ${log}${written}. History is kept ${kept}.`;
}

/** Returns a size in kB, MB or GB, rounded up. */
function bytes(count: number): string {
  if (count < 1e6) return `${Math.ceil(count / 1e3)} kB`;
  return count < 1e9 ? `${Math.ceil(count / 1e5) / 10} MB` : `${Math.ceil(count / 1e8) / 10} GB`;
}
