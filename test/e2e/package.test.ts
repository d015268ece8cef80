/** The published package: its contents, and that it installs and runs from the tarball alone. */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runPetstore, startPetstore } from '../support/binary.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

let folder: string;
let packed: Packed;

function npm(...args: string[]): string {
  // Scripts stay off: the build is there already, and an install must need none.
  return execFileSync('npm', [...args, '--ignore-scripts'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'petstore-pack-'));
  packed = (JSON.parse(npm('pack', '--json', '--pack-destination', folder)) as Packed[])[0]!;
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

it('holds the program, its licences and its papers, and nothing else', () => {
  const paths = packed.files.map(({ path }) => path);
  const others = paths.filter((path) => !/^dist\/[\w.-]+\.c?js$|^docs\//.test(path));
  expect(others.sort()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'bin/package.json',
    'bin/petstore.js',
    'bin/start.js',
    'completions/_petstore',
    'completions/petstore.bash',
    'completions/petstore.fish',
    'completions/petstore.ps1',
    'dist/THIRD-PARTY-LICENSES.txt',
    'dist/petstore.1',
    'package.json',
    'schemas.json',
  ]);
  expect(paths).toContain('dist/main.cjs');
  // Messages and help name these.
  expect(paths.filter((path) => path.startsWith('docs/')).sort()).toEqual(globSync('docs/*.md', { cwd: ROOT }).sort());
  expect(packed.size).toBeLessThan(1_000_000);
});

it('has metadata that publint finds nothing wrong with', async () => {
  const { messages } = await publint({ pkgDir: ROOT, strict: true });
  // It takes the word `import` in a text of ours for a statement.
  expect(messages.filter(({ code }) => code !== 'FILE_INVALID_EXPLICIT_FORMAT')).toEqual([]);
});

it('installs without a network and without scripts, and runs', async () => {
  const place = join(folder, 'place');
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), '{"private":true}');
  npm('install', '--prefix', place, '--offline', '--no-audit', '--no-fund', join(folder, packed.filename));
  const command = [process.execPath, join(place, 'node_modules', 'petstore-cli', 'bin', 'petstore.js')] as const;
  const version = await runPetstore(['--version'], { command: [...command], cwd: place });
  const list = await runPetstore(['--env', 'sandbox', 'inventory', 'list', '-o', 'ndjson'], {
    command: [...command],
    cwd: place,
  });
  expect({
    version: version.stdout,
    code: list.code,
    rows: list.stdout.split('\n').length - 1,
    stderr: list.stderr,
  }).toEqual({
    version: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string,
    code: 0,
    rows: 25,
    stderr: '',
  });
});

it.runIf(process.platform === 'linux')('a global install links the man page', () => {
  const prefix = join(folder, 'global');
  const options = ['--global', '--prefix', prefix, '--offline', '--no-audit', '--no-fund'];
  npm('install', ...options, join(folder, packed.filename));
  expect(realpathSync(join(prefix, 'share/man/man1/petstore.1'))).toMatch(/\/petstore-cli\/dist\/petstore\.1$/);
});

describe('on a Node that is too old', () => {
  /** Returns a checkout's, or an installed, bin/petstore.js on a Node that calls itself 20. */
  function oldNode(root: string): [string, ...string[]] {
    const file = join(folder, 'old.cjs');
    writeFileSync(file, "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });");
    return [process.execPath, '--require', file, join(root, 'bin', 'petstore.js')];
  }
  const LIST = ['--env', 'sandbox', 'inventory', 'list', '--pet', '7', '-o', 'csv'];
  const onOldNode = (root: string) => runPetstore(LIST, { command: oldNode(root) });

  it('runs on the one that came with the checkout', async () => {
    expect(await onOldNode(ROOT)).toMatchObject({ code: 0, stdout: 'petId,quantity,status\n7,10,available\n' });
  });

  it.runIf(process.platform === 'linux')(
    'and with it a closed stdout is an error, and a kill takes it along',
    async () => {
      const command = ['/bin/bash', '-c', '"$@" >&-; exit $?', 'bash', ...oldNode(ROOT)] as const;
      expect((await runPetstore(LIST, { command: [...command] })).code).toBe(3);
      const watch = ['--env', 'sandbox', 'inventory', 'list', '--pet', '7', '--watch'];
      const running = startPetstore(watch, { command: oldNode(ROOT) });
      await running.waitFor(/Watching 1 pet/, 'stderr');
      running.kill('SIGKILL');
      // Resolves once nobody has its stdout any more.
      await running.exited;
    },
  );

  it('says so in a sentence where no other Node is installed', async () => {
    const root = mkdtempSync(join(folder, 'installed-'));
    cpSync(join(ROOT, 'bin'), join(root, 'bin'), { recursive: true });
    expect(await onOldNode(root)).toMatchObject({
      code: 3,
      stdout: '',
      stderr: 'petstore needs Node 22.13 or newer, and this is Node 20.20.2. Install Node 22.13 or newer.\n',
    });
  });
});

it.each([
  ['no home', {}],
  ['a home that is a file', { HOME: '/dev/null' }],
  ['a home that is not there', { HOME: '/nowhere/at/all' }],
  ['a home that cannot be written to', { HOME: '/proc/self' }],
  ['a relative cache folder', { XDG_CACHE_HOME: 'cache' }],
])('starts with %s', async (_, env) => {
  const { code, stderr } = await runPetstore(['--version'], {
    env: { HOME: undefined, XDG_CACHE_HOME: undefined, ...env },
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});
