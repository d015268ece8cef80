/** Distribution other than npm: the Debian package and the release workflow. */
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
      command: [process.execPath, join(folder, 'root/usr/bin/petstore')],
    });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, [{ petId: 7 }]]);
    dpkg('-r', 'petstore');
    expect(files()).toEqual([]);
  });
});

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}
interface Workflow {
  readonly permissions: object;
  readonly jobs: Readonly<
    Record<
      string,
      { readonly permissions?: object; readonly needs?: readonly string[]; readonly steps: readonly Step[] }
    >
  >;
}
const WORKFLOWS = join(ROOT, '.github/workflows');
const textOf = (name: string): string => readFileSync(join(WORKFLOWS, name), 'utf8');

describe.each(readdirSync(WORKFLOWS).map((name) => [name]))('the workflow %s', (name) => {
  const { permissions, jobs } = parse(textOf(name)) as Workflow;

  it('names every action by its hash, with the version beside it', () => {
    const used = textOf(name).match(/uses: .*/g) ?? [];
    expect(used.length).toBeGreaterThan(2);
    expect(used.filter((each) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(each))).toEqual([]);
  });

  it('installs what the lockfile says, and gives the checkout no credentials', () => {
    const steps = Object.values(jobs).flatMap((job) => job.steps);
    const lines = steps.flatMap(({ run }) => run?.split('\n') ?? []);
    // What was packed here has no dependencies.
    const installs = lines.filter((line) => /\bnpm (i|install|add|exec)\b|\bnpx\b/.test(line));
    expect(installs.filter((line) => !line.endsWith('install --global ./packed/petstore-cli-*.tgz'))).toEqual([]);
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts.map((step) => step.with?.['persist-credentials'])).toEqual(checkouts.map(() => false));
  });

  it('may only read, unless a job says otherwise', () => {
    expect(permissions).toBeOneOf([{}, { contents: 'read' }]);
  });
});

describe('the release workflow', () => {
  const { jobs } = parse(textOf('release.yml')) as Workflow;
  const { publish, ...others } = jobs;

  it('publishes only what has passed, with provenance and without a token', () => {
    expect(publish!.needs).toEqual(Object.keys(others));
    expect(others.packages!.steps.map(({ run }) => run)).toContain('npm run check');
    const npm = publish!.steps.find(({ run }) => run?.startsWith('npm publish'));
    expect(npm?.env).toEqual({ NPM_CONFIG_PROVENANCE: 'true' });
    expect(textOf('release.yml')).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN|secrets\./);
  });

  it('writes in the last job alone, which runs nothing of the repository', () => {
    expect(publish!.permissions).toEqual({ contents: 'write', 'id-token': 'write', attestations: 'write' });
    expect(Object.values(others).map((job) => job.permissions)).toEqual([{ contents: 'read' }, { contents: 'read' }]);
    const text = JSON.stringify(publish!.steps);
    expect(text).not.toMatch(/actions\/checkout|npm (ci|run)|node /);
  });
});
