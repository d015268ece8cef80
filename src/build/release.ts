/**
 * Cuts a release: sets the version, moves the unreleased part of CHANGELOG.md below that version and today's date,
 * commits and tags. Does not publish: .github/workflows/release.yml does that once the tag has been pushed.
 *
 *   npm run release -- major|minor|patch|VERSION
 */
import { execFileSync, execSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cutChangelog, nextVersion } from './changelog.ts';
import { readPackage, ROOT } from './package.ts';

const CHANGELOG = join(ROOT, 'CHANGELOG.md');
/** Files that a release changes. */
const FILES = ['package.json', 'package-lock.json', 'CHANGELOG.md'];

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

function requireCleanTree(): void {
  const changed = git('status', '--porcelain');
  if (changed !== '') throw new Error(`There are changes that are not committed:\n${changed}`);
}

/** @throws if a test or check fails */
function requireGreen(): void {
  try {
    execSync('npm run check', { cwd: ROOT, stdio: 'inherit' });
  } catch {
    throw new Error('"npm run check" failed: only what passes is released.');
  }
  requireCleanTree();
}

function release(wanted: string): void {
  const version = nextVersion(readPackage(ROOT).version, wanted);
  const tag = `v${version}`;
  requireCleanTree();
  if (git('tag', '--list', tag) !== '') throw new Error(`The tag ${tag} exists.`);
  const changelog = cutChangelog(readFileSync(CHANGELOG, 'utf8'), version, new Date().toISOString().slice(0, 10));
  requireGreen();
  try {
    execSync(`npm version ${version} --no-git-tag-version --ignore-scripts`, { cwd: ROOT, stdio: 'pipe' });
    writeFileSync(CHANGELOG, changelog);
    git('commit', '--quiet', '--message', `Release ${version}`, '--', ...FILES);
  } catch (error) {
    git('checkout', '--quiet', 'HEAD', '--', ...FILES);
    throw error;
  }
  git('tag', '--annotate', '--message', `petstore ${version}`, tag);
  console.log(`Committed and tagged ${tag}. To publish it: git push --atomic origin HEAD ${tag}`);
}

try {
  release(process.argv[2] ?? '');
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
