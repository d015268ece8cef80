/** Settings from variables and the config: defaults of common options, and what has no option. */
import type { Context } from '../ports.ts';

/** Name in the config -> the name in the code, and the variable. */
export const DEFAULTS = {
  output: { option: 'output', variable: 'PETSTORE_OUTPUT' },
  color: { option: 'color', variable: 'PETSTORE_COLOR' },
  'max-wait': { option: 'maxWait', variable: 'PETSTORE_MAX_WAIT' },
  reserve: { option: 'reserve', variable: 'PETSTORE_RESERVE' },
  // It has no option.
  'keep-history': { option: 'keepHistory', variable: 'PETSTORE_KEEP_HISTORY' },
} as const;

export type DefaultName = keyof typeof DEFAULTS;
export const DEFAULT_NAMES = Object.keys(DEFAULTS) as DefaultName[];

/** As the config keeps them: texts that the user wrote. */
export type Defaults = Readonly<Partial<Record<DefaultName, string>>>;

/** Every variable of petstore's own. */
export const VARIABLES: readonly string[] = [
  'PETSTORE_ENV',
  'PETSTORE_BASE_URL',
  'PETSTORE_API_KEY',
  'PETSTORE_LEDGER',
  ...Object.values(DEFAULTS).map(({ variable }) => variable),
];

/** Returns the variables that look like petstore's and that nothing reads. */
export function unknownVariables(env: Context['env']): string[] {
  return Object.keys(env).filter((name) => name.startsWith('PETSTORE_') && !VARIABLES.includes(name));
}

export interface StoredDefault {
  readonly text: string;
  /** For messages: the variable, or the setting. */
  readonly source: string;
}

/** Returns what a variable, or else the config, sets, by the option's name. A config that cannot be read sets nothing. */
export async function storedDefaults(
  env: Context['env'],
  configFile: () => Promise<{ readonly config: { readonly defaults?: Defaults } }>,
): Promise<ReadonlyMap<string, StoredDefault>> {
  // A command that needs the config reports what is wrong with it.
  const file = await configFile().catch(() => undefined);
  const found = DEFAULT_NAMES.flatMap((name): [string, StoredDefault][] => {
    const { option, variable } = DEFAULTS[name];
    const fromVariable = env[variable];
    if (fromVariable !== undefined && fromVariable !== '') return [[option, { text: fromVariable, source: variable }]];
    const text = file?.config.defaults?.[name];
    return text === undefined ? [] : [[option, { text, source: `${name} of the config` }]];
  });
  return new Map(found);
}
