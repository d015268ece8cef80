/** Suggestions for words that are almost right: the nearest option, topic or command. */
import { commandsOf, type Tree } from './help/tree.ts';

/** Returns the candidate that the word abbreviates, or the nearest within a slip or two; of equal ones the first. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const { length } = word.replace(/^-+/, '');
  if (length < 3) return undefined;
  const longer = candidates.filter((each) => each.startsWith(word));
  if (longer.length === 1) return longer[0];
  return candidates
    .map((each) => ({ each, slips: slipsBetween(word, each) }))
    .filter(({ slips }) => slips <= (length < 5 ? 1 : 2))
    .toSorted((a, b) => a.slips - b.slips)[0]?.each;
}

/** Other words for `list`, which people know from other programs. */
const LIST_WORDS = ['ls', 'get', 'show'];

/**
 * Returns the path of the command or group that `word` after `group` (`''`: at the start) was probably meant to name.
 * A command that changes stock is suggested for a single slip only, and never where another is as near.
 */
export function suggestCommand(tree: Tree, group: string, word: string): string | undefined {
  const words = wordsBelow(tree, group);
  const exact = words.get(word) ?? wordsBelow(tree, '').get(word);
  if (exact !== undefined) return exact;
  const writes = commandsOf(tree).flatMap(({ path, experimental }) => (experimental ? [path] : []));
  const isWrite = (each: string): boolean => writes.includes(words.get(each) ?? '');
  const found = nearest(
    word,
    [...words.keys()].toSorted((a, b) => Number(isWrite(a)) - Number(isWrite(b))),
  );
  if (found === undefined) return undefined;
  const isFar = !found.startsWith(word) && slipsBetween(word, found) > 1;
  return isFar && isWrite(found) ? undefined : words.get(found);
}

/** Returns what may follow a group, and at the start also the last words of all commands: word -> path. */
function wordsBelow(tree: Tree, group: string): ReadonlyMap<string, string> {
  const start = group === '' ? '' : `${group} `;
  const paths = commandsOf(tree).flatMap(({ path }) => (path.startsWith(start) ? [path] : []));
  const words = new Map<string, string>();
  const add = (word: string, path: string): void => {
    if (!words.has(word)) words.set(word, path);
  };
  for (const path of paths) {
    const next = path.slice(start.length).split(' ')[0]!;
    add(next, start + next);
  }
  for (const parent of new Set(paths.map((path) => path.split(' ').slice(0, -1).join(' ')))) {
    const own = paths.filter((path) => path.startsWith(`${parent} `));
    for (const path of own) add(path.slice(parent.length + 1), path);
    if (own.includes(`${parent} list`)) for (const word of LIST_WORDS) add(word, `${parent} list`);
  }
  return words;
}

/** Counts what is typed too much, too little, wrongly or in the wrong order (optimal string alignment). */
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
