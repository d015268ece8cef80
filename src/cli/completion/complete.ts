/** Completion candidates for the word at the cursor, from the commands' data alone. */
import { childrenOf, commandsOf, grammarOf, type Tree, type TreeOption, type ValueSpec } from '../help/tree.ts';
import type { KnownPet } from '../../state/pets.ts';
import { argumentsIn, lastValue, type Line, scan } from '../scan.ts';

/** What the line names of the environment that its command would use. */
export interface Place {
  readonly env: string | undefined;
  readonly baseUrl: string | undefined;
  readonly profile?: string | undefined;
  readonly insecureHttp: boolean;
}

type KnownPets = (place: Place) => Promise<readonly KnownPet[]>;

/**
 * Returns the answer of `petstore __complete WORDS`, of which the last is the word at the cursor: a candidate for that
 * word on each line, with its description behind a tab, then `:files` where names of files are wanted too, or `:end`.
 */
export async function complete(tree: Tree, words: readonly string[], knownPets: KnownPets): Promise<string> {
  const word = words.at(-1) ?? '';
  const line = scan(grammarOf(tree), words.slice(0, -1));
  const { before, candidates, value } = positionOf(tree, line, word);
  const all = value === undefined ? candidates : await valuesOf(value, () => knownPets(placeOf(line)));
  const start = before + (value?.list === true ? word.slice(before.length).replace(/[^,]*$/, '') : '');
  const lines = all
    .map(({ name, summary = '' }) => ({ whole: start + name, summary: summary.replace(/\s+/g, ' ').trim() }))
    .filter(({ whole }) => whole.startsWith(word))
    .map(({ whole, summary }) => (summary === '' ? whole : `${whole}\t${summary}`));
  return [...lines, value?.from === 'files' ? ':files' : ':end', ''].join('\n');
}

interface Candidate {
  readonly name: string;
  readonly summary?: string;
}

interface Position {
  /** The part of the word before the candidate. */
  readonly before: string;
  readonly candidates: readonly Candidate[];
  readonly value?: ValueSpec | undefined;
}

function placeOf(line: Line<TreeOption>): Place {
  const insecureHttp = line.tokens.some(({ role, text }) => role === 'option' && text === '--insecure-http');
  const [env, profile] = [lastValue(line, '--env'), lastValue(line, '--profile')];
  return { env, profile, baseUrl: lastValue(line, '--base-url'), insecureHttp };
}

function positionOf(tree: Tree, line: Line<TreeOption>, word: string): Position {
  const looksLikeOption = !line.isOver && word.startsWith('-');
  const option = line.pending ?? (looksLikeOption ? undefined : line.variadic);
  if (option !== undefined) return { before: '', candidates: [], value: option.value };
  const own = commandsOf(tree).find(({ path }) => path === line.path);
  if (looksLikeOption) {
    // Such as --env=sta or -osc, which hold their value.
    const last = scan(grammarOf(tree), [...line.path.split(' ').filter(Boolean), word]).tokens.at(-1);
    if (last?.role === 'value') {
      return { before: word.slice(0, word.length - last.text.length), candidates: [], value: last.option.value };
    }
    return { before: '', candidates: named([...(own?.options ?? []), ...tree.globals]) };
  }
  if (line.unknown?.kind === 'command') return { before: '', candidates: [] };
  if (own === undefined) return { before: '', candidates: childrenOf(tree, line.path) };
  const argument = own.arguments[argumentsIn(line).length] ?? own.arguments.find(({ variadic }) => variadic);
  if (argument !== undefined) return { before: '', candidates: [], value: argument };
  // With nothing to name, the command's own options are what could come, and the commands below it.
  const options = word === '' && !line.isOver ? named(own.options) : [];
  return { before: '', candidates: [...childrenOf(tree, line.path), ...options] };
}

function named(options: readonly TreeOption[]): Candidate[] {
  return options.flatMap(({ names, description }) => names.map((name) => ({ name, summary: description })));
}

async function valuesOf(
  { words, from }: ValueSpec,
  knownPets: () => Promise<readonly KnownPet[]>,
): Promise<Candidate[]> {
  if (from === 'pets') return (await knownPets()).map(({ petId, name = '' }) => ({ name: `${petId}`, summary: name }));
  return (words ?? []).map((name) => ({ name }));
}
