/** How an editor is started on each system; test/e2e/ tests the rest on Linux. */
import { describe, expect, it } from 'vitest';
import { editorStart } from '../../src/node/user-programs.ts';

const FILE = 'C:\\Users\\A & B\\AppData\\Local/petstore/edit/stock-1.csv';

describe('an editor', () => {
  it.each([
    [{}, 'vi', undefined],
    [{ EDITOR: 'nano' }, 'nano', 'EDITOR'],
    [{ VISUAL: 'code --wait', EDITOR: 'nano' }, 'code --wait', 'VISUAL'],
    [{ VISUAL: '', EDITOR: 'nano' }, 'nano', 'EDITOR'],
  ])('on Linux and macOS with %j is %s', (env, command, variable) => {
    for (const platform of ['linux', 'darwin']) {
      const start = editorStart(platform, env, '/tmp/a b.csv');
      expect([start.command, start.variable]).toEqual([command, variable]);
      const [option, line, ...rest] = start.args;
      expect([start.file, option, ...rest]).toEqual(['/bin/sh', '-c', 'sh', '/tmp/a b.csv']);
      expect(line).toMatch(new RegExp(`(^|; |; exec )${command} "\\$1"$`));
    }
  });

  it('on Windows is Notepad, or the one that is named, by cmd.exe; the path is in a variable', () => {
    const { command, file, args, env } = editorStart('win32', { ComSpec: 'C:\\cmd.exe', A: '1' }, FILE);
    expect([command, file, args]).toEqual([
      'notepad',
      'C:\\cmd.exe',
      ['/d', '/s', '/c', '"notepad "%PETSTORE_EDITED_FILE%""'],
    ]);
    expect([env.A, env.PETSTORE_EDITED_FILE]).toEqual(['1', FILE.replaceAll('/', '\\')]);
    const named = editorStart('win32', { EDITOR: '"C:\\Program Files\\x.exe" --wait' }, FILE);
    expect([named.file, named.args]).toEqual([
      'cmd.exe',
      ['/d', '/s', '/c', '""C:\\Program Files\\x.exe" --wait "%PETSTORE_EDITED_FILE%""'],
    ]);
  });
});
