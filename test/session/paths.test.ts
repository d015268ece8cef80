/** The folders on each system; docs/configuration.md has the same table. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { absolutePath, configFolder, fileName, sandboxFile, stateFolder } from '../../src/session/paths.ts';
import { createTestContext } from '../support/test-context.ts';

type Env = Readonly<Record<string, string>>;

const NO_XDG = { XDG_CONFIG_HOME: undefined, XDG_STATE_HOME: undefined };

function on(platform: string, home: string | undefined, env: Env = {}) {
  return createTestContext({
    env: { ...NO_XDG, ...env },
    machine: { platform, home, cwd: platform === 'win32' ? 'C:\\shop' : '/shop' },
  });
}

const ROAMING = 'C:\\Users\\A\\AppData\\Roaming';
const LOCAL = 'C:\\Users\\A\\AppData\\Local';
const WINDOWS = { APPDATA: ROAMING, LOCALAPPDATA: LOCAL };

describe('the folders', () => {
  it.each<[what: string, platform: string, env: Env, config: string, state: string]>([
    ['Linux', 'linux', {}, '/home/a/.config', '/home/a/.local/state'],
    ['Linux with the variables of Windows', 'linux', WINDOWS, '/home/a/.config', '/home/a/.local/state'],
    ['macOS', 'darwin', {}, '/home/a/.config', '/home/a/.local/state'],
    ['Linux with XDG', 'linux', { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s' }, '/c', '/s'],
    [
      'a relative XDG',
      'linux',
      { XDG_CONFIG_HOME: 'c', XDG_STATE_HOME: '' },
      '/home/a/.config',
      '/home/a/.local/state',
    ],
    ['Windows', 'win32', WINDOWS, ROAMING, LOCAL],
    ['Windows with XDG', 'win32', { XDG_CONFIG_HOME: 'D:\\c', XDG_STATE_HOME: '\\\\b\\s' }, 'D:\\c', '\\\\b\\s'],
    ['Windows, a relative XDG', 'win32', { ...WINDOWS, XDG_CONFIG_HOME: 'C:c', XDG_STATE_HOME: 's' }, ROAMING, LOCAL],
    ['Windows without its variables', 'win32', {}, 'C:\\Users\\A\\.config', 'C:\\Users\\A\\.local\\state'],
  ])('of %s', (_what, platform, env, config, state) => {
    const isWindows = platform === 'win32';
    const slash = isWindows ? '\\' : '/';
    const context = on(platform, isWindows ? 'C:\\Users\\A' : '/home/a', env);
    const folders = [configFolder(context), stateFolder(context)];
    expect(folders).toEqual([`${config}${slash}petstore`, `${state}${slash}petstore`]);
    expect(sandboxFile(context)).toBe(`${state}${slash}petstore${slash}sandbox.db`);
  });

  it.each(['linux', 'darwin'])('of %s need a home', (platform) => {
    expect(() => stateFolder(on(platform, undefined))).toThrow(expect.objectContaining({ kind: 'no-home' }) as Error);
  });

  it('are in the table of docs/configuration.md', () => {
    const page = readFileSync(fileURLToPath(new URL('../../docs/configuration.md', import.meta.url)), 'utf8');
    for (const [home, platform, env] of [
      ['~', 'linux', {}],
      ['%USERPROFILE%', 'win32', { APPDATA: '%APPDATA%', LOCALAPPDATA: '%LOCALAPPDATA%' }],
    ] as const) {
      const context = on(platform, home, env);
      const slash = platform === 'win32' ? '\\' : '/';
      for (const folder of [configFolder(context), stateFolder(context)]) {
        expect(page).toContain(`\`${folder.replaceAll('/', slash)}${slash}`);
      }
    }
  });
});

describe('a file that the user names', () => {
  it.each([
    ['linux', '/data/a.csv', '/data/a.csv'],
    ['linux', 'C:\\a.csv', '/shop/C:\\a.csv'],
    ['win32', 'C:\\a.csv', 'C:\\a.csv'],
    ['linux', './b/../a.csv', '/shop/a.csv'],
    ['win32', 'C:/a.csv', 'C:\\a.csv'],
    ['win32', '\\\\server\\share\\a.csv', '\\\\server\\share\\a.csv'],
    ['win32', 'a.csv', 'C:\\shop\\a.csv'],
    ['win32', '..\\a.csv', 'C:\\a.csv'],
  ])('on %s, %s is %s', (platform, path, expected) => {
    expect(absolutePath(on(platform, '/home/a'), path)).toBe(expected);
  });

  it.each([
    ['/data/a.csv', 'a.csv'],
    ['/data/a\\b.csv', 'a\\b.csv'],
    ['C:\\data\\a.csv', 'a.csv'],
    ['C:\\shop\\data/a.csv', 'a.csv'],
    ['\\\\server\\data\\a.csv', 'a.csv'],
    ['-', '-'],
  ])('%s has the name %s', (path, name) => {
    expect(fileName(path)).toBe(name);
  });
});
