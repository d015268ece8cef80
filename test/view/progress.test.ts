import { describe, expect, it } from 'vitest';
import { FOREVER_MS } from '../../src/duration.ts';
import type { HttpFailurePhase, Wait } from '../../src/ports.ts';
import { clockTime, duration, liveLine, progressLines, waitLines } from '../../src/view/progress.ts';
import { MemoryOutput } from '../support/memory-streams.ts';

const NOON = Date.UTC(2026, 2, 2, 12, 0, 0);

describe('durations', () => {
  it.each([
    [0, '0 s'],
    [-5, '0 s'],
    [0.2, '1 ms'],
    [400, '400 ms'],
    [999.5, '1 s'],
    [1_000, '1 s'],
    [1_001, '2 s'],
    [59_001, '1 min'],
    [61_000, '1 min 1 s'],
    [3_599_500, '1 h'],
    [7_380_000, '2 h 3 min'],
    [86_400_000, '24 h'],
    [172_800_000, '2 days'],
    [2_592_000_000, '30 days'],
  ])('%i ms is %s', (ms, words) => {
    expect(duration(ms)).toBe(words);
  });
});

describe('clock times', () => {
  it.each([
    [NOON + 83_000, '12:01:23'],
    [NOON + 86_400_000, '2026-03-03 12:00:00'],
  ])('%i', (at, words) => {
    expect(clockTime(at, NOON)).toBe(words);
  });
});

describe('a wait says why, until when, which attempt, and that it may be stopped', () => {
  const wait = { until: NOON + 23_000, attempt: 2, attempts: 3 };
  const failed = (phase: HttpFailurePhase, code: string): Pick<Wait, 'why' | 'failure'> => ({
    why: 'backoff',
    failure: { phase, code, peer: 'pets.example:443', detail: '', mayHaveBeenSent: false },
  });

  it.each<[more: Partial<Wait> & Pick<Wait, 'why'>, words: string]>([
    [{ why: 'rate-limited' }, 'Rate limited (429); continuing at 12:00:23 (23 s), try 2/3. Ctrl-C stops.'],
    [{ why: 'banned' }, 'Key banned? (403); continuing at 12:00:23 (23 s), try 2/3. Ctrl-C stops.'],
    [{ why: 'window-spent' }, 'Rate limit reached; continuing at 12:00:23 (23 s), try 2/3. Ctrl-C stops.'],
    [{ why: 'paced' }, 'Rate limit unknown; continuing at 12:00:23 (23 s), try 2/3. Ctrl-C stops.'],
    [{ why: 'ledger-lost' }, 'Redis does not work; retrying at 12:00:23 (23 s), try 2/3. Ctrl-C stops.'],
    [{ why: 'backoff' }, 'Request failed; retrying at 12:00:23 (23 s), try 2/3. Ctrl-C stops.'],
    [{ why: 'backoff', status: 503 }, 'Service failed (503); retrying at 12:00:23 (23 s), try 2/3. Ctrl-C stops.'],
    [{ why: 'look', status: 500 }, 'Service failed (500); reading the stock at 12:00:23 (23 s). Ctrl-C stops.'],
    [{ why: 'backoff', status: 204 }, 'Unexpected answer (204); retrying at 12:00:23 (23 s), try 2/3. Ctrl-C stops.'],
    [failed('connect', 'ECONNREFUSED'), 'Connection refused; retrying at 12:00:23 (23 s), try 2/3. Ctrl-C stops.'],
    [failed('connect', 'EHOSTUNREACH'), 'Cannot connect; retrying at 12:00:23 (23 s), try 2/3. Ctrl-C stops.'],
    [failed('dns', 'ENOTFOUND'), 'Name not found; retrying at 12:00:23 (23 s), try 2/3. Ctrl-C stops.'],
    [failed('response-timeout', 'X'), 'No answer in time; retrying at 12:00:23 (23 s), try 2/3. Ctrl-C stops.'],
    // The answer to another request may come at any time, so there is no countdown.
    [{ why: 'asking' }, 'Waiting for another request; until 12:00:23 at most, try 2/3. Ctrl-C stops.'],
    [{ why: 'locked', holder: 'x', attempt: 1 }, 'Waiting for x; for at most 23 s. Ctrl-C stops.'],
    [
      { why: 'locked', attempt: 1, until: NOON + FOREVER_MS },
      'Waiting for another petstore; for as long as it takes. Ctrl-C stops.',
    ],
  ])('%j: %s', (more, words) => {
    expect(waitLines({ ...wait, ...more }, { now: NOON })[0]).toBe(words);
    const withoutTerminal = waitLines({ ...wait, ...more }, { now: NOON, canStop: false })[0];
    expect(withoutTerminal).toBe(words.replace(' Ctrl-C stops.', ''));
  });

  it('fits a line of 80 columns, so that the end of it can be read', () => {
    const reasons = [
      'rate-limited',
      'banned',
      'window-spent',
      'asking',
      'paced',
      'ledger-lost',
      'backoff',
      'locked',
    ] as const;
    const longest = reasons.map((why) => waitLines({ ...wait, until: NOON + 119_000, why }, { now: NOON })[0].length);
    expect(Math.max(...longest)).toBeLessThan(80);
  });

  it.each([
    [
      undefined,
      [
        'Rate limit reached; continuing at 12:00:23 (23 s). Ctrl-C stops.',
        'Rate limit reached; continuing at 12:00:23 (23 s). Ctrl-C stops.',
        'Continuing at 12:00:23 (23 s). Ctrl-C stops.',
        'Continuing at 12:00:23 (23 s).',
      ],
    ],
    [
      '57 of 200 set',
      [
        '57 of 200 set; rate limit reached, continuing at 12:00:23 (23 s). Ctrl-C stops.',
        '57 of 200 set; rate limit reached, continuing at 12:00:23 (23 s)',
        '57 of 200 set; continuing at 12:00:23 (23 s)',
        'Continuing at 12:00:23 (23 s).',
      ],
    ],
  ])('at a narrow terminal keeps its end (progress: %s)', (progress, lines) => {
    expect(waitLines({ ...wait, why: 'window-spent', attempt: 1 }, { now: NOON, progress })).toEqual(lines);
  });
});

