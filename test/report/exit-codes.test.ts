/** Exit codes have their numbers in one place, and a meaning each. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { EXIT } from '../../src/errors.ts';
import { EXIT_CODES } from '../../src/report/exit-codes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

it('each has a meaning, in order', () => {
  expect(EXIT_CODES.flatMap(({ code }) => code.split(', '))).toEqual(Object.values(EXIT).map(String));
});

it('bin/, which loads nothing of the program before it fails, uses the code of a broken installation', () => {
  const codes = readdirSync(join(ROOT, 'bin'))
    .map((name) => readFileSync(join(ROOT, 'bin', name), 'utf8'))
    .flatMap((text) => [...text.matchAll(/exit(?:Code)?(?: = |\()(\d+)/g)])
    .map(([, code]) => Number(code));
  expect(codes).toEqual([EXIT.local, EXIT.local, EXIT.local]);
});

/** Not the tools of the build, nor the descriptions of commands and options, whose texts are what they are. */
const isProgram = (path: string): boolean => path.endsWith('.ts') && !/^(build|commands)\/|global-options/.test(path);

it('no other source has a number, not even in a text', () => {
  const found = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter(isProgram)
    .flatMap((path) => {
      const lines = readFileSync(join(ROOT, 'src', path), 'utf8').split('\n');
      return lines
        .filter((line) => /\bexit(?:s|Code|\s+code|\s+code\s+is)?(?:\s*[:=(]\s*|\s+)\d/i.test(line))
        .map((line) => `${path}: ${line.trim()}`);
    });
  expect(found).toEqual([]);
});
