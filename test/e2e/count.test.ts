/** A stocktake by barcode at a real terminal: it rejects unknown codes, and loses no scan when it is killed; and beside sales. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runPetstore, startPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';
import { startPty, type Pty } from '../support/pty.ts';
import { mulberry32 } from '../support/test-ports.ts';

const PETS = [2, 3, 5, 7, 11, 12, 13, 17];
const SCANS = 200;
/** Which scans are of codes that the catalog does not have. */
const UNKNOWN = new Set([3, 20, 21, 50, 77, 99, 101, 102, 140, 163, 180, 199]);
const KILLED_AFTER = 100;

/** EAN-13 codes: 20 and the pet's number, with a check digit. */
function barcodeOf(pet: number): string {
  const digits = `20${String(pet).padStart(10, '0')}`;
  const sum = Array.from(digits).reduce((all, digit, i) => all + Number(digit) * (i % 2 === 0 ? 1 : 3), 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

it('200 scans with 12 unknown codes, killed in the middle, continued and applied', async () => {
  const home = createHome();
  const petstore = (args: readonly string[], stdin?: string) =>
    runPetstore(['--env', 'sandbox', ...args], { home, ...(stdin !== undefined && { stdin }) });
  const rows = PETS.map((pet) => `${pet},Pet no. ${pet},${barcodeOf(pet)}`);
  await petstore(['catalog', 'import', '-'], `petId,name,barcode\n${rows.join('\n')}\n`);
  const before = await stock();

  const random = mulberry32(7);
  const counts = new Map<number, number>();
  const start = (...args: string[]) =>
    startPty(['--env', 'sandbox', 'inventory', 'count', ...args], { home, cwd: home.path, cols: 120 });
  let terminal = start();
  await terminal.waitFor('Stocktake 1 in sandbox');
  for (let i = 0; i < SCANS; i++) {
    if (i === KILLED_AFTER) {
      terminal.kill('SIGKILL');
      expect((await terminal.exited).code).toBe(137);
      expect(bells(terminal)).toBe([...UNKNOWN].filter((at) => at < KILLED_AFTER).length);
      terminal = start('--resume');
      const kept = KILLED_AFTER - [...UNKNOWN].filter((at) => at < KILLED_AFTER).length;
      await terminal.waitFor(`Stocktake 1 continues: ${kept} scans so far.`);
    }
    if (UNKNOWN.has(i)) {
      const code = barcodeOf(1_000 + i);
      await terminal.type(`${code}\r`, `warning: Not counted: no pet has the id or barcode ${code}.`);
      continue;
    }
    const pet = PETS[Math.floor(random() * PETS.length)]!;
    const times = i % 10 === 0 ? 3 : 1;
    const counted = (counts.get(pet) ?? 0) + times;
    counts.set(pet, counted);
    // As some scanners do, with another zero before it.
    await terminal.type(
      `${times === 1 ? '' : '3x '}${i % 3 === 0 ? '0' : ''}${barcodeOf(pet)}\r`,
      `pet ${pet} (Pet no. ${pet}): ${counted} counted`,
    );
  }
  await terminal.type('done\r', `${SCANS - UNKNOWN.size} scans of ${counts.size} pets.`);
  await terminal.waitFor(/Change \d pets in sandbox\?/);
  terminal.write('y\r');
  expect((await terminal.exited).code, terminal.plain()).toBe(0);
  expect(bells(terminal)).toBe([...UNKNOWN].filter((at) => at >= KILLED_AFTER).length);
  expect(terminal.plain()).toMatch(/Run 1 \(count\) in sandbox: \d applied/);

  const expected = before.map(([pet = 0, quantity = 0]) => [pet, counts.get(pet) ?? quantity]);
  expect(await stock()).toEqual(expected);
  const report = readFileSync(join(home.state, 'petstore/reports/count-1.csv'), 'utf8');
  const changed = expected.filter(([, after], i) => before[i]![1] !== after);
  for (const [pet, after] of changed) expect(report).toMatch(new RegExp(`^\\d*,${pet},\\d+,${after},applied,`, 'm'));
  // Of all pets: those that were as expected, and those that were not scanned.
  const listed = report.trim().split('\n').slice(1);
  const inStock = before.filter(([pet = 0, quantity = 0]) => counts.has(pet) || quantity > 0);
  expect(listed).toHaveLength(inStock.length);
  expect(listed.filter((line) => line.includes(',not scanned,'))).toHaveLength(inStock.length - counts.size);
  expect(report).toContain(',Pet no. 7\n');

  async function stock(): Promise<number[][]> {
    const listed = await petstore(['inventory', 'list', '-o', 'csv', '--columns', 'petId,quantity', '--no-header']);
    // One id is larger than a number.
    return listed.stdout
      .trim()
      .split('\n')
      .map((line) => line.split(',').map(Number));
  }
});

it('300 scans pasted at once are all counted', async () => {
  const home = createHome();
  const terminal = startPty(['--env', 'sandbox', 'inventory', 'count', '--dry-run'], {
    home,
    cwd: home.path,
    cols: 120,
  });
  await terminal.waitFor('Stocktake 1 in sandbox');
  await terminal.type(Array.from({ length: 300 }, (_, i) => `${PETS[i % 3]}\r`).join(''), /pet 2 .*: 100 counted/);
  await terminal.waitFor(/pet 5 .*: 100 counted/);
  await terminal.type('done\r', '300 scans of 3 pets.');
  expect((await terminal.exited).code, terminal.plain()).toBe(0);
});

function bells({ output }: Pty): number {
  return output.split('\x07').length - 1;
}

it('a pet that was sold here before its first scan is no conflict; one that was sold after it is', async () => {
  const home = createHome();
  const inventory = ['--env', 'sandbox', 'inventory'];
  const counting = startPetstore([...inventory, 'count', '--yes'], { home, stdin: { open: true } });
  counting.write('8 5\n');
  await counting.waitFor(/pet 8 .*: 5 counted \(stock: 6\)/, 'stderr');
  for (const pet of ['7', '8']) await runPetstore([...inventory, 'adjust', pet, '-2'], { home });
  counting.write('7 7\ndone\n');
  const { code, stdout, stderr } = await counting.exited;
  expect(code).toBe(11);
  expect(stderr).toContain('pet 7 (Goldfish): 7 counted (stock: 8)');
  expect(stderr).toContain('pet 8: conflict, there were 6 when it was first scanned, and there are 4 now');
  expect(stdout).toBe('Run 1 (count) in sandbox: 1 applied, 1 conflict.\n');
  const left = await runPetstore([...inventory, 'list', '7', '8', '-o', 'csv', '--no-header'], { home });
  expect(left.stdout).toBe('7,7,available\n8,4,available\n');
});

it('a signal stops a count while the lines of a file are read, and keeps the scans', async () => {
  const home = createHome();
  const inventory = ['--env', 'sandbox', 'inventory'];
  const stdin = `7\nseven\n${'7\n'.repeat(20_000)}`;
  const counting = startPetstore([...inventory, 'count', '--yes', '--quiet'], { home, stdin });
  await counting.waitFor(/Not counted/, 'stderr');
  expect(await counting.end('SIGTERM')).toMatchObject({ code: 143 });
  const runs = await runPetstore([...inventory, 'runs', '--json'], { home });
  expect(JSON.parse(runs.stdout)).toHaveLength(1);
});