describe('the live line', () => {
  it('is the longest text that fits', async () => {
    const output = new MemoryOutput({ isTTY: true, columns: 12 });
    const line = liveLine(output);
    await line.draw('more than ten', 'nine char', 'less');
    await line.draw('more than ten', 'as much again');
    expect(output.text()).toBe(['nine char', 'as much …'].map((text) => `\r\u001b[2K${text}`).join(''));
  });

  it('is drawn over itself, with room for a ^C that the terminal echoes, and leaves nothing', async () => {
    const output = new MemoryOutput({ isTTY: true, columns: 12 });
    const line = liveLine(output);
    await line.clear();
    await line.draw('short');
    await line.draw('much too long');
    await line.draw('猫猫猫猫猫猫');
    await line.clear();
    await line.clear();
    expect(output.text()).toBe(['short', 'much too…', '猫猫猫猫…', ''].map((text) => `\r\u001b[2K${text}`).join(''));
  });

  it.each([
    [undefined, `${'a'.repeat(76)}…`],
    [1, ''],
    [3, ''],
    [4, '…'],
  ])('fault 105: on a terminal of %s columns', async (columns, shown) => {
    const output = new MemoryOutput({ isTTY: true, columns });
    await liveLine(output).draw('a'.repeat(100));
    expect(output.text()).toBe(`\r\u001b[2K${shown}`);
  });
});

it.each([
  ['at once', 0, 0, ['[                ] 0 of 200 set', '0 of 200 set']],
  [
    'later, with the rate and what is left',
    50,
    10_000,
    ['[████            ] 50 of 200 set, 5/s, 30 s left', '50 of 200 set, 5/s, 30 s left', '50 of 200 set'],
  ],
  ['at the end', 200, 40_000, ['[████████████████] 200 of 200 set', '200 of 200 set']],
] as const)('the progress of a run %s', (_when, done, now, lines) => {
  expect(progressLines(`${done} of 200 set`, [done, 200], { at: 0, done: 0 }, now)).toEqual(lines);
});

it('progress without a known end is the line alone', () => {
  expect(progressLines('Reading', undefined, undefined, 0)).toEqual(['Reading']);
});
