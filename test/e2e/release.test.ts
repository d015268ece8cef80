/** How petstore gets to its users beside npm: the Debian package, and the workflow that publishes. */
import { execFileSync, spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runPetstore } from '../support/binary.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const isThere = (program: string): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
const isRoot = process.getuid?.() === 0;
const canInstall = isThere('dpkg-deb') && (isRoot || isThere('fakeroot'));
if (!canInstall) process.stderr.write('Skipped: the Debian package; dpkg-deb, and root or fakeroot, are not there.\n');

describe.skipIf(!canInstall)('the Debian package', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-deb-test-'));
    mkdirSync(join(folder, 'root/var/lib/dpkg/info'), { recursive: true });
    mkdirSync(join(folder, 'root/var/lib/dpkg/updates'));
    writeFileSync(join(folder, 'root/var/lib/dpkg/status'), '');
    execFileSync(process.execPath, [join(ROOT, 'src/build/deb.ts'), folder], { stdio: 'ignore' });
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** On a system of its own below the folder. Its Node comes from elsewhere. */
  function dpkg(...args: string[]): void {
    const all = [`--root=${join(folder, 'root')}`, '--force-depends', '--force-not-root', '--log=/dev/null', ...args];
    const [program, first] = isRoot ? ['dpkg', all] : ['fakeroot', ['dpkg', ...all]];
    const { PATH = '' } = process.env;
    execFileSync(program, first, { stdio: 'ignore', env: { PATH: `${PATH}:/usr/sbin:/sbin` } });
  }

  const files = (): string[] =>
    readdirSync(join(folder, 'root'), { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.startsWith('var/') && !lstatSync(join(folder, 'root', path)).isDirectory())
      .sort();

  it('is installed, runs, brings man page and completions, and leaves nothing behind', async () => {
    const name = readdirSync(folder).find((each) => each.endsWith('.deb')) ?? '';
    expect(name).toMatch(/^petstore_\d+\.\d+\.\d+_all\.deb$/);
    dpkg('-i', join(folder, name));
    expect(files().filter((path) => !path.startsWith('usr/lib/petstore/dist/'))).toEqual([
      'usr/bin/petstore',
      'usr/lib/petstore/bin/package.json',
      'usr/lib/petstore/bin/petstore.js',
      'usr/lib/petstore/bin/start.js',
      'usr/lib/petstore/package.json',
      'usr/share/bash-completion/completions/petstore',
      'usr/share/doc/petstore/changelog.gz',
      'usr/share/doc/petstore/copyright',
      'usr/share/fish/vendor_completions.d/petstore.fish',
      'usr/share/man/man1/petstore.1.gz',
      'usr/share/zsh/vendor-completions/_petstore',
    ]);
    const { code, stdout } = await runPetstore(['--env', 'sandbox', 'inventory', 'list', '--pet', '7', '--json'], {
      command: [process.execPath, join(folder, 'root/usr/bin/petstore')],
    });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, [{ petId: 7 }]]);
    dpkg('-r', 'petstore');
    expect(files()).toEqual([]);
  });
});

describe('the release workflow', () => {
  interface Step {
    readonly uses?: string;
    readonly run?: string;
    readonly with?: Readonly<Record<string, string>>;
    readonly env?: Readonly<Record<string, string>>;
  }
  const workflow = parse(readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8')) as {
    permissions: object;
    jobs: { release: { permissions: Readonly<Record<string, string>>; steps: readonly Step[] } };
  };
  const { permissions, steps } = workflow.jobs.release;

  it('names every action by its hash, with the version beside it', () => {
    const text = readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8');
    const used = text.match(/uses: .*/g) ?? [];
    expect(used.length).toBeGreaterThan(2);
    expect(used.filter((each) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(each))).toEqual([]);
  });

  it('may no more than it needs, carries provenance, and publishes only what has passed', () => {
    expect(workflow.permissions).toEqual({});
    expect(permissions).toEqual({ contents: 'write', 'pull-requests': 'write', 'id-token': 'write' });
    const publishes = steps.findIndex((step) => step.with?.publish !== undefined);
    expect(steps[publishes]?.env).toMatchObject({ NPM_CONFIG_PROVENANCE: 'true' });
    expect(steps.findIndex(({ run }) => run === 'npm run check')).toBeLessThan(publishes);
    expect(JSON.stringify(steps)).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN/);
  });
});
