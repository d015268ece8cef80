/** Whether a command line asks for help, and on what: read without loading a command. */
import { childrenOf, optionsAt, type Tree, type TreeOption } from './tree.ts';

/**
 * The path of the command whose help is asked for: by -h or --help anywhere, or by naming no command at all.
 * Undefined: none is, or the line is none that could be helped with.
 */
export function helpWanted(tree: Tree, argv: readonly string[]): string | undefined {
  const { path, isAsked, isUnknown } = read(tree, argv);
  if (isAsked) return isUnknown === 'command' ? undefined : path;
  const isComplete = path !== '' && !(path in tree.groups);
  return isComplete || isUnknown !== undefined ? undefined : path;
}

interface Line {
  readonly path: string;
  readonly isAsked: boolean;
  readonly isUnknown?: 'command' | 'option';
}

function read(tree: Tree, argv: readonly string[]): Line {
  let path = '';
  let isAsked = false;
  let isUnknown: Line['isUnknown'];
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!;
    const children = childrenOf(tree, path);
    if (word === '--') {
      if (children.length > 0) isUnknown ??= 'command';
      break;
    }
    if (word === '-h' || word === '--help') isAsked = true;
    else if (word.startsWith('-') && word !== '-') {
      const option = optionIn(tree, path, word);
      if (option === undefined) isUnknown ??= 'option';
      // What follows is its value, and no command.
      else if (!word.includes('=') && option.value?.optional === false) i++;
    } else if (children.some(({ name }) => name === word)) path = path === '' ? word : `${path} ${word}`;
    else if (children.length > 0) isUnknown ??= 'command';
  }
  return { path, isAsked, ...(isUnknown !== undefined && { isUnknown }) };
}

function optionIn(tree: Tree, path: string, word: string): TreeOption | undefined {
  const name = word.split('=')[0]!;
  return optionsAt(tree, path).find(({ names }) => names.includes(name));
}
