/** How a key command is split into words. */
import { describe, expect, it } from 'vitest';
import { splitWords } from '../../src/value-parsers.ts';

describe('splitWords', () => {
  it.each<[command: string, words: string[]]>([
    ['pass show petstore/staging', ['pass', 'show', 'petstore/staging']],
    ['  pass   show\tx  ', ['pass', 'show', 'x']],
    ["security find-generic-password -s 'my store' -w", ['security', 'find-generic-password', '-s', 'my store', '-w']],
    ['op read "op://Private/pet store/key"', ['op', 'read', 'op://Private/pet store/key']],
    [`a'b c'"d e"\\ f`, ['ab cd e f']],
    [`x '' ""`, ['x', '', '']],
    [`x "a\\"b\\\\c\\d" 'e\\f'`, ['x', 'a"b\\c\\d', 'e\\f']],
    ['sh -c "echo \\$HOME \\`id\\` $x" \\$y', ['sh', '-c', 'echo $HOME `id` $x', '$y']],
    [`tr "\\n" \\"`, ['tr', '\\n', '"']],
    [`sh -c 'pass show x | head -n 1'`, ['sh', '-c', 'pass show x | head -n 1']],
    ['x $HOME ~ * `id` $(id) | y; z > w', ['x', '$HOME', '~', '*', '`id`', '$(id)', '|', 'y;', 'z', '>', 'w']],
    ['/opt/schlüssel 鍵', ['/opt/schlüssel', '鍵']],
  ])('%s', (command, words) => {
    expect(splitWords(command)).toEqual(words);
  });

  it.each<[command: string, words: string[]]>([
    ['C:\\Tools\\op.exe read op://a/b', ['C:\\Tools\\op.exe', 'read', 'op://a/b']],
    ['"C:\\Program Files\\op.exe" read', ['C:\\Program Files\\op.exe', 'read']],
    ["'\\\\server\\a b\\' x", ['\\\\server\\a b\\', 'x']],
    ['"\\\\server\\a" x', ['\\\\server\\a', 'x']],
    ['x "a b"c', ['x', 'a bc']],
  ])('on Windows, where paths have backslashes: %s', (command, words) => {
    expect(splitWords(command, 'win32')).toEqual(words);
  });

  it.each(['', '   ', "''", "x 'y", 'x "y', 'x y\\', 'x\ny', 'x\0'])('%j is refused', (command) => {
    expect(() => splitWords(command)).toThrow(expect.objectContaining({ kind: 'invalid-value' }) as Error);
  });
});
