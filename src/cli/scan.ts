/**
 * Scans a command line without loading any command: finds the command, classifies each word, and tells whether help,
 * the version or JSON is wanted. Reads options as commander 15 does, in one pass: before the command's name only common
 * options, after it also the command's own.
 */

export interface ScanOption {
  /** `-e`, `--env`. */
  readonly names: readonly string[];
  /** Absent if the option takes no value. */
  readonly value?: { readonly name: string; readonly optional: boolean; readonly variadic: boolean };
}

export interface Grammar<O extends ScanOption> {
  /** The path of every command: `inventory list`, `limits`. */
  readonly commands: readonly string[];
  /** Returns the options that are valid after the words of a path: a command, a group, or `''`. */
  optionsAt(path: string): readonly O[];
}

/** A word or a part of one. `index`: of the word in argv. `-qesandbox` contains two options and a value. */
export type Token<O extends ScanOption> = { readonly index: number; readonly text: string } & (
  | { readonly role: 'command' | 'argument' | 'separator' | 'unknown-command' | 'unknown-option' }
  | { readonly role: 'option' | 'value'; readonly option: O }
);

/** A negative number, as commander 15 distinguishes it from an option. */
const NEGATIVE = /^-(\d+|\d*\.\d+)(e[+-]?\d+)?$/i;

/** `path`: a command or group, `''` for all commands. */
export interface HelpRequest {
  readonly path: string;
  /** `-h`: the summary, the command's own options and a few examples. */
  readonly isShort?: boolean;
}

/**
 * Returns the help that the line asks for, by `-h`, `--help` or by naming no command. Undefined if it does not, or if
 * it names an unknown command or an option without its value.
 */
export function helpWanted(line: Line<ScanOption>): HelpRequest | undefined {
  const { path, isCommand, unknown, pending } = line;
  const help = line.used('--help');
  if (help !== undefined) return unknown?.kind === 'command' ? undefined : { path, isShort: help === '-h' };
  const isOther = isCommand || line.used('--version') !== undefined;
  return isOther || unknown !== undefined || pending !== undefined ? undefined : { path };
}

/** Returns the words that are the command's arguments. */
export function argumentsIn({ tokens }: Line<ScanOption>): string[] {
  return tokens.flatMap(({ role, text }) => (role === 'argument' ? [text] : []));
}

export function lastValue({ tokens }: Pick<Line<ScanOption>, 'tokens'>, name: string): string | undefined {
  return tokens.findLast((token) => token.role === 'value' && token.option.names.includes(name))?.text;
}

/** Parses `-e, --env <name>`, `--watch [interval]`, `--no-header` or `--pet <id...>`. */
export function shapeOf(flags: string): ScanOption {
  const names = flags.match(/(?<![\w-])--?[a-z0-9][\w-]*/gi) ?? [];
  const [, name, dots] = /[<[](.*?)(\.\.\.)?[>\]]$/.exec(flags) ?? [];
  if (name === undefined) return { names };
  return { names, value: { name, optional: flags.endsWith(']'), variadic: dots !== undefined } };
}

const ALIASES: Readonly<Record<string, string>> = { 'inventory ls': 'inventory list' };

/** What the words of a line are. */
export class Line<O extends ScanOption> {
  readonly tokens: Token<O>[] = [];
  /** The command or group that the words name; `''` if none. */
  path = '';
  isCommand = false;
  /** The first word that is neither a known command nor a known option. `path`: what the words before it name. */
  unknown: { readonly kind: 'command' | 'option'; readonly text: string; readonly path: string } | undefined;
  /** The option whose value is missing: at the end, or before another option. */
  pending: O | undefined;
  /** The variadic option that would take another word. */
  variadic: O | undefined;
  /** True after `--`: no further word is an option. */
  isOver = false;
  private next = 0;
  private readonly grammar: Grammar<O>;
  /** The words, with `-ojson` for `-o=json`, which commander would read as `=json`. */
  readonly argv: string[];

  constructor(grammar: Grammar<O>, argv: readonly string[]) {
    this.grammar = grammar;
    this.argv = [...argv];
    while (this.next < argv.length) this.read(this.next, argv[this.next++]!);
  }

