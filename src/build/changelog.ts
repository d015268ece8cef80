/** Reads and cuts CHANGELOG.md, which people keep in the form of Keep a Changelog, for a release and its notes. */

const UNRELEASED = '## Unreleased';

/** Returns the text below the heading `## Unreleased` or `## 1.2.3 - 2026-11-22`. */
export function sectionOf(text: string, name: string): string | undefined {
  const parts = text.split(/^(?=## )/m);
  const part = parts.find((each) => each.startsWith(`## ${name}\n`) || each.startsWith(`## ${name} - `));
  return part?.slice(part.indexOf('\n')).trim();
}

/**
 * Moves the unreleased text below a heading with the version and the date (YYYY-MM-DD). `Unreleased` stays, empty.
 * @throws if nothing is unreleased, or the version already exists
 */
export function cutChangelog(text: string, version: string, date: string): string {
  const unreleased = sectionOf(text, 'Unreleased');
  if (unreleased === undefined) throw new Error(`CHANGELOG.md has no heading "${UNRELEASED}".`);
  if (unreleased === '') throw new Error('CHANGELOG.md has nothing below "Unreleased": there is nothing to release.');
  if (sectionOf(text, version) !== undefined) throw new Error(`CHANGELOG.md already has ${version}.`);
  return text.replace(`${UNRELEASED}\n`, () => `${UNRELEASED}\n\n## ${version} - ${date}\n`);
}

/** @throws if `version` is not a release after `before` */
export function requireHigher(version: string, before: string): void {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`${version} is not a version such as 1.2.3.`);
  if (version.localeCompare(before, 'en', { numeric: true }) <= 0)
    throw new Error(`${version} is not higher than ${before}.`);
}
