/** What may stand where on a command line, in the form that every shell's script is made from. */
import { childrenOf, commandsOf, pathsOf, type Tree, type TreeOption, type ValueSpec } from '../help/tree.ts';

export interface Named {
  readonly name: string;
  readonly summary: string;
}

export interface Place {
  /** The words that lead there: `''`, `inventory`, `inventory list`. */
  readonly path: string;
  readonly commands: readonly Named[];
  /** Those of the command itself; those of every command are apart. */
  readonly options: readonly Named[];
}

/** What a shell's script knows of a value: words, or one of the marks below, and how it is written. */
export interface ValueRow {
  /** `inventory list:--status`, `*:--env` for every command; `inventory set:0` for an argument, `help:*` for any. */
  readonly keys: readonly string[];
  readonly value: string;
  /** Several in one word, with commas. */
  readonly list: boolean;
  /** Several words. */
  readonly variadic: boolean;
}

export const PETS = '@pets';
export const FILES = '@files';
export const ANY = '@any';

export interface Menu {
  readonly places: readonly Place[];
  readonly globals: readonly Named[];
  readonly optionValues: readonly ValueRow[];
  readonly argumentValues: readonly ValueRow[];
}

export function menuOf(tree: Tree): Menu {
  const commands = commandsOf(tree);
  return {
    places: pathsOf(tree).map((path) => ({
      path,
      commands: childrenOf(tree, path),
      options: named(commands.find((each) => each.path === path)?.options ?? []),
    })),
    globals: named(tree.globals),
    // A command's own come first: they may be named like one of all commands.
    optionValues: [
      ...commands.flatMap(({ path, options }) => options.flatMap((option) => optionRow(path, option))),
      ...tree.globals.flatMap((option) => optionRow('*', option)),
    ],
    argumentValues: commands.flatMap(({ path, arguments: args }) =>
      args.flatMap((spec, i) => row([`${path}:${spec.variadic ? '*' : i}`], spec)),
    ),
  };
}

function named(options: readonly TreeOption[]): Named[] {
  return options.flatMap(({ names, description }) => names.map((name) => ({ name, summary: description })));
}

/** An option whose value may be left out takes none from the next word, as far as completion goes. */
function optionRow(path: string, { names, value }: TreeOption): ValueRow[] {
  if (value === undefined || value.optional) return [];
  return row(
    names.map((name) => `${path}:${name}`),
    value,
  );
}

function row(keys: readonly string[], { words, from, list, variadic }: ValueSpec): ValueRow[] {
  const value = words?.join(' ') ?? (from === undefined ? ANY : { pets: PETS, files: FILES }[from]);
  return [{ keys, value, list, variadic }];
}

/** A summary in one line for a list of proposals. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

export const MADE = 'Made from the commands by "npm run generate".';
