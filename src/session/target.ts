/** What a request needs, read when it is first asked for, and once: its address, and the key, which a command may print. */
import { Failure } from '../errors.ts';
import { SANDBOX_KEY } from '../sandbox/plans.ts';
import type { ConfigFile } from './config-file.ts';
import type { CommandContext } from './globals.ts';
import { splitWords, takeKey } from './key.ts';
import { requireBaseUrl, requireKey, resolveSettings, type Target } from './resolve.ts';

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

/** Returns a function that works when it is first called. */
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
    if (exposed) notices.warning(`Others on this machine may read the key in ${path}: run chmod 600 ${path}`);
    if (isForeign) notices.warning(`The config ${path} belongs to another user, who may send the key anywhere.`);
  }
  const storedKey = keyCommand === undefined ? requireKey(settings, file) : '';
  const baseUrl = requireBaseUrl(settings, globals);
  if (globals.insecureHttp && baseUrl.protocol === 'http:') {
    notices.warning(`The key travels unencrypted to ${baseUrl.host} (--insecure-http).`);
  }
  if (keyCommand === undefined) return { environment, baseUrl, apiKey: storedKey, keySource: apiKey!.source.name };
  assertTrusted(file, keyCommand.value);
  const printed = await keyFromCommand(context, keyCommand.value);
  return { environment, baseUrl, apiKey: printed, keySource: keyCommand.source.name };
}

const TIMEOUT_MS = 30_000;

/**
 * Runs the command without a shell, and returns the key that it prints, less one line end. Shows what it writes to
 * stderr: at once on a terminal, where it may ask the user to do something; elsewhere at the end, without the key.
 * @throws {Failure} `key-command`, `key-malformed`; the reason of the command's signal
 */
export async function keyFromCommand(context: Omit<CommandContext, 'target'>, command: string): Promise<string> {
  const { notices, secrets, signal, stderr } = context;
  const words = splitWords(command, context.machine.platform);
  const held: string[] = [];
  const show = (line: string): void => {
    notices.warning(`${words[0]}: ${line}`);
  };
  try {
    const onLine = stderr.isTTY ? show : (line: string): void => void held.push(line);
    const fail = (problem: string, isLocal: boolean): Failure =>
      new Failure('key-command', { command, problem, isLocal });
    const printed = await context.runCommand(words, { timeoutMs: TIMEOUT_MS, signal, onLine, fail });
    const key = printed.replace(/\r?\n$/, '');
    if (key === '') throw new Failure('key-command', { command, problem: 'printed no key' });
    // Also one that cannot be sent: it may be more than the key, but not less.
    secrets.add(key);
    return takeKey(context, key, 'the key command');
  } finally {
    held.forEach(show);
  }
}

/** Requires a config file that only the user, or root, can have written. @throws {Failure} `key-command` */
function assertTrusted({ path, isForeign, isWritableByOthers }: ConfigFile, command: string): void {
  if (!isForeign && !isWritableByOthers) return;
  throw new Failure('key-command', {
    command,
    problem: isForeign
      ? `was not run, because ${path} belongs to another user`
      : `was not run, because other users may change ${path}`,
    isLocal: true,
    hint: isForeign ? `Take it over: chown "$USER" ${path}` : `Make it yours alone: chmod 600 ${path}`,
  });
}
