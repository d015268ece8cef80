/** Parsers for the values of options and arguments. */
import { isLine, parseInt64, parseInteger } from './api/values.ts';
import { DAY_MS, FOREVER_MS, parseDuration } from './duration.ts';
import { Failure, isFailure } from './errors.ts';

/** What completion can propose for a value. */
export interface Proposals {
  /** All possible values, or the common ones. */
  readonly words?: readonly string[];
  /** Completion offers pet ids seen on this machine. */
  readonly isPet?: true;
  /** One word may hold several values, separated by commas. */
  readonly isList?: true;
}

export interface Parser<T = unknown> extends Proposals {
  /** `name`: the option or argument, for the error. @throws {Failure} `invalid-value` */
  readonly parse: (text: string, name: string) => T;
}

/** Makes a parser from a function that returns undefined for any text that is not `expected`. */
export function parserOf<T>(
  expected: string,
  read: (text: string, name: string) => T | undefined,
  proposals: Proposals = {},
): Parser<T> {
  const parse = (text: string, name: string): T => {
    const value = read(text, name);
    if (value !== undefined) return value;
    const near = proposals.words?.filter((word) => text !== '' && word.startsWith(text.toLowerCase())) ?? [];
    const hint = near.length === 1 ? { hint: `Did you mean ${near[0]!}?` } : {};
    throw new Failure('invalid-value', { name, value: text, expected, ...hint });
  };
  return { parse, ...proposals };
}

/** Parses a value of the config: the call is right. @throws {Failure} `invalid-value`, with `isStored` */
export function parseStored<T>(parse: Parser<T>['parse'], text: string, key: string, command: string): T {
  try {
    return parse(text, `${key} of the config`);
  } catch (error) {
    if (!isFailure(error) || !error.is('invalid-value')) throw error;
    throw new Failure('invalid-value', { ...error.details, hint: `Correct it: ${command}`, isStored: true }, error);
  }
}

export const textValue: Parser<string> = { parse: (text) => text };

/** Accepts any text that is not blank. */
export const nameValue = parserOf('a name', (text) => (text.trim() === '' ? undefined : text.trim()));

/** Accepts any text but an empty one, which a script gets from a variable that is not set. */
export const pathValue = parserOf('a path', (text) => (text === '' ? undefined : text));

/** Parses a canonical decimal int64 into a bigint. */
export const petIdValue = parserOf('a pet ID, a whole number such as 7', parseInt64, { isPet: true });

/** The same for a command that also has --name. */
export const petNotNameValue = parserOf('a pet ID such as 7 (a name goes with --name)', parseInt64, { isPet: true });

/** Parses a canonical decimal integer of either sign into a bigint. */
export const integerValue = parserOf('a whole number such as 12, without separators', parseInteger);

/** Parses the number of a change or a run. */
export const numberValue = parserOf('a number such as 3', parseInt64);

/** Accepts one of `words`, in upper or lower case. */
export function wordValue<const T extends string>(words: readonly T[]): Parser<T> {
  return parserOf(`one of ${words.join(', ')}`, (text) => wordIn(words, text), { words });
}

/** Returns the word that is `text`, whatever its case. */
export function wordIn<T extends string>(words: readonly T[], text: string): T | undefined {
  return words.find((word) => word === text) ?? words.find((word) => word.toLowerCase() === text.toLowerCase());
}

/** Parses `500ms`, `30` or `30s`, `5m`, `2h`, `1d` into ms, `least` or more. More than `most` becomes `most`. */
export function durationValue(least: number, most = Number.POSITIVE_INFINITY): Parser<number> {
  const bound = least < 1_000 ? `${least}ms` : `${least / 1_000}s`;
  return parserOf(`a duration such as 30s, 5m or 2h${least > 0 ? `, of at least ${bound}` : ''}`, (text) => {
    const ms = parseDuration(text);
    return ms !== undefined && ms >= least ? Math.min(ms, most) : undefined;
  });
}

const DATE_TIME = /^(\d{4}-(?:0[1-9]|1[0-2])-(\d\d))(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)?))?$/;

/**
 * Parses `2026-03-01`, `2026-03-01T14:00` (local time, or with an offset) or a duration before now, such as `2h`.
 * Returns a function from now to the instant, both epoch ms.
 */
export function instantValue(dayIs: 'its start' | 'its end'): Parser<(now: number) => number> {
  return parserOf('a date, a date and time, or a duration such as 2h or 7d', (text) => {
    const ago = /^[\d.]+$/.test(text) ? undefined : parseDuration(text);
    if (ago !== undefined) return (now) => now - ago;
    const [, day = '', dayOfMonth, time] = DATE_TIME.exec(text) ?? [];
    const at = new Date(`${day}T${time ?? '00:00'}`);
    // JavaScript reads February 31 as March 3.
    const isDay = new Date(`${day}T00:00Z`).getUTCDate() === Number(dayOfMonth);
    if (Number.isNaN(at.getTime()) || !isDay) return undefined;
    if (time === undefined && dayIs === 'its end') at.setHours(24, 0);
    return () => at.getTime();
  });
}

