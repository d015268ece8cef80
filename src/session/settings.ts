/** Settings as a command gets them: read when they are first asked for, and once. */
import { SANDBOX_KEY } from '../sandbox/plans.ts';
import type { CommandContext } from './globals.ts';
import type { Context } from '../ports.ts';
import { requireBaseUrl, requireKey, resolveSettings, sourceName, type Target } from './resolve.ts';

type Lazy = 'settings' | 'target';

/** Returns a function that reads the config when it is first called. */
export function lazyConfigFile(context: Context): CommandContext['configFile'] {
  return once(async () => (await import('./config-file.ts')).readConfigFile(context));
}

export function lazySettings(context: Omit<CommandContext, Lazy>): Pick<CommandContext, Lazy> {
  const settings = once(async () => {
    const resolved = resolveSettings(context.globals, context.env, await context.configFile());
    if (resolved.apiKey !== undefined) context.secrets.add(resolved.apiKey.value);
    return resolved;
  });
  return { settings, target: once(() => findTarget({ ...context, settings })) };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

async function findTarget(context: Omit<CommandContext, 'target'>): Promise<Target> {
  const { globals, notices } = context;
  const [settings, file] = [await context.settings(), await context.configFile()];
  if (settings.apiKey?.source.from === 'config') {
    const { path, exposed, isForeign } = file;
    if (exposed) notices.warning(`Others on this machine may read the key in ${path}: run chmod 600 ${path}`);
    if (isForeign) notices.warning(`The config ${path} belongs to another user, who may send the key anywhere.`);
  }
  const environment = settings.environment.value;
  if (environment === 'sandbox') {
    const baseUrl = requireBaseUrl(settings, globals);
    return { environment, baseUrl, apiKey: SANDBOX_KEY, keySource: 'the sandbox' };
  }
  const { keyCommand } = settings;
  const keySource = sourceName((keyCommand ?? settings.apiKey)?.source);
  const storedKey = keyCommand === undefined ? requireKey(settings, file) : '';
  const baseUrl = requireBaseUrl(settings, globals);
  if (globals.insecureHttp && baseUrl.protocol === 'http:') {
    notices.warning(`The key travels unencrypted to ${baseUrl.host} (--insecure-http).`);
  }
  if (keyCommand === undefined) return { environment, baseUrl, apiKey: storedKey, keySource };
  const { assertTrusted, keyFromCommand } = await import('./key-command.ts');
  assertTrusted(file, keyCommand.value);
  return { environment, baseUrl, apiKey: await keyFromCommand(context, keyCommand.value), keySource };
}
