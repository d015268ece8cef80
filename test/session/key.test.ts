/** Valid keys, and how a key command is split into words. */
import { describe, expect, it } from 'vitest';
import { splitWords } from '../../src/cli/value-parsers.ts';
import { checkKey } from '../../src/session/resolve.ts';

describe('a key', () => {
  it.each([
    ['', { problem: 'is empty' }],
    ['key\n', { problem: 'contains a line break' }],
    ['key\r', { problem: 'contains a line break' }],
    ['a\tkey', { problem: 'contains white space' }],
    ['schlüssel', { problem: 'contains a character that is not plain ASCII' }],
    ['key\u0007', { problem: 'contains a character that is not plain ASCII' }],
    ['\ufffd\ufffdk\0e\0y\0', { problem: 'looks like UTF-16', hint: 'Save it as UTF-8.' }],
    ['k\0e\0y\0', { problem: 'looks like UTF-16', hint: 'Save it as UTF-8.' }],
  ])('%j: %j', (key, facts) => {
    const failure = { kind: 'key-malformed', details: { source: 'stdin', ...facts } };
    expect(() => {
      checkKey(key, 'stdin');
    }).toThrow(expect.objectContaining(failure) as Error);
  });

  it('is any visible ASCII', () => {
    const visible = Array.from({ length: 0x7f - 0x21 }, (_each, index) => String.fromCharCode(0x21 + index)).join('');
    expect(() => {
      checkKey(visible, 'stdin');
    }).not.toThrow();
  });
});

describe('splitWords', () => {
  it.each<[command: string, words: string[]]>([
    ['pass show petstore/staging', ['pass', 'show', 'petstore/staging']],
    ['  pass   show\tx  ', ['pass', 'show', 'x']],
    ["security find-generic-password -s 'my store' -w", ['security', 'find-generic-password', '-s', 'my store', '-w']],
    ['op read "op://Private/pet store/key"', ['op', 'read', 'op://Private/pet store/key']],
    [`a'b c'"d e"\\ f`, ['ab cd e f']],
    [`x '' ""`, ['x', '', '']],
    [`x "a\\"b\\\\c\\d" 'e\\f'`, ['x', 'a"b\\c\\d', 'e\\f']],
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
