/**
 * Measures `inventory browse` on a terminal of 120 × 40, with a name for each pet: the time until it shows the list,
 * alternating with `inventory list -o ndjson` of the same list; the time from a key to its change on the screen; and
 * the peak memory. Prints Markdown on stdout. Linux only: reads memory from /proc.
 *
 *   npm run bench -- browse [--rounds 5] [--assert]
 */
import { spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { spawn } from '@lydell/node-pty';
import { markdownTable, median, peakOf, readOptions, runMeasured, spread } from './report.ts';
import { PETSTORE, withService } from './service.ts';

/** What --assert asks for, of 100,000 pets. */
const MOST = { timesList: 2, keyMs: 50, memoryMb: 300 };
/** Frames a second at least, and how many are timed. */
const LEAST_FRAMES = 60;
const FRAMES = 300;
const HELD = 100_000;
const SIZES = [HELD, 1_000_000];

const KEYS: Readonly<Record<string, string>> = {
  down: '\u001b[B',
  'page down': '\u001b[6~',
  'change by one': '\u001b[C',
  'search: the first digit': '4',
  'search: the second': '2',
  'search: a letter more': 'x',
  'all pets again': '\u001b',
  'only low stock': '\u000c',
  'sort (by id, name, quantity, …)': '\u0013',
};

/** The end of a synchronized update. */
const DRAWN = '\u001b[?2026l';

interface Opened {
  readonly seconds: number;
  readonly peakMb: number;
  /** By the key's name, in ms. */
  readonly keys: ReadonlyMap<string, number>;
  /** Screens a second, each scrolled by a page and drawn before the next key is sent. */
  readonly framesPerSecond: number;
}

const values = readOptions({ rounds: '5' });
const INVENTORY = [PETSTORE, '--env', 'staging', 'inventory'];
const LIST = [process.execPath, ...INVENTORY, 'list', '-o', 'ndjson'] as const;

process.exitCode = await withService(async ({ baseUrlOf, env }) => {
  let isBad = false;
  const rows: string[][] = [];
  const keyTimes = new Map<string, number[][]>(Object.keys(KEYS).map((name) => [name, SIZES.map(() => [])]));
  for (const [place, size] of SIZES.entries()) {
    const own = { ...env, PETSTORE_BASE_URL: baseUrlOf(size), TERM: 'xterm-256color' };
    const names = Array.from({ length: HELD }, (_, i) => `${i + 1},Pet number ${i + 1}`);
    const words = ['--env', 'staging', 'catalog', 'import', '-'];
    const imported = spawnSync(process.execPath, [PETSTORE, ...words], {
      env: own,
      input: `petId,name\n${names.join('\n')}\n`,
      encoding: 'utf8',
    });
    if (imported.status !== 0) throw new Error(imported.stderr);
    const lists: number[] = [];
    const opened: Opened[] = [];
    for (let round = -1; round < Number(values.rounds); round++) {
      const { seconds: list } = await runMeasured(LIST, own);
      const open = await openTable(own, size);
      if (round < 0) continue;
      lists.push(list);
      opened.push(open);
      for (const [name, ms] of open.keys) keyTimes.get(name)![place]!.push(ms);
    }
    const seconds = opened.map((each) => each.seconds);
    const times = median(seconds) / median(lists);
    const peak = median(opened.map(({ peakMb }) => peakMb));
    const bound = (most: number): string => (size === HELD ? ` (at most ${most})` : '');
    const frames = median(opened.map(({ framesPerSecond }) => framesPerSecond));
    if (size === HELD && (times > MOST.timesList || peak > MOST.memoryMb || frames < LEAST_FRAMES)) isBad = true;
    rows.push([
      size.toLocaleString('en'),
      `${times.toFixed(2)}${bound(MOST.timesList)}`,
      median(seconds).toFixed(2),
      spread(seconds, 2),
      `${peak.toFixed(0)}${bound(MOST.memoryMb)}`,
      `${frames.toFixed(0)}${size === HELD ? ` (at least ${LEAST_FRAMES})` : ''}`,
    ]);
  }
  console.log(
    markdownTable(
      [
        'pets',
        'until shown, times `inventory list -o ndjson`',
        'median, s',
        'fastest – slowest, s',
        'peak memory, MB',
        'frames a second of scrolling',
      ],
      rows,
    ),
  );
  const all = [...keyTimes.values()].flatMap(([held = []]) => held);
  if (median(all) > MOST.keyMs) isBad = true;
  const figures = (each: readonly number[]): string[] => [median(each).toFixed(1), spread(each, 1)];
  console.log(
    `\n${markdownTable(
      ['key', ...SIZES.flatMap((size) => [`${size.toLocaleString('en')} pets: median, ms`, 'fastest – slowest, ms'])],
      [
        ...[...keyTimes].map(([name, sizes]) => [name, ...sizes.flatMap(figures)]),
        [
          `all (at most ${MOST.keyMs} at ${HELD.toLocaleString('en')})`,
          ...SIZES.flatMap((_, place) => figures([...keyTimes.values()].flatMap((sizes) => sizes[place]!))),
        ],
      ],
    )}`,
  );
  return isBad && values.assert ? 1 : 0;
});

function since(from: bigint): number {
  return Number(process.hrtime.bigint() - from) / 1e6;
}

async function openTable(env: NodeJS.ProcessEnv, size: number): Promise<Opened> {
  const from = process.hrtime.bigint();
  const terminal = spawn(process.execPath, [...INVENTORY, 'browse'], {
    cols: 120,
    rows: 40,
    name: 'xterm-256color',
    env,
  });
  let output = '';
  let onOutput: () => void = () => undefined;
  terminal.onData((piece) => {
    output += piece;
    onOutput();
  });
  const ended = new Promise<void>((resolve) => {
    terminal.onExit(() => {
      resolve();
    });
  });
  const until = (isThere: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      onOutput = () => {
        if (isThere()) resolve();
      };
      onOutput();
    });
  // The last row of the first page: the list is there.
  await until(
    () => new RegExp(`: ${size} pets`).test(output) && stripVTControlCharacters(output).includes('Type to search.'),
  );
  const seconds = since(from) / 1_000;
  const keys = new Map<string, number>();
  for (const [name, key] of Object.entries(KEYS)) {
    output = '';
    const pressed = process.hrtime.bigint();
    terminal.write(key);
    // Drawn as a whole.
    await until(() => output.includes(DRAWN));
    keys.set(name, since(pressed));
  }
  // Of the few that are low there are not enough pages.
  output = '';
  terminal.write(KEYS['all pets again']!);
  await until(() => output.includes(DRAWN));
  const scrolled = process.hrtime.bigint();
  for (let i = 0; i < FRAMES; i++) {
    output = '';
    terminal.write(KEYS['page down']!);
    await until(() => output.includes(DRAWN));
  }
  const framesPerSecond = (FRAMES * 1_000) / since(scrolled);
  const peakMb = peakOf(terminal.pid) ?? Number.NaN;
  // Leave, without the pending change.
  terminal.write('\u0003');
  await until(() => output.includes('discard'));
  terminal.write('d');
  await ended;
  return { seconds, peakMb, keys, framesPerSecond };
}
