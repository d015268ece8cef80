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

/**
 * Returns the version after `current`: with that part raised, or `wanted` itself.
 * @throws if `wanted` is neither a part nor a higher version
 */
export function nextVersion(current: string, wanted: string): string {
  const [major = 0, minor = 0, patch = 0] = current.split('.').map(Number);
  const raised = new Map([
    ['major', `${major + 1}.0.0`],
    ['minor', `${major}.${minor + 1}.0`],
    ['patch', `${major}.${minor}.${patch + 1}`],
  ]);
  const next = raised.get(wanted) ?? wanted;
  if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(next)) {
    throw new Error(`"${wanted}" is not a version: use major, minor, patch or a version such as 1.2.3.`);
  }
  if (next.localeCompare(current, 'en', { numeric: true }) <= 0) {
    throw new Error(`${wanted} is not higher than ${current}.`);
  }
  return next;
}
