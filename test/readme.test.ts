/** What the README says can be done is done, to the letter. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { petstoreCommand, runPetstore } from './support/binary.ts';
import { createHome, type Home } from './support/home.ts';
import { freePort } from './support/free-port.ts';

const README = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8');

/** The shell script between two markers. */
function script(name: string): string {
  const marked = README.split(`<!-- ${name}: begin -->`)[1]?.split(`<!-- ${name}: end -->`)[0];
  const found = /```sh\n([^]*?)```/.exec(marked ?? '')?.[1];
  if (found === undefined) throw new Error(`README.md has no script ${name}`);
  return found;
}

/** A PATH on which `petstore` is the one under test. */
function pathIn(home: Home): string {
  const file = join(home.path, 'petstore');
  writeFileSync(file, `#!/bin/sh\nexec ${petstoreCommand().join(' ')} "$@"\n`);
  chmodSync(file, 0o755);
  return `${home.path}:${process.env.PATH ?? ''}`;
}

it('curl alone walks through every status of the service', async () => {
  const home = createHome();
  const port = await freePort();
  const walk = script('walk').replaceAll('4010', String(port)).replace('sandbox serve', `sandbox serve --port ${port}`);
  const expected = [...walk.matchAll(/^ask .*# (\d+.*)$/gm)].map(([, answer = '']) => answer);
  const { code, stdout } = await runPetstore(['-e', '-c', walk], {
    command: ['sh'],
    home,
    cwd: home.path,
    env: { PATH: pathIn(home) },
  });
  // On a slow machine a second or two of the window may have passed.
  const answers = stdout.split('\n').filter((line) => /^\d{3}\b/.test(line));
  expect([code, answers.map((line) => line.trim().replace(/^429 5\d$/, '429 60'))]).toEqual([0, expected]);
  expect(new Set(expected.map((line) => line.slice(0, 3)))).toEqual(
    new Set(['200', '400', '401', '404', '429', '403']),
  );
});
