/** The cache of compiled code in bin/start.js never breaks a command, whatever happened to it. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { type Finished, runPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';
import { json } from '../support/replies.ts';
import { scaled } from '../support/scale.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { staging } from '../support/staging.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));
const LIST = ['--env', 'sandbox', 'inventory', 'list'];

function run(home: Home, args: readonly string[], env: Record<string, string> = {}): Promise<Finished> {
  const command = [process.execPath, PROGRAM] as const;
  return runPetstore(args, { command: [...command], home, env: { XDG_CACHE_HOME: home.cache, ...env } });
}

/** Of this Node, the only one in a home. */
function folderIn(home: Home): string {
  const [folder] = readdirSync(join(home.cache, 'petstore'));
  return join(home.cache, 'petstore', folder!);
}

/** The commands that the file holds code for. */
const keptFor = (file: string): string[] => readFileSync(file, 'latin1').split('\n')[0]!.split(' ').slice(1);

it('is in a folder that is the user’s alone', async () => {
  const home = createHome();
  await run(home, ['--version']);
  expect(statSync(join(home.cache, 'petstore')).mode & 0o777).toBe(0o700);
  expect(statSync(folderIn(home)).mode & 0o777).toBe(0o700);
});

it.each([
  ['where NODE_DISABLE_COMPILE_CACHE says so', 0o700, { NODE_DISABLE_COMPILE_CACHE: '1' }],
  ['where others may write', 0o777, {}],
])('is not there %s', async (_where, mode, env) => {
  const home = createHome();
  const folder = join(home.cache, 'petstore');
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, mode);
  const { code } = await run(home, ['--version'], env);
  expect({ code, kept: readdirSync(folder) }).toEqual({ code: 0, kept: [] });
});

it('is there in a cache folder that a group may write to, as some systems make it', async () => {
  const home = createHome();
  mkdirSync(home.cache, { recursive: true });
  chmodSync(home.cache, 0o775);
  await run(home, ['--version']);
  expect(readdirSync(folderIn(home))).toContain('main.cjs');
});

it('is added to once for each command, and is left alone by one that it is for', async () => {
  const home = createHome();
  await run(home, LIST);
  const file = join(folderIn(home), 'petstore.cjs');
  const first = readFileSync(file);
  expect(keptFor(file)).toEqual(['sandbox.inventory.list:0']);
  await run(home, LIST);
  expect(readFileSync(file).equals(first)).toBe(true);
  await run(home, ['--env', 'sandbox', 'limits']);
  expect(keptFor(file)).toEqual(['sandbox.inventory.list:0', 'sandbox.limits:0']);
  expect(statSync(file).size).toBeGreaterThan(first.length);
  expect(readdirSync(folderIn(home)).filter((name) => !name.endsWith('.cjs'))).toEqual([]);
});

it('is accepted after a list of more than 1 MB, for which the flags of V8 change', async () => {
  const home = createHome();
  const items = Array.from({ length: 30_000 }, (_, petId) => ({ petId, quantity: 1, status: 'sold' }));
  const server = await scriptedServer([json(items), json(items)]);
  await run(home, ['inventory', 'list', '-o', 'ndjson'], staging(server.baseUrl));
  const file = join(folderIn(home), 'petstore.cjs');
  const first = readFileSync(file);
  await run(home, ['inventory', 'list', '-o', 'ndjson'], staging(server.baseUrl));
  expect(readFileSync(file).equals(first)).toBe(true);
});

it('is added to by a command that succeeds after it has failed', async () => {
  const home = createHome();
  expect((await run(home, [...LIST, '--pet', 'x'])).code).toBe(2);
  const file = join(folderIn(home), 'petstore.cjs');
  const { size } = statSync(file);
  await run(home, LIST);
  expect(keptFor(file)).toEqual(['sandbox.inventory.list:2', 'sandbox.inventory.list:0']);
  expect(statSync(file).size).toBeGreaterThan(size);
});

