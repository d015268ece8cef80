/** Builds the failures of invalid command lines, with suggestions and without text that may contain a secret. */
import type { CommanderError } from 'commander';
import { type Failure, usageFailure } from '../errors.ts';
import { TOPICS } from './help/topics.ts';
import { commandsOf, optionsAt, pathsOf, type Tree } from './help/tree.ts';
import type { Line, ScanOption } from './scan.ts';

/** Returns the failure of an unknown command or option, or an option without its value. */
export function scanFailure(line: Line<ScanOption>, tree: Tree): Failure {
  const { pending, unknown: { kind, text = '', path = '' } = {} } = line;
  // The text after `=` may be a secret.
  const name = text.split(/[=\n]/)[0]!;
  const failure = (hint?: string): Failure => usageFailure(`Unknown ${kind} '${name}'.`, hint);
  if (kind === 'option' && /key|token|password|secret/i.test(name)) return failure(KEY_HINT);
  if (pending !== undefined) return usageFailure(`Option '${pending.names.at(-1)}' needs a value.`);
  if (kind === 'command') return failure(commandHint(line, path, tree));
  if (/^-\.?\d/.test(name)) return usageFailure(`${name} is not a whole number.`);
  const namesAt = (place: string): string[] => optionsAt(tree, place).flatMap((option) => option.names);
  if (namesAt(path).includes(name)) return usageFailure(`Option '${name}' takes no value.`);
  if (namesAt(line.path).includes(name)) return failure(`Put ${name} after the command, ${line.path}.`);
  const found = nearest(name, namesAt(line.path));
  return failure(found && `Did you mean ${found}?`);
}

/** Returns the failure of values that commander refuses: missing or surplus arguments, conflicting options. */
export function valueFailure({ code, message }: CommanderError, line: Line<ScanOption>): Failure {
  // A surplus argument may be a secret.
  const text = message
    .replace(/^error: /, '')
    .replace(/(but got \d+): [^]*$/, '$1')
    .replace(
      /^option '(\S+).*' cannot be used with option '(?:-\w, )?([^\s']+).*'$/,
      '$1 and $2 cannot be used together',
    );
  const problem = `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;
  const isKey = code === 'commander.excessArguments' && line.path === 'login';
  return usageFailure(problem, isKey ? KEY_HINT : undefined);
}

const KEY_HINT = 'Other users can see command lines: use petstore login --key-stdin, or PETSTORE_API_KEY.';

/** @throws {Failure} `usage`: the words after `petstore help` are not a topic */
export function requireTopic(words: readonly string[], tree: Tree): void {
  const topic = words[0] === 'schemas' ? 'schemas' : words.join(' ');
  if (Object.hasOwn(TOPICS, topic)) return;
  const [group = '', ...rest] = words;
  const path = rest.length === 0 ? suggestCommand(tree, '', group) : suggestCommand(tree, group, rest.join(' '));
  const found = nearest(topic.replaceAll(' ', '-'), Object.keys(TOPICS)) ?? path;
  throw usageFailure(
    `Unknown command or topic ${JSON.stringify(topic)}.`,
    found === undefined ? 'See: petstore --help' : `Did you mean petstore help ${found}?`,
  );
}

function commandHint({ tokens }: Line<ScanOption>, group: string, tree: Tree): string | undefined {
  const [word = '', ...rest] = tokens.flatMap(({ role, text }) => (role === 'unknown-command' ? [text] : []));
  if (group !== '' && word === 'help') {
    const path = [group, ...rest].join(' ');
    return `Did you mean petstore help ${pathsOf(tree).includes(path) ? path : group}?`;
  }
  const found = suggestCommand(tree, group, word);
  if (found === undefined) return undefined;
  const path = (found in tree.groups && suggestCommand(tree, found, rest[0] ?? '')) || found;
  const place = group === 'sandbox' && path.startsWith('inventory ') ? '--env sandbox ' : '';
  return `Did you mean petstore ${place}${path}?`;
}

/** Returns the candidate that the word abbreviates, or the nearest within one or two typos; of equal ones the first. */
function nearest(word: string, candidates: readonly string[]): string | undefined {
  const { length } = word.replace(/^-+/, '');
  if (length < 3) return undefined;
  const longer = candidates.filter((each) => each.startsWith(word));
  if (longer.length === 1) return longer[0];
  return candidates
    .map((each) => ({ each, slips: slipsBetween(word, each) }))
    .filter(({ slips }) => slips <= (length < 5 ? 1 : 2))
    .toSorted((a, b) => a.slips - b.slips)[0]?.each;
}

/** Words for `list` in other programs. */
const LIST_WORDS = ['ls', 'get', 'show', 'export'];

/**
 * Returns the path of the command or group that `word` after `group` (`''` at the start) probably means. Suggests a
 * command that changes stock only for a single typo, never if another command is as near, and never after another
 * group: a user who types `config edit` does not want to change stock.
 */
export function suggestCommand(tree: Tree, group: string, word: string): string | undefined {
  const words = wordsBelow(tree, group);
  const writes = commandsOf(tree).flatMap(({ path, experimental }) => (experimental ? [path] : []));
  const isWrite = (each: string): boolean => writes.includes(words.get(each) ?? '');
  const elsewhere = wordsBelow(tree, '').get(word);
  const isMeant = ['', 'sandbox'].includes(group) || !writes.includes(elsewhere ?? '');
  const exact = words.get(word) ?? (isMeant ? elsewhere : undefined);
  if (exact !== undefined) return exact;
  const readsFirst = [...words.keys()].toSorted((a, b) => Number(isWrite(a)) - Number(isWrite(b)));
  const found = nearest(word, readsFirst) ?? '';
  const isFar = !found.startsWith(word) && slipsBetween(word, found) > 1;
  return isFar && isWrite(found) ? undefined : words.get(found);
}

/** Maps the words that may follow a group to paths, and those that may follow a group in it. */
function wordsBelow(tree: Tree, group: string): ReadonlyMap<string, string> {
  const outside = group === '' ? 0 : group.split(' ').length;
  const depthOf = (path: string): number => path.split(' ').length - outside;
  // `add` alone does not mean `proxy token add`.
  const paths = pathsOf(tree)
    .filter((path) => path !== '' && path.startsWith(group && `${group} `) && depthOf(path) <= 2)
    .toSorted((a, b) => depthOf(a) - depthOf(b));
  const words = new Map<string, string>();
  const add = (word: string, path: string): void => {
    if (!words.has(word)) words.set(word, path);
  };
  for (const path of paths) add(path.split(' ').at(-1)!, path);
  const list = paths.find((path) => path.endsWith(' list'));
  if (list !== undefined) for (const word of LIST_WORDS) add(word, list);
  return words;
}

/** Counts typos: extra, missing, wrong and swapped characters (optimal string alignment). */
function slipsBetween(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (isSame ? 0 : 1));
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) row[j] = Math.min(row[j]!, before[j - 2]! + 1);
    }
    [before, last] = [last, row];
  }
  return last[b.length]!;
}
