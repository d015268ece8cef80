/** The published packages: their contents, and that each installs and runs alone. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runPetstore, startPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';

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

const isThere = (program: string): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
const isRoot = process.getuid?.() === 0;
const canInstall = isThere('dpkg-deb') && (isRoot || isThere('fakeroot'));
if (!canInstall) process.stderr.write('Skipped: the Debian package; dpkg-deb, and root or fakeroot, are not there.\n');

it.skipIf(!canInstall)(
  'the Debian package installs, runs, brings man page and completions, and leaves nothing',
  async () => {
    const place = join(folder, 'debian');
    // A system of its own, whose Node comes from elsewhere.
    const root = join(place, 'root');
    mkdirSync(join(root, 'var/lib/dpkg/info'), { recursive: true });
    mkdirSync(join(root, 'var/lib/dpkg/updates'));
    writeFileSync(join(root, 'var/lib/dpkg/status'), '');
    execFileSync(process.execPath, [join(ROOT, 'src/build/deb.ts'), place], { stdio: 'ignore' });
    const dpkg = (...args: string[]): void => {
      const all = [`--root=${root}`, '--force-depends', '--force-not-root', '--log=/dev/null', ...args];
      const [program, first] = isRoot ? ['dpkg', all] : ['fakeroot', ['dpkg', ...all]];
      const { PATH = '' } = process.env;
      execFileSync(program, first, { stdio: 'ignore', env: { PATH: `${PATH}:/usr/sbin:/sbin` } });
    };
    const files = (): string[] =>
      readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((path) => !path.startsWith('var/') && !lstatSync(join(root, path)).isDirectory())
        .sort();

    const name = readdirSync(place).find((each) => each.endsWith('.deb')) ?? '';
    expect(name).toMatch(/^petstore_\d+\.\d+\.\d+_all\.deb$/);
    dpkg('-i', join(place, name));
    expect(files().filter((path) => !/^usr\/lib\/petstore\/dist\/|\/docs\/(?!scale)/.test(path))).toEqual([
      'usr/bin/petstore',
      'usr/lib/petstore/bin/package.json',
      'usr/lib/petstore/bin/petstore.js',
      'usr/lib/petstore/bin/start.js',
      'usr/lib/petstore/package.json',
      'usr/share/bash-completion/completions/petstore',
      'usr/share/doc/petstore/changelog.gz',
      'usr/share/doc/petstore/copyright',
      'usr/share/doc/petstore/docs/scale.md',
      'usr/share/fish/vendor_completions.d/petstore.fish',
      'usr/share/man/man1/petstore.1.gz',
      'usr/share/zsh/vendor-completions/_petstore',
    ]);
    const { code, stdout } = await runPetstore(['--env', 'sandbox', 'inventory', 'list', '--pet', '7', '--json'], {
      command: [process.execPath, join(root, 'usr/bin/petstore')],
    });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, [{ petId: 7 }]]);
    dpkg('-r', 'petstore');
    expect(files()).toEqual([]);
  },
);

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
])('starts with %s, and writes nowhere else', async (_, env) => {
  const home = createHome();
  const before = readdirSync(home.path);
  const { code, stderr } = await runPetstore(['--version'], {
    cwd: home.path,
    env: { HOME: undefined, XDG_CACHE_HOME: undefined, ...env },
  });
  expect({ code, stderr, left: readdirSync(home.path) }).toEqual({ code: 0, stderr: '', left: before });
});
