/** What a command is: its words, its values, its work. cli.ts wires it; help and reference are made from it. */
import { parseInt64, parseInteger, PET_STATUSES } from '../api/values.ts';
import type { CommandContext } from '../session/globals.ts';
import { FOREVER_MS, parseDuration } from '../duration.ts';
import { Failure } from '../errors.ts';
import type { View } from '../view/view.ts';

/** Reads one value. What it knows of the values that there are serves completion. */
export interface Parser<T = unknown> {
  /** `before`: what earlier uses of the option gave. @throws {Failure} `invalid-value` */
  (text: string, before?: unknown): T;
  /** All values that there are, or those that are usual. */
  readonly words?: readonly string[];
  /** Ids that this machine has seen may be proposed. */
  readonly isPet?: true;
  /** Several values in one word, with commas. */
  readonly isList?: true;
}

export interface ArgumentSpec {
  /** `petId`, `[topic...]` without the brackets; becomes the key in the command's input. */
  readonly name: string;
  readonly description: string;
  readonly optional?: boolean;
  readonly variadic?: boolean;
  readonly parse?: Parser;
  /** All values that there are, where the parser does not know them. */
  readonly words?: readonly string[];
}

export interface OptionSpec {
  /** As commander writes them: `--min <quantity>`. */
  readonly flags: string;
  readonly description: string;
  /** The heading in the help; `Options` where there is none. */
  readonly purpose?: string;
  readonly default?: unknown;
  /** How the default reads in the help. */
  readonly shownDefault?: string;
  readonly parse?: Parser;
  /** All values that there are, where only what the command loads knows them. */
  readonly words?: () => Promise<readonly string[]>;
  readonly conflicts?: readonly string[];
}

export interface Example {
  readonly says: string;
  readonly command: string;
}

export interface CommandSpec<Input> {
  /** `inventory list`: the group, where there is one, and the name. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly examples: readonly Example[];
  readonly arguments?: readonly ArgumentSpec[];
  readonly options?: readonly OptionSpec[];
  /** The service itself calls the operation experimental. */
  readonly experimental?: true;
  /** Topics of `petstore help` that tell more. */
  readonly more?: readonly string[];
  /** How long it may take to end in order once it is to stop, in ms; without it, as long as a write in flight may. */
  readonly graceMs?: number;
  /** Arguments and options by name -> a view. @throws {Failure} */
  run(input: Input, context: CommandContext): Promise<View>;
}

/** A command whose input type is known to itself alone. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the table of commands holds every input type
export type AnyCommand = CommandSpec<any>;

export interface NamedOption extends OptionSpec {
  /** The key in the command's input: `failIfAny` of `--fail-if-any`, `header` of `--no-header`. */
  readonly name: string;
}

/** Returns the command's own options, each with the name that its value has in the command's input. */
export function optionsOf({ options = [] }: AnyCommand): readonly NamedOption[] {
  return options.map((option) => ({ ...option, name: inputName(option.flags) }));
}

/** Returns the command's arguments in their order. */
export function argumentsOf({ arguments: all = [] }: AnyCommand): readonly ArgumentSpec[] {
  return all;
}