it('of another build is not used', async () => {
  const home = createHome();
  const { stdout } = await run(home, LIST);
  const file = join(folderIn(home), 'petstore.cjs');
  const kept = readFileSync(file);
  kept.write('/*0123456789abcdef*/');
  writeFileSync(file, kept);
  expect(await run(home, LIST)).toMatchObject({ code: 0, stdout, stderr: '' });
  expect(readFileSync(file).subarray(0, 20).equals(kept.subarray(0, 20))).toBe(false);
});

it.each([
  ['is not built', []],
  ['is not whole', ['main.cjs']],
])('a program that %s says so', async (_, files) => {
  const place = createHome().path;
  cpSync(fileURLToPath(new URL('../../bin', import.meta.url)), join(place, 'bin'), { recursive: true });
  mkdirSync(join(place, 'dist'));
  for (const file of files)
    cpSync(fileURLToPath(new URL(`../../dist/${file}`, import.meta.url)), join(place, 'dist', file));
  const command = [process.execPath, join(place, 'bin/petstore.js')] as const;
  expect(await runPetstore(LIST, { command: [...command] })).toMatchObject({
    code: 3,
    stdout: '',
    stderr:
      'petstore is not built, or its installation is not whole: run `npm ci` in a checkout, or install it again.\n',
  });
});

// V8 takes what it is given: a process that ran damaged code would crash.
it('is not used where a byte has changed, both copies are damaged alike, or its end is missing', async () => {
  const home = createHome();
  const { stdout } = await run(home, LIST);
  for (const name of readdirSync(folderIn(home))) {
    const file = join(folderIn(home), name);
    const kept = readFileSync(file);
    const start = kept.indexOf(10) + 1;
    const half = (kept.length - start) / 2;
    const damaged = (length: number, ...places: readonly number[]): Buffer => {
      const copy = Buffer.from(kept);
      for (const place of places) copy.fill(0x55, place, place + length);
      return copy;
    };
    const changed = [0, 0.2, 0.6, 0.99].map((share) => damaged(1, Math.floor(kept.length * share)));
    const alike = Array.from({ length: scaled(12) }, (_, i) => start + Math.floor((half * (i + 1)) / 13));
    const cut = [0, 10, Math.floor(kept.length / 2), kept.length - 1].map((length) => kept.subarray(0, length));
    for (const each of [...changed, ...alike.map((at) => damaged(16, at, at + half)), ...cut]) {
      writeFileSync(file, each);
      expect(await run(home, LIST), `${name}, ${each.length} bytes`).toMatchObject({ code: 0, stdout, stderr: '' });
    }
    expect(readFileSync(file).length).toBeGreaterThan(kept.length / 2);
  }
});

const SPOILED: Readonly<Record<string, (file: string) => void>> = {
  FIFO: (file) => {
    rmSync(file);
    execFileSync('mkfifo', [file]);
  },
  'link to /dev/zero': (file) => {
    rmSync(file);
    symlinkSync('/dev/zero', file);
  },
  'file that all may write to': (file) => {
    chmodSync(file, 0o666);
  },
  ...(process.geteuid?.() === 0 && {
    'file of another user': (file) => {
      chownSync(file, 65_534, 65_534);
    },
  }),
};

it.each(Object.entries(SPOILED))('fault 122: a %s is not read, and replaced', async (_, make) => {
  const home = createHome();
  const { stdout } = await run(home, LIST);
  const file = join(folderIn(home), 'petstore.cjs');
  make(file);
  // What it is not read for, it is kept for anew: no other command is named.
  const { code } = await run(home, ['--env', 'sandbox', 'limits']);
  const found = lstatSync(file);
  expect(found.isFile(), 'a plain file').toBe(true);
  const { mode, uid } = found;
  const own = { mode: 0o600, uid: process.geteuid?.(), kept: ['sandbox.limits:0'] };
  expect({ code, mode: mode & 0o777, uid, kept: keptFor(file) }).toEqual({ code: 0, ...own });
  expect(await run(home, LIST)).toMatchObject({ code: 0, stdout, stderr: '' });
});
