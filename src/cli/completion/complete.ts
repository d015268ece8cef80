/** Finds completion candidates for the word at the cursor, without loading a command. */
import { childrenOf, commandsOf, grammarOf, type Tree, type TreeArgument, type TreeOption } from '../help/tree.ts';
import type { PlaceOptions } from '../../session/globals.ts';
import type { KnownPet } from '../../state/pets.ts';
import { argumentsIn, lastValue, Line } from '../scan.ts';

type KnownPets = (place: PlaceOptions) => Promise<readonly KnownPet[]>;

/**
 * Returns the output of `petstore __complete WORDS`, whose last word is the one at the cursor: one candidate per line,
 * with its description after a tab, then `:files` if file names are wanted too, or `:end`.
 */
export async function complete(tree: Tree, words: readonly string[], knownPets: KnownPets): Promise<string> {
  const word = words.at(-1) ?? '';
  const line = new Line(grammarOf(tree), words.slice(0, -1));
  const { before = '', candidates = [], value } = positionOf(tree, line, word);
  const { words: known = [], isPet = false, isList = false } = value?.parser ?? {};
  const [env, profile, baseUrl] = ['--env', '--profile', '--base-url'].map((name) => lastValue(line, name));
  const pets = isPet ? await knownPets({ env, profile, baseUrl }) : [];
  const all: readonly Candidate[] = [
    ...known.map((name) => ({ name })),
    ...pets.map(({ petId, name }) => ({ name: `${petId}`, summary: name })),
    ...candidates,
  ];
  const start = before + (isList ? word.slice(before.length).replace(/[^,]*$/, '') : '');
  const lines = all
    .filter(({ name }) => (start + name).startsWith(word))
    .map(({ name, summary = '' }) => [start + name, summary.replace(/\s+/g, ' ').trim()].filter(Boolean).join('\t'));
  const isFile = known.length === 0 && /\bfile\b/.test(value?.name ?? '');
  return [...lines, isFile ? ':files' : ':end', ''].join('\n');
}

interface Candidate {
  readonly name: string;
  readonly summary?: string | undefined;
}

/** What may stand at the cursor: these words, and a value of this kind. */
interface Position {
  /** The part of the word before the candidate. */
  readonly before?: string;
  readonly candidates?: readonly Candidate[];
  readonly value?: Pick<TreeArgument, 'name' | 'parser'>;
}

function positionOf(tree: Tree, line: Line<TreeOption>, word: string): Position {
  const looksLikeOption = !line.isOver && word.startsWith('-');
  const option = line.pending ?? (looksLikeOption ? undefined : line.variadic);
  if (option !== undefined) return { value: valueOf(option) };
  const own = commandsOf(tree).find(({ path }) => path === line.path);
  if (looksLikeOption) {
    // Such as --env=sta or -osc, which contain their value.
    const last = new Line(grammarOf(tree), [...line.path.split(' ').filter(Boolean), word]).tokens.at(-1);
    return last?.role === 'value'
      ? { before: word.slice(0, word.length - last.text.length), value: valueOf(last.option) }
      : { candidates: named([...(own?.options ?? []), ...tree.globals]) };
  }
  if (line.unknown?.kind === 'command') return {};
  const below = childrenOf(tree, line.path);
  if (own === undefined) return { candidates: below };
  const given = argumentsIn(line);
  const argument = own.arguments[given.length] ?? own.arguments.find(({ variadic }) => variadic);
  // `help` takes commands, too.
  if (argument !== undefined) return { value: argument, candidates: own.path === 'help' ? childrenOf(tree, '') : [] };
  // Without arguments to complete, proposes the command's own options and the commands below it.
  return { candidates: [...below, ...(word === '' && !line.isOver ? named(own.options) : [])] };
}

function named(options: readonly TreeOption[]): Candidate[] {
  return options.flatMap(({ names, description }) => names.map((name) => ({ name, summary: description })));
}

function valueOf({ parser, value }: TreeOption): NonNullable<Position['value']> {
  return { name: value?.name ?? '', ...(parser && { parser }) };
}