function inputName(flags: string): string {
  const long = /--(?:no-)?([\w-]+)/.exec(flags)?.[1] ?? flags;
  return long.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** `--pet 7`: a canonical decimal int64, as a bigint. */
export function petIdValue(name: string): Parser<bigint> {
  const parse = (text: string): bigint => {
    const value = parseInt64(text);
    if (value !== undefined) return value;
    throw new Failure('invalid-value', {
      name,
      value: text,
      expected: "a pet's id: a decimal int64 without sign, spaces or leading zeros",
    });
  };
  return Object.assign(parse, { isPet: true } as const);
}

/** A canonical decimal integer of either sign, as a bigint. */
export function integerValue(name: string): (text: string) => bigint {
  return (text) => {
    const value = parseInteger(text);
    if (value !== undefined) return value;
    throw new Failure('invalid-value', {
      name,
      value: text,
      expected: 'a decimal integer without plus sign, spaces, fraction, exponent or leading zeros',
    });
  };
}

/** Values of an option that may be given several times, or with commas. */
export function listOf<T>(parse: Parser<T>): Parser<T[]> {
  const all = (text: string, before?: unknown): T[] => [
    ...((before as T[] | undefined) ?? []),
    ...text.split(',').map((each) => parse(each)),
  ];
  return Object.assign(all, known(parse), { isList: true } as const);
}

function known({ words, isPet }: Parser): Pick<Parser, 'words' | 'isPet'> {
  return { ...(words !== undefined && { words }), ...(isPet && { isPet }) };
}

/** One of a few words. */
export function wordValue<T extends string>(name: string, words: readonly T[]): Parser<T> {
  const parse = (text: string): T => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new Failure('invalid-value', { name, value: text, expected: `one of ${words.join(', ')}` });
  };
  return Object.assign(parse, { words });
}

/** `500ms`, `30` or `30s`, `5m`, `2h`, `1d` -> ms. */
export function durationValue(name: string, least: number): (text: string) => number {
  return (text) => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms >= least) return ms;
    const bound = least < 1_000 ? `${least}ms` : `${least / 1_000}s`;
    const expected = `a duration such as 30s, 5m or 2h${least > 0 ? `, of at least ${bound}` : ''}`;
    throw new Failure('invalid-value', { name, value: text, expected });
  };
}

/** The same, or `forever`. */
export function waitValue(name: string): Parser<number> {
  const parse = (text: string): number => {
    if (text === 'forever') return FOREVER_MS;
    const ms = parseDuration(text);
    if (ms !== undefined) return ms;
    throw new Failure('invalid-value', {
      name,
      value: text,
      expected: 'a duration such as 30s, 5m or 2h, or forever',
    });
  };
  return Object.assign(parse, { words: ['forever'] });
}

/** A small whole number. */
export function countValue(name: string, least = 0, most = 1_000_000): (text: string) => number {
  return (text) => {
    const value = parseInteger(text);
    if (value !== undefined && value >= least && value <= most) return Number(value);
    throw new Failure('invalid-value', { name, value: text, expected: `a whole number from ${least} to ${most}` });
  };
}

/** Values of an option that may be repeated, commas and all. */
export function repeated<T>(parse: Parser<T>): Parser<T[]> {
  const all = (text: string, before?: unknown): T[] => [...((before as T[] | undefined) ?? []), parse(text)];
  return Object.assign(all, known(parse));
}

const SIZE = /^([1-9][0-9]{0,14})(KiB|MiB|GiB|kB|MB|GB)?$/;
const BYTES: Readonly<Record<string, number>> = {
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
};

/** `1048576`, `256MiB`, `1GB` -> bytes. */
export function sizeValue(name: string): (text: string) => number {
  return (text) => {
    const match = SIZE.exec(text);
    const bytes = match === null ? Number.NaN : Number(match[1]) * (match[2] === undefined ? 1 : BYTES[match[2]]!);
    if (Number.isSafeInteger(bytes)) return bytes;
    throw new Failure('invalid-value', { name, value: text, expected: 'a size such as 1048576, 64MiB or 1GB' });
  };
}

/** Which pets a command is about: the filters of api/select.ts, the same wherever they are taken. */
export const FILTER_OPTIONS: readonly OptionSpec[] = [
  {
    purpose: 'Filters',
    flags: '--status <status...>',
    description: `only pets of this status: ${PET_STATUSES.join(', ')}`,
    parse: listOf(wordValue('--status', PET_STATUSES)),
  },
  { purpose: 'Filters', flags: '--pet <id...>', description: 'only these pets', parse: listOf(petIdValue('--pet')) },
  {
    purpose: 'Filters',
    flags: '--min <quantity>',
    description: 'only a quantity of at least this',
    parse: integerValue('--min'),
  },
  {
    purpose: 'Filters',
    flags: '--max <quantity>',
    description: 'only a quantity of at most this',
    parse: integerValue('--max'),
  },
];
