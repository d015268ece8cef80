/** The numbers of exit codes are in one place, and each has a meaning. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { EXIT } from '../../src/errors.ts';
import { EXIT_CODES } from '../../src/report/exit-codes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

it('each has a meaning, in order', () => {
  expect(EXIT_CODES.flatMap(([code]) => `${code}`.split(', '))).toEqual(Object.values(EXIT).map(String));
});

it('bin/, which loads nothing of the program before it fails, uses the code of a broken installation', () => {
  const codes = readdirSync(join(ROOT, 'bin'))
    .map((name) => readFileSync(join(ROOT, 'bin', name), 'utf8'))
    .flatMap((text) => [...text.matchAll(/exit(?:Code)?(?: = |\()(\d+)/g)])
    .map(([, code]) => Number(code));
  expect(codes).toEqual([EXIT.local, EXIT.local, EXIT.local]);
});

const LINES = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  // The tools of the build are not part of the program.
  .filter((path) => path.endsWith('.ts') && !path.startsWith('build/'))
  .flatMap((path) => {
    const text = readFileSync(join(ROOT, 'src', path), 'utf8');
    return text.split('\n').map((line) => ({ path, line: line.trim() }));
  });
const NUMBER = /\bexit(?:s|Code|\s+code|\s+code\s+is)?(?:\s*[:=(]\s*|\s+)(\d+)/i;
const DESCRIPTIONS = /^commands\/|global-options|session\/settings/;

it('no other source has a number, not even in a text; descriptions of commands and options may', () => {
  expect(LINES.filter(({ path, line }) => NUMBER.test(line) && !DESCRIPTIONS.test(path))).toEqual([]);
});

it('descriptions name codes that there are', () => {
  const named = LINES.filter(({ path }) => DESCRIPTIONS.test(path)).flatMap(({ line }) => NUMBER.exec(line)?.[1] ?? []);
  expect(named.length).toBeGreaterThan(5);
  const known = Object.values(EXIT).map(String);
  expect(named.filter((code) => !known.includes(code))).toEqual([]);
});
