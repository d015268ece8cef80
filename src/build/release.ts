/**
 * The part of a release that `npm version` does not do: moves the unreleased part of CHANGELOG.md below the new version
 * and today's date. `npm version` runs it twice, as `preversion` to find out that it can be done, and as `version`.
 * Does not publish: .github/workflows/release.yml does that once the tag has been pushed.
 *
 *   npm run release -- major|minor|patch|VERSION
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, sectionOf } from './package.ts';

const FILE = join(ROOT, 'CHANGELOG.md');
const { npm_lifecycle_event: event, npm_old_version: before = '', npm_new_version: version = '' } = process.env;

if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`${version} is not a version such as 1.2.3.`);
if (version.localeCompare(before, 'en', { numeric: true }) <= 0)
  throw new Error(`${version} is not higher than ${before}.`);
const text = readFileSync(FILE, 'utf8');
const unreleased = sectionOf(text, 'Unreleased');
if (unreleased === undefined) throw new Error('CHANGELOG.md has no heading "## Unreleased".');
if (unreleased === '') throw new Error('CHANGELOG.md has nothing below "Unreleased": there is nothing to release.');
if (sectionOf(text, version) !== undefined) throw new Error(`CHANGELOG.md already has ${version}.`);
// `Unreleased` stays, empty.
const heads = `## Unreleased\n\n## ${version} - ${new Date().toISOString().slice(0, 10)}\n`;
if (event === 'version') writeFileSync(FILE, text.replace('## Unreleased\n', heads));