/** Parses a duration or `forever` into ms. */
export const waitValue = parserOf(
  'a duration such as 30s, 5m or 2h, or forever',
  (text) => (text === 'forever' ? FOREVER_MS : parseDuration(text)),
  { words: ['forever'] },
);

export function countValue(least = 0, most = 1_000_000): Parser<number> {
  return parserOf(`a whole number from ${least} to ${most}`, (text) => {
    const value = parseInteger(text);
    return value !== undefined && value >= least && value <= most ? Number(value) : undefined;
  });
}

/** Trims, as `history --person` does. */
export function lineValue(most: number): Parser<string> {
  return parserOf(`one line of 1 to ${most} characters, without control characters`, (text) =>
    isLine(text, most) ? text.trim() : undefined,
  );
}

/** Parses a note for the history. */
export const noteValue = lineValue(200);

const SIZE = /^([1-9][0-9]{0,14})(KiB|MiB|GiB|kB|MB|GB)?$/;
const BYTES: Readonly<Record<string, number>> = {
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
};

/** Parses `1048576`, `256MiB`, `1GB` into bytes. */
export const sizeValue = parserOf('a size such as 1048576, 64MiB or 1GB', (text) => {
  const match = SIZE.exec(text);
  const bytes = match === null ? Number.NaN : Number(match[1]) * (match[2] === undefined ? 1 : BYTES[match[2]]!);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
});

/**
 * Parses how long to keep something into ms; `forever` is Infinity. Has a minimum, because a number without a unit (730
 * is seconds) must not remove the history.
 */
export const keptTimeValue = parserOf('a duration such as 400d, of at least 1d, or forever', (text) => {
  const ms = text === 'forever' ? Number.POSITIVE_INFINITY : parseDuration(text);
  return ms !== undefined && ms >= DAY_MS ? ms : undefined;
});

export const sandboxKeyValue = parserOf('printable characters without spaces', (text) =>
  /^[\x21-\x7e]{1,200}$/.test(text) ? text : undefined,
);

/** Parses the values of a repeatable option; a comma is part of a value. */
export function repeated<T>(one: Parser<T>): Parser<T[]> {
  return { ...one, parse: (text, name) => [one.parse(text, name)] };
}

/** Parses the values of an option that may be repeated or take several values, separated by commas. */
export function listOf<T>(one: Parser<T>): Parser<T[]> {
  return { ...one, isList: true, parse: (text, name) => text.split(',').map((each) => one.parse(each, name)) };
}

/**
 * Splits a command into words as a shell does: '…' and "…" quote, and a backslash escapes the next character, except in
 * single quotes and on Windows, where paths contain it. Expands nothing.
 * @throws {Failure} `invalid-value`
 */
export function splitWords(command: string, platform = '', name = 'The key command'): readonly [string, ...string[]] {
  const { word, part, unescape } = platform === 'win32' ? WINDOWS : POSIX;
  const refuse = (expected: string): Failure => new Failure('invalid-value', { name, value: command, expected });
  const words: string[] = [];
  let rest = command.trim();
  while (rest !== '') {
    const [text] = word.exec(rest) ?? [];
    if (text === undefined) throw refuse('a command whose quotes are closed');
    const plain = (part: string, single?: string, double?: string): string =>
      single ?? (double === undefined ? part.slice(1) : unescape(double));
    words.push(text.replace(part, plain));
    rest = rest.slice(text.length).trimStart();
  }
  const [program, ...args] = words;
  if (program === undefined || program === '') throw refuse('a program and its arguments');
  // eslint-disable-next-line no-control-regex -- characters that no program accepts and no user types
  if (/[\0-\x08\x0a-\x1f\x7f]/.test(command)) throw refuse('one line without control characters');
  return [program, ...args];
}

/** `word`: a word at the start of a text. `part`: a quoted or escaped part of it. */
const POSIX = {
  word: /^(?:'[^']*'|"(?:[^"\\]|\\[^])*"|\\[^]|[^\s'"\\])+/,
  part: /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\[^]/g,
  // In double quotes, a backslash is literal except before these characters.
  unescape: (text: string): string => text.replace(/\\(["\\$`])/g, '$1'),
};
const WINDOWS = {
  word: /^(?:'[^']*'|"[^"]*"|[^\s'"])+/,
  part: /'([^']*)'|"([^"]*)"/g,
  unescape: (text: string): string => text,
};
