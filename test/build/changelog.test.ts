import { describe, expect, it } from 'vitest';
import { cutChangelog, requireHigher, sectionOf } from '../../src/build/changelog.ts';

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

it.each([
  ['1.10.0', true],
  ['2.0.0', true],
  ['1.2.3', false],
  ['1.1.9', false],
  ['1.3.0-beta.1', false],
  ['', false],
])('after 1.2.3 may come "%s": %s', (version, may) => {
  const require = expect(() => {
    requireHigher(version, '1.2.3');
  });
  if (may) require.not.toThrow();
  else require.toThrow(/is not (higher than|a version)/);
});
