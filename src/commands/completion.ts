import { defineCommand, flag, optionalArgument } from '../cli/command.ts';
import { wordIn, wordValue } from '../value-parsers.ts';
import { homeProblem, sandboxFile, statePath } from '../session/paths.ts';
import type { CommandContext, PlaceOptions } from '../session/globals.ts';
import { Failure, fileFailed, onlyFailure, usageFailure } from '../errors.ts';
import type { Context } from '../ports.ts';
import { shellWord } from '../session/run-commands.ts';
import type { KnownPet } from '../state/pets.ts';
import type { RawView } from '../view/view.ts';

/** The scripts. They ask `petstore __complete` and show the words, and evaluate none of them. */
const SCRIPTS = {
  bash: () => import('../../completions/petstore.bash?text'),
  zsh: () => import('../../completions/_petstore?text'),
  fish: () => import('../../completions/petstore.fish?text'),
  powershell: () => import('../../completions/petstore.ps1?text'),
};
type Shell = keyof typeof SCRIPTS;
const SHELLS = Object.keys(SCRIPTS) as Shell[];

export const completion = defineCommand({
  path: 'completion',
  common: 'output',
  summary: 'Print the completion script of a shell, or install it',
  description:
    'Completes commands, options, environments, statuses, columns and pet ids from what is on this machine, never ' +
    'over the network, and evaluates nothing that you typed. The ids are those in the history and the sandbox. zsh, ' +
    'fish and PowerShell also show names from the catalog.',
  examples: {
    'bash, for this session': 'source <(petstore completion bash)',
    'Permanently, where the shell looks for it': 'petstore completion zsh --install',
  },
  arguments: {
    shell: optionalArgument(wordValue(SHELLS), `${SHELLS.join(', ')} (default: the shell in SHELL)`),
  },
  options: { install: flag('--install', 'install it for your user and print the remaining step') },
  more: ['scripting'],
  async run({ shell: named, install }, context): Promise<RawView> {
    const shell = named ?? wordIn(SHELLS, context.env.SHELL?.replace(/^.*\//, '') ?? '');
    if (shell === undefined)
      throw usageFailure(`Name the shell: ${SHELLS.join(', ')}.`, 'See: petstore completion --help');
    const { default: script } = await SCRIPTS[shell]();
    return install === true ? installed(context, shell, script) : { view: 'raw', body: Buffer.from(script) };
  },
});

/**
 * Returns the pets that this machine has seen, last changed first, with their names in the catalog of `place`.
 * @throws {Failure} `no-home`
 */
export async function knownPets(context: Context, place: PlaceOptions): Promise<readonly KnownPet[]> {
  const { petsSeen } = await import('../state/pets.ts');
  const paths = { sandbox: sandboxFile(context), state: statePath(context, 'state.db') };
  // No names if an option, a variable or the config is invalid.
  return petsSeen(context, paths, () => originAt(context, place).catch((error: unknown) => void onlyFailure(error)));
}

async function originAt(ports: Context, { profile, ...call }: PlaceOptions): Promise<string> {
  const [{ readConfigFile }, { requireBaseUrl, resolveSettings }, { originOf, partsOf }] = await Promise.all([
    import('../session/config-file.ts'),
    import('../session/resolve.ts'),
    import('../session/environments.ts'),
  ]);
  const named = partsOf(call.env ?? '').profile ?? profile;
  const context = named === undefined ? ports : { ...ports, env: { ...ports.env, PETSTORE_PROFILE: named } };
  const { config } = await readConfigFile(context);
  const settings = resolveSettings(call, { env: context.env, config });
  // Nothing is sent, so http may be to another machine.
  const url = requireBaseUrl(settings, { insecureHttp: true });
  return originOf({ environment: settings.environment.value, baseUrl: url });
}

/** Writes the script where the shell finds it, or to a file that the user's profile must load, and says what is left. */
async function installed(context: CommandContext, shell: Shell, script: string): Promise<RawView> {
  const { env, files, machine } = context;
  const { home } = machine;
  if (home === undefined) {
    const problem = homeProblem(context);
    throw new Failure('no-home', { what: 'completion script', variable: 'HOME', problem });
  }
  const folder = (variable: string, below: string): string => {
    const given = env[variable] ?? '';
    return given.startsWith('/') ? given : `${home}/${below}`;
  };
  const data = folder('XDG_DATA_HOME', '.local/share');
  const config = folder('XDG_CONFIG_HOME', '.config');
  const profile = `${config}/powershell/petstore.ps1`;
  const quoted = `'${profile.replaceAll("'", "''")}'`;
  const places = {
    bash: {
      path: `${data}/bash-completion/completions/petstore`,
      left: 'bash-completion finds it there. Without that package, add to ~/.bashrc:\nsource <(petstore completion bash)',
    },
    zsh: {
      path: `${data}/zsh/site-functions/_petstore`,
      left: `Add to ~/.zshrc, before compinit:\nfpath=(${shellWord(`${data}/zsh/site-functions`)} $fpath)`,
    },
    fish: { path: `${config}/fish/completions/petstore.fish`, left: 'fish finds it there.' },
    powershell: { path: profile, left: `Add to the file that $PROFILE names:\n. ${quoted}` },
  };
  const { path, left } = places[shell];
  await files.makePrivateFolder(path.replace(/\/[^/]*$/, '')).catch(fileFailed('write', path));
  await files.replace(path, script).catch(fileFailed('write', path));
  return { view: 'raw', body: Buffer.from(`Written to ${path}.\n${left}`), margin: 2, isConfirmation: true };
}
