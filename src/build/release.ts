/**
 * The part of a release that `npm version` does not do: moves the unreleased part of CHANGELOG.md below the new version
 * and today's date. `npm version` runs it twice, as `preversion` to find out that it can be done, and as `version`.
 * Does not publish: .github/workflows/release.yml does that once the tag has been pushed.
 *
 *   npm run release -- major|minor|patch|VERSION
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cutChangelog, requireHigher } from './changelog.ts';
import { ROOT } from './package.ts';

const FILE = join(ROOT, 'CHANGELOG.md');
const { npm_lifecycle_event: event, npm_old_version: before = '', npm_new_version: version = '' } = process.env;

requireHigher(version, before);
const changelog = cutChangelog(readFileSync(FILE, 'utf8'), version, new Date().toISOString().slice(0, 10));
if (event === 'version') writeFileSync(FILE, changelog);
