/**
 * A release from end to end, in a copy of the checkout: `npm run release`, then the workflow's own commands.
 * test/e2e/package.test.ts installs the package.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runPetstore } from '../support/binary.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const git = (args: readonly string[], cwd = ROOT) => spawnSync('git', args, { cwd, encoding: 'utf8' });
const missing = [
  ...(spawnSync('dpkg-deb', ['--version']).status === 0 ? [] : ['dpkg-deb']),
  ...(git(['rev-parse']).status === 0 ? [] : ['a checkout of git']),
];
if (missing.length > 0) process.stderr.write(`Skipped: a release from end to end; missing: ${missing.join(', ')}.\n`);

/** The version before the release, and after. */
const { version: before } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const after = before.replace(
  /^(\d+)\.(\d+)\..*/,
  (_all, major: string, minor: string) => `${major}.${Number(minor) + 1}.0`,
);

/** Empty folders, no registry, and nothing of this machine's npm or git. */
function environment(folder: string): Record<string, string> {
  return {
    PATH: `${join(folder, 'bin')}:${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
    HOME: folder,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_AUTHOR_NAME: 'A',
    GIT_AUTHOR_EMAIL: 'a@localhost',
    GIT_COMMITTER_NAME: 'A',
    GIT_COMMITTER_EMAIL: 'a@localhost',
    GITHUB_REF_NAME: `v${after}`,
    GITHUB_SERVER_URL: 'https://forge.example',
    GITHUB_REPOSITORY: 'shop/petstore',
    npm_config_offline: 'true',
    npm_config_userconfig: join(folder, 'npmrc'),
    npm_config_cache: join(folder, 'npm-cache'),
    npm_config_update_notifier: 'false',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  };
}

const LONG = ['npm ci', 'npm run setup:tests', 'npm run check'];

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

/** On a machine that has much else to do. */
const SLOW_MS = 120_000;

describe.skipIf(missing.length > 0)('a release', { timeout: SLOW_MS }, () => {
  let folder: string;
  let clone: string;
  let env: Record<string, string>;

  const run = (command: readonly [string, ...string[]], cwd = clone) =>
    runPetstore([], { command, cwd, env, killAfterMs: SLOW_MS });
  const gitInClone = (...args: string[]): string =>
    execFileSync('git', args, { cwd: clone, encoding: 'utf8', env }).trim();
  const release = (wanted: string) => run(['npm', 'run', 'release', '--', wanted]);
  const json = (...path: string[]) => JSON.parse(readFileSync(join(...path), 'utf8')) as Record<string, unknown>;
  /** Runs the lines of a job of the workflow, but those that install and test the whole checkout. */
  async function runJob(name: string): Promise<void> {
    const { jobs } = parse(readFileSync(join(clone, '.github/workflows/release.yml'), 'utf8')) as Workflow;
    const lines = jobs[name]!.steps.flatMap(({ run: line }) => line ?? []).filter((line) => !LONG.includes(line));
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) {
      const { code, stdout, stderr } = await run(['bash', '-e', '-c', line]);
      expect([line, code, code === 0 ? '' : stdout + stderr]).toEqual([line, 0, '']);
    }
  }
  /** In place of the long check of the copy. */
  function setCheck(script: string): void {
    const file = join(clone, 'package.json');
    const content = JSON.parse(readFileSync(file, 'utf8')) as { scripts: Record<string, string> };
    writeFileSync(file, `${JSON.stringify({ ...content, scripts: { ...content.scripts, check: script } }, null, 2)}\n`);
    gitInClone('commit', '--quiet', '--all', '--message', 'Check');
  }

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-publish-'));
    clone = join(folder, 'petstore');
    env = environment(folder);
    // What is not committed yet is tried too.
    const files = git(['ls-files', '--cached', '--others', '--exclude-standard', '-z']).stdout.split('\0');
    for (const file of files) {
      if (file !== '' && existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(clone, file));
    }
    symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
    gitInClone('init', '--quiet');
    writeFileSync(join(clone, '.git/info/exclude'), '/node_modules\n');
    gitInClone('add', '--all');
    gitInClone('commit', '--quiet', '--message', 'All');

    // What publishes only notes how it was called.
    const note = (name: string): string => `printf '%s\\n' "$@" > '${folder}/${name}-called'`;
    const npm = execFileSync('which', ['npm'], { encoding: 'utf8' }).trim();
    mkdirSync(join(folder, 'bin'));
    for (const [name, script] of [
      ['gh', note('gh')],
      ['npm', `[ "$1" = publish ] || exec '${npm}' "$@"\n${note('npm')}`],
    ] as const) {
      writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('is refused where something is not committed, a check fails or nothing is unreleased, and changes nothing', async () => {
    const head = gitInClone('rev-parse', 'HEAD');
    writeFileSync(join(clone, 'LICENSE'), '');
    const dirty = await release('minor');
    gitInClone('checkout', '--quiet', 'LICENSE');
    expect([dirty.code, dirty.stderr]).toEqual([1, expect.stringContaining('Git working directory not clean')]);
    expect((await release('0.0.1')).stderr).toContain('0.0.1 is not higher');
    setCheck('echo red && exit 1');
    const red = await release('minor');
    expect([red.code, red.stderr]).toEqual([1, expect.stringContaining('npm error command failed')]);
    expect([gitInClone('rev-parse', 'HEAD^'), gitInClone('status', '--porcelain'), gitInClone('tag')]).toEqual([
      head,
      '',
      '',
    ]);
  });

  it('sets the version, cuts the changelog, commits and tags', async () => {
    setCheck('echo green');
    const day = new Date().toISOString().slice(0, 10);
    const done = await release('minor');
    expect(done.code).toBe(0);
    expect(done.stdout).toContain(`git push --atomic origin HEAD v${after}`);
    expect(gitInClone('rev-parse', `v${after}^{commit}`)).toBe(gitInClone('rev-parse', 'HEAD'));
    expect(gitInClone('show', '--format=%s', '--name-only').split('\n').filter(Boolean)).toEqual([
      `Release ${after}`,
      'CHANGELOG.md',
      'package-lock.json',
      'package.json',
    ]);
    const lock = json(clone, 'package-lock.json');
    const own = (lock.packages as Record<string, { version: string }>)['']!.version;
    expect([json(clone, 'package.json').version, lock.version, own]).toEqual([after, after, after]);
    const changelog = readFileSync(join(clone, 'CHANGELOG.md'), 'utf8');
    const today = new Date().toISOString().slice(0, 10);
    expect(changelog).toMatch(new RegExp(`^## Unreleased\n\n## ${after} - (${day}|${today})\n\n### `, 'm'));
    expect((await release('minor')).stderr).toContain('there is nothing to release');
  });

  it('is built and published by the commands of the workflow', async () => {
    await runJob('packages');
    // Built by another job, on machines of both kinds.
    const executables = ['petstore-linux-arm64', 'petstore-linux-x64'];
    for (const name of executables) writeFileSync(join(clone, 'release', name), name);
    await runJob('publish');

    const published = [
      `petstore-${after}.cdx.json`,
      `petstore-cli-${after}.tgz`,
      ...executables,
      `petstore_${after}_all.deb`,
    ];
    expect(readdirSync(join(clone, 'release')).sort()).toEqual(['SHA256SUMS', ...published]);
    const sums = await run(['sha256sum', '--check', '--strict', 'SHA256SUMS'], join(clone, 'release'));
    expect(sums.stdout.split('\n').filter(Boolean)).toEqual(published.map((name) => `${name}: OK`));
    const called = (name: string) => readFileSync(join(folder, `${name}-called`), 'utf8').split('\n');
    expect(called('gh').slice(0, 5)).toEqual(['release', 'create', `v${after}`, '--verify-tag', '--title']);
    const [tarball] = published.filter((name) => name.endsWith('.tgz'));
    expect(called('npm')).toEqual(['publish', `./release/${tarball}`, '--access', 'public', '']);
    expect(readFileSync(join(clone, 'NOTES.md'), 'utf8')).toMatch(/^### /);
    expect(JSON.stringify(json(clone, 'release', `petstore-${after}.cdx.json`).components)).toContain(
      'pkg:npm/undici@',
    );

    const manifest = await run(['tar', '-xzOf', `release/${tarball}`, 'package/package.json']);
    const repository = { type: 'git', url: 'git+https://forge.example/shop/petstore.git' };
    expect(JSON.parse(manifest.stdout)).toMatchObject({ version: after, repository });
  });
});
