/** Damages every part of a small state database in turn: commands repair or report it, and never fail for good. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { createHome } from '../support/home.ts';
import { runIn } from '../support/in-process.ts';
import { scaled } from '../support/scale.ts';
import { createTestContext } from '../support/test-context.ts';
import { mulberry32 } from '../support/test-ports.ts';

const SANDBOX = ['--env', 'sandbox'];
const WRITERS = [
  ['config', 'set', 'environment', 'staging'],
  [...SANDBOX, 'inventory', 'list'],
  [...SANDBOX, 'inventory', 'set', '7', '12'],
];
const LOOKS = [
  ['inventory', 'history'],
  ['inventory', 'runs'],
  [...SANDBOX, 'doctor', '--offline'],
];

/** A state database with a row of each kind, as one file. */
async function sound(): Promise<Buffer> {
  const home = createHome();
  const context = createTestContext({ home });
  const file = join(home.path, 'stock.csv');
  writeFileSync(file, `petId,quantity\n${[1, 2, 3, 4, 5].map((id) => `${id},1${id}`).join('\n')}\n`);
  expect((await runIn(context, ...SANDBOX, 'inventory', 'import', file, '--yes')).code).toBe(0);
  expect((await runIn(context, ...SANDBOX, 'inventory', 'set', '9', '12')).code).toBe(0);
  const path = join(home.state, 'petstore', 'state.db');
  const database = new DatabaseSync(path);
  // A page that is free, too.
  database.exec(
    "INSERT INTO scan VALUES (1, 1, 7, '2', '3'); CREATE TABLE gone (a); INSERT INTO gone VALUES (1); DROP TABLE gone",
  );
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  return readFileSync(path);
}

const PAGE = 4_096;
/** Version and application id: whose file it is. Another value there is another file, and left alone. */
const IDENTITY = [60, 72] as const;

type Damage = (bytes: Buffer, page: number, random: () => number) => Buffer;

const at = (page: number, random: () => number): number => {
  const offset = page * PAGE + Math.floor(random() * PAGE);
  return offset >= IDENTITY[0] && offset < IDENTITY[1] ? IDENTITY[1] : offset;
};

const DAMAGES: Readonly<Record<string, Damage>> = {
  'a few bytes': (bytes, page, random) => {
    for (let i = 0; i < 8; i++) bytes[at(page, random)] = Math.floor(random() * 256);
    return bytes;
  },
  'its head': (bytes, page, random) => {
    for (let i = 0; i < 12; i++) bytes[page * PAGE + (page === 0 ? 100 : 0) + i] = Math.floor(random() * 256);
    return bytes;
  },
  'all of it': (bytes, page) => bytes.fill(0, page * PAGE + (page === 0 ? 100 : 0), (page + 1) * PAGE),
  'cut off': (bytes, page) => bytes.subarray(0, page * PAGE + 50),
};

/** Where more rounds find more. */
const RANDOM: ReadonlySet<string> = new Set(['a few bytes', 'its head']);

/** What is not as it should be where the state database has these bytes. */
async function problems(bytes: Buffer, name: string): Promise<string[]> {
  const home = createHome();
  const folder = join(home.state, 'petstore');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'state.db'), bytes);
  const run = async (call: readonly string[], allowed: readonly number[]): Promise<string[]> => {
    const { code, stderr } = await runIn(createTestContext({ home }), ...call);
    return allowed.includes(code) ? [] : [`${name}: ${call.join(' ')}: ${code} ${stderr}`];
  };
  const found: string[] = [];
  for (const call of LOOKS) found.push(...(await run(call, [0, 3, 13])));
  for (const call of WRITERS) found.push(...(await run(call, [0, 3])));
  for (const call of WRITERS) found.push(...(await run(call, [0])));
  return found;
}

it('fault 128: whatever part of state.db is damaged, no command calls it a bug, and those that write continue', async () => {
  const whole = await sound();
  const random = mulberry32(128);
  const found: string[] = [];
  for (let page = 0; page < whole.length / PAGE; page++) {
    for (const [name, damage] of Object.entries(DAMAGES)) {
      for (let round = 0; round < (RANDOM.has(name) ? scaled(1) : 1); round++) {
        const bytes = damage(Buffer.from(whole), page, random);
        found.push(...(await problems(bytes, `page ${page}, ${name}, round ${round}`)));
      }
    }
  }
  expect(found).toEqual([]);
}, 300_000);

it.each([15, 16, 19, 20, 47, 59])('fault 128: byte %i of its header damaged: the same', async (byte) => {
  const bytes = await sound();
  bytes[byte] = 255;
  expect(await problems(bytes, `byte ${byte}`)).toEqual([]);
});