  /** The form of the first use of an option: `-h` or `--help`. */
  used(name: string): string | undefined {
    return this.tokens.find((token) => token.role === 'option' && token.option.names.includes(name))?.text;
  }

  /** Reads a word, or the rest of one that combines short options. */
  private read(index: number, text: string): void {
    const isNumber = NEGATIVE.test(text);
    if (this.isOver || !looksLikeOption(text) || (isNumber && this.variadic !== undefined)) {
      this.readPlain(index, text);
      return;
    }
    this.variadic = undefined;
    if (text === '--') {
      this.isOver = true;
      this.tokens.push({ role: 'separator', index, text });
    } else if (!this.readOption(index, text)) {
      if (isNumber && this.isCommand) this.readPlain(index, text);
      else this.refuse('option', index, text);
    }
  }

  private readPlain(index: number, text: string): void {
    if (this.variadic !== undefined) {
      this.tokens.push({ role: 'value', index, text, option: this.variadic });
    } else {
      const words = this.path === '' ? text : `${this.path} ${text}`;
      const path = ALIASES[words] ?? words;
      // A quoted 'inventory list' is one word, and no command.
      const known = text.includes(' ') ? [] : this.grammar.commands;
      const isCommand = known.includes(path);
      const isGroup = known.some((each) => each.startsWith(`${path} `));
      // `proxy` is a command and also the first word of others.
      const isDeeper = (isCommand || isGroup) && this.tokens.at(-1)?.role === 'command';
      if (this.isCommand && !isDeeper) this.tokens.push({ role: 'argument', index, text });
      else if (this.unknown?.kind === 'command' || !(isCommand || isGroup)) this.refuse('command', index, text);
      else {
        Object.assign(this, { path, isCommand });
        this.tokens.push({ role: 'command', index, text });
      }
    }
  }

  /** Reads `--sort`, `--sort=name`, `-qo json`, `-ojson` or `-o=json`. Returns false for an unknown option. */
  private readOption(index: number, text: string): boolean {
    const known = this.grammar.optionsAt(this.path);
    const find = (name: string): O | undefined => known.find(({ names }) => names.includes(name));
    const [, name = text, sign, value] =
      find(text) === undefined ? (/^(--[^=]+)(=)([^]*)$/.exec(text) ?? /^(-[^-])(=?)([^]*)$/.exec(text) ?? []) : [];
    const option = find(name);
    // `-y3` is not -y and -3, which would take three away.
    const isValue = sign === '=' || NEGATIVE.test(`-${value}`);
    if (option === undefined || (isValue && option.value === undefined)) return false;
    this.tokens.push({ role: 'option', index, text: name, option });
    if (value === undefined) this.takeValue(option);
    else if (option.value === undefined) this.read(index, `-${value}`);
    else {
      if (sign === '=' && !name.startsWith('--')) this.argv[index] = this.argv[index]!.replace('=', '');
      this.tokens.push({ role: 'value', index, text: value, option });
      // Commander would take the next word.
      if (value === '' && !name.startsWith('--')) this.pending = option;
    }
    return true;
  }

  /**
   * Takes the next word as the option's value. A required one may look like anything, but after --note $TEXT, without a
   * text, --dry-run is not a note; --note=--dry-run is one.
   */
  private takeValue(option: O): void {
    if (option.value === undefined) return;
    const { optional, variadic } = option.value;
    const text = this.argv[this.next];
    if (text === undefined) {
      if (!optional) this.pending = option;
    } else if (!optional || !looksLikeOption(text) || NEGATIVE.test(text)) {
      const index = this.next++;
      const isOption = this.grammar.optionsAt(this.path).some(({ names }) => names.includes(text));
      if (isOption) this.pending ??= option;
      else this.tokens.push({ role: 'value', index, text, option });
    }
    if (variadic) this.variadic = option;
  }

  private refuse(kind: 'command' | 'option', index: number, text: string): void {
    this.unknown ??= { kind, text, path: this.path };
    this.tokens.push({ role: `unknown-${kind}`, index, text });
  }
}

function looksLikeOption(text: string): boolean {
  return text.length > 1 && text.startsWith('-');
}
