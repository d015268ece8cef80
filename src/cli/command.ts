/** Declares commands. Parsing, help, reference, completion and the type of `run`'s input follow from the declaration. */
import type { CommandContext } from '../session/globals.ts';
import type { View } from '../view/view.ts';
import type { Topic } from './help/topics.ts';
import { type ScanOption, shapeOf } from './scan.ts';
import type { Parser } from '../value-parsers.ts';

/** `T`: type of the value in the command's input, with undefined if it may be missing. */
interface ValueSpec<T> {
  readonly description: string;
  /** A flag takes no value and has no parser. */
  readonly parser?: Parser<T>;
}

export interface ArgumentSpec<T = unknown> extends ValueSpec<T> {
  readonly parser: Parser<T>;
  readonly optional?: true;
  readonly variadic?: true;
}

/** What an option may have besides flags, parser and description. */
interface OptionDetails {
  /** Default shown in the help, if it is decided elsewhere. */
  readonly shownDefault?: string;
  /** Names of other options of the command. */
  readonly conflicts?: readonly string[];
  /** Name of another option that it needs. */
  readonly needs?: string;
  /** Description of `--no-x`, which sets the value to false. */
  readonly no?: string;
}

export interface OptionSpec<T = unknown> extends ValueSpec<T>, OptionDetails, ScanOption {
  /** In commander's notation: `--min <quantity>`. */
  readonly flags: string;
  /** Default as a user would write it; true for a flag. */
  readonly default?: string | true;
  /** Heading in the help. */
  readonly purpose: string;
}

export type NamedArgument = ArgumentSpec & { readonly name: string };
/** `isCommon`: an option of every command. `api` has its own --input besides the common --no-input. */
export type NamedOption = OptionSpec & { readonly name: string; readonly isCommon?: true };

type Named<Spec> = Readonly<Record<string, Spec>>;
type ValueOf<Spec> = Spec extends ValueSpec<infer T> ? T : never;
type OptionalName<Specs> = {
  [Name in keyof Specs]: undefined extends ValueOf<Specs[Name]> ? Name : never;
}[keyof Specs];

/** Type of the input that results from arguments and options. An absent option is an absent property. */
export type InputOf<Specs> = {
  readonly [Name in Exclude<keyof Specs, OptionalName<Specs>>]: ValueOf<Specs[Name]>;
} & {
  readonly [Name in OptionalName<Specs>]?: Exclude<ValueOf<Specs[Name]>, undefined>;
};

/**
 * The common options that apply to a command, each with those before it: `output` to every command, `environment` to
 * one that reads what belongs to an environment, `requests` to one that sends requests, `questions` to one that may
 * ask.
 */
export type Common = 'output' | 'environment' | 'requests' | 'questions';

export interface CommandDescription {
  /** `inventory list`: the group, if any, and the name. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** Description -> command line. */
  readonly examples: Readonly<Record<string, string>>;
  /** True if the service calls the operation experimental. */
  readonly experimental?: true;
  /** Related topics of `petstore help`. */
  readonly more?: readonly Topic[];
  /** The common options that its help lists. Default: all. */
  readonly common?: Common;
  /** How long it may take to end after a stop signal, in ms. Default: as long as a write in flight. */
  readonly graceMs?: number;
}

/** A command with the type of its input erased. */
export interface AnyCommand extends CommandDescription {
  /** In the order of the command line. */
  readonly arguments: readonly NamedArgument[];
  /** In the order of the help, those with a `--no-` form twice. */
  readonly options: readonly NamedOption[];
  /** `input`: values of its own arguments and options. @throws {Failure} */
  run(input: object, context: CommandContext): View | Promise<View>;
}

/** `Shared`: options that the command takes without declaring them. */
export interface CommandSpec<Arguments, Options, Shared = object> extends CommandDescription {
  /** In the order of the command line. */
  readonly arguments?: Arguments & Named<ArgumentSpec>;
  /** By name: `allowNegative` for `--allow-negative`. */
  readonly options?: Options & Named<OptionSpec>;
  run(input: InputOf<Arguments & Options & Shared>, context: CommandContext): View | Promise<View>;
}

/** Declares a command; the type of the input of `run` is inferred from its arguments and options. */
export function defineCommand<Arguments extends object = object, Options extends object = object>(
  spec: CommandSpec<Arguments, Options>,
): AnyCommand {
  const args = Object.entries<ArgumentSpec>(spec.arguments ?? {}).map(([name, each]) => ({ name, ...each }));
  return { ...spec, arguments: args, options: optionsOf(spec.options ?? {}) };
}

export function argument<T>(parser: Parser<T>, description: string): ArgumentSpec<T> {
  return { parser, description };
}

export function optionalArgument<T>(parser: Parser<T>, description: string): ArgumentSpec<T | undefined> {
  return { parser, description, optional: true };
}

/** Type of an option's value: true if it may be omitted, false after `--no-x`, undefined without a default. */
type Given<T, Flags extends string, Details> =
  | T
  | (Flags extends `${string}]` ? true : never)
  | (Details extends { readonly no: string } ? false : never)
  | (Details extends { readonly default: string } ? never : undefined);

/** Declares an option with a value. If the value is in `[brackets]` and omitted, it is true. */
export function option<
  T,
  const Flags extends string,
  const Details extends OptionDetails & { readonly default?: string } = object,
>(flags: Flags, parser: Parser<T>, description: string, details?: Details): OptionSpec<Given<T, Flags, Details>> {
  const shown = details?.shownDefault ?? details?.default;
  const about = shown === undefined ? description : `${description} (default: ${shown})`;
  return { ...flag(flags, about), parser, ...details };
}

/** Declares an option without a value. `--no-header` sets `header` to false; otherwise it is true. */
export function flag(flags: `--no-${string}`, description: string, details?: OptionDetails): OptionSpec<boolean>;
export function flag(flags: string, description: string, details?: OptionDetails): OptionSpec<boolean | undefined>;
export function flag(flags: string, description: string, details?: OptionDetails): OptionSpec<boolean> {
  const value = flags.startsWith('--no-') && { default: true as const };
  return { ...shapeOf(flags), flags, description, purpose: 'Options', ...value, ...details };
}

/** Puts the options under a heading of the help. */
export function under<Options extends Named<OptionSpec>>(heading: string, options: Options): Options {
  const entries = Object.entries(options).map(([name, spec]) => [name, { ...spec, purpose: heading }]);
  return Object.fromEntries(entries) as Options;
}

/** Returns the options as a list, those with a `--no-` form twice. */
export function optionsOf(options: Named<OptionSpec>): NamedOption[] {
  return Object.entries(options).flatMap(([name, { no, ...spec }]) => {
    const all = [{ name, ...spec }];
    if (no === undefined) return all;
    const { purpose, conflicts = [] } = spec;
    const flags = spec.flags.replace(/^.*--([\w-]+).*$/, '--no-$1');
    // The default is that of the option itself.
    return [...all, { name, ...shapeOf(flags), flags, description: no, purpose, conflicts }];
  });
}
