import { describe, expect, it } from 'vitest';
import { cutChangelog, nextVersion, sectionOf } from '../../src/build/changelog.ts';

const CHANGELOG = `# Changelog

## Unreleased

### Added

- A thing that costs $1 & more.

## 0.1.0 - 2026-01-02

- The first.
`;

describe('the changelog', () => {
  it('is cut: what was unreleased gets the version and the date, and the rest stays', () => {
    const cut = cutChangelog(CHANGELOG, '0.2.0', '2026-11-22');
    expect(cut).toBe(CHANGELOG.replace('## Unreleased\n', () => '## Unreleased\n\n## 0.2.0 - 2026-11-22\n'));
    expect(sectionOf(cut, 'Unreleased')).toBe('');
    expect(sectionOf(cut, '0.2.0')).toBe('### Added\n\n- A thing that costs $1 & more.');
    expect(sectionOf(cut, '0.1.0')).toBe('- The first.');
  });

  it.each([
    ['has no Unreleased', '# Changelog\n', '0.2.0', 'no heading "## Unreleased"'],
    [
      'has nothing unreleased',
      '# Changelog\n\n## Unreleased\n\n## 0.1.0 - 2026-01-02\n',
      '0.2.0',
      'nothing to release',
    ],
    ['has the version', CHANGELOG, '0.1.0', 'already has 0.1.0'],
  ])('is refused where it %s', (_what, text, version, problem) => {
    expect(() => cutChangelog(text, version, '2026-11-22')).toThrow(problem);
  });

  it('does not take 0.1.01 for 0.1.0', () => {
    expect(sectionOf('## 0.1.01 - 2026-01-01\n\nx\n', '0.1.0')).toBeUndefined();
  });
});

describe('the next version', () => {
  it.each([
    ['1.2.3', 'major', '2.0.0'],
    ['1.2.3', 'minor', '1.3.0'],
    ['1.2.3', 'patch', '1.2.4'],
    ['1.2.3', '1.10.0', '1.10.0'],
    ['1.2.3', '2.0.0', '2.0.0'],
  ])('after %s, for %s, is %s', (current, wanted, next) => {
    expect(nextVersion(current, wanted)).toBe(next);
  });

  it.each([
    ['1.2.3', 'not higher'],
    ['1.1.9', 'not higher'],
    ['0.9.9', 'not higher'],
    ['1.2', 'not a version'],
    ['v1.3.0', 'not a version'],
    ['1.3.0-beta.1', 'not a version'],
    ['01.3.0', 'not a version'],
    ['', 'not a version'],
  ])('after 1.2.3 is not "%s"', (wanted, problem) => {
    expect(() => nextVersion('1.2.3', wanted)).toThrow(problem);
  });
});
