import { describe, expect, it } from 'vitest';
import { clockTime, duration, limitWords, LiveLine, progressLines, waitLines } from '../../src/view/progress.ts';
import { MemoryOutput } from '../support/memory-streams.ts';

const NOON = Date.UTC(2026, 2, 2, 12, 0, 0);

describe('durations', () => {
  it.each([
    [0, '0 s'],
    [-5, '0 s'],
    [0.2, '1 ms'],
    [400, '400 ms'],
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

it('the limit says what is left and until when', () => {
  expect(limitWords({ limit: 60, remaining: 57, resetAt: NOON + 23_000, now: NOON })).toBe(
    '57 of 60 requests left, resets in 23 s (12:00:23)',
  );
});

describe('a wait says why, until when, which attempt, and that it may be stopped', () => {
  it.each([
    ['connect', 'ECONNREFUSED', 'Connection refused'],
    ['connect', 'EHOSTUNREACH', 'Cannot connect'],
    ['dns', 'ENOTFOUND', 'Name not found'],
    ['response-timeout', 'ETIMEDOUT', 'No answer in time'],
  ] as const)('%s, %s', (phase, code, words) => {
    const failure = { phase, code, peer: 'pets.example:443', detail: '', mayHaveBeenSent: false };
    const wait = { why: 'backoff', until: NOON + 23_000, now: NOON, attempt: 2, attempts: 3, failure } as const;
    expect(waitLines(wait)[0]).toBe(`${words}; retrying at 12:00:23 (23 s), try 2/3. Ctrl-C stops.`);
    expect(waitLines({ ...wait, canStop: false })[0]).toBe(`${words}; retrying at 12:00:23 (23 s), try 2/3.`);
  });

  it.each([
    ['rate-limited', 'Rate limited (429); continuing'],
    ['banned', 'Key banned? (403); continuing'],
    ['window-spent', 'Rate limit reached; continuing'],
    ['paced', 'Rate limit unknown; continuing'],
    ['backoff', 'Request failed; retrying'],
    ['ledger-lost', 'No answer from Redis; retrying'],
  ] as const)('%s', (why, words) => {
    expect(waitLines({ why, until: NOON + 23_000, now: NOON, attempt: 2, attempts: 3 })[0]).toBe(
      `${words} at 12:00:23 (23 s), try 2/3. Ctrl-C stops.`,
    );
  });

  it.each([
    [503, 'Service failed (503)'],
    [204, 'Unexpected answer (204)'],
  ])('%i', (status, words) => {
    const wait = { why: 'backoff', until: NOON + 23_000, now: NOON, attempt: 2, attempts: 3, status } as const;
    expect(waitLines(wait)[0]).toBe(`${words}; retrying at 12:00:23 (23 s), try 2/3. Ctrl-C stops.`);
  });

  it('shows no countdown for the answer to another request, which may come at any time', () => {
    expect(waitLines({ why: 'asking', until: NOON + 23_000, now: NOON, attempt: 2, attempts: 3 })[0]).toBe(
      'Waiting for another request; until 12:00:23 at most, try 2/3. Ctrl-C stops.',
    );
  });
});

it('a wait of any reason fits a line of 80 columns, so that the end of it can be read', () => {
  const reasons = ['rate-limited', 'banned', 'window-spent', 'asking', 'paced', 'ledger-lost', 'backoff'] as const;
  const longest = reasons.map(
    (why) => waitLines({ why, until: NOON + 119_000, now: NOON, attempt: 2, attempts: 3 })[0].length,
  );
  expect(Math.max(...longest)).toBeLessThan(80);
});

it('a wait at a narrow terminal keeps its end and that Ctrl-C is safe', () => {
  expect(waitLines({ why: 'window-spent', until: NOON + 23_000, now: NOON, attempt: 1, attempts: 2 }).slice(1)).toEqual(
    [
      'Rate limit reached; continuing at 12:00:23 (23 s). Ctrl-C stops.',
      'Continuing at 12:00:23 (23 s). Ctrl-C stops.',
      'Continuing at 12:00:23 (23 s).',
    ],
  );
});

it('a run that waits keeps until when at a narrow terminal', () => {
  const wait = { why: 'window-spent', until: NOON + 23_000, now: NOON, attempt: 1, progress: '57 of 200 set' } as const;
  expect(waitLines(wait)).toEqual([
    '57 of 200 set; rate limit reached, continuing at 12:00:23 (23 s)',
    '57 of 200 set; continuing at 12:00:23 (23 s)',
    'Continuing at 12:00:23 (23 s).',
  ]);
});

describe('the live line', () => {
  it('is the longest text that fits', async () => {
    const output = new MemoryOutput({ isTTY: true, columns: 10 });
    const line = new LiveLine(output);
    await line.draw('more than ten', 'nine char', 'less');
    await line.draw('more than ten', 'as much again');
    expect(output.text()).toBe(['nine char', 'as much …'].map((text) => `\r\u001b[2K${text}`).join(''));
  });

  it('is drawn over itself, never wider than the terminal, and leaves nothing', async () => {
    const output = new MemoryOutput({ isTTY: true, columns: 10 });
    const line = new LiveLine(output);
    await line.clear();
    await line.draw('short');
    await line.draw('much too long');
    await line.draw('猫猫猫猫猫猫');
    await line.clear();
    await line.clear();
    expect(output.text()).toBe(['short', 'much too…', '猫猫猫猫…', ''].map((text) => `\r\u001b[2K${text}`).join(''));
  });

  it.each([
    [0, `${'a'.repeat(78)}…`],
    [undefined, `${'a'.repeat(78)}…`],
    [1, ''],
    [2, '…'],
  ])('fault 105: on a terminal of %s columns', async (columns, shown) => {
    const output = new MemoryOutput({ isTTY: true, columns });
    await new LiveLine(output).draw('a'.repeat(100));
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
  expect(progressLines(`${done} of 200 set`, [done, 200], { at: 0, done: 0 }, now, true)).toEqual(lines);
});

it('progress without a known end is the line alone', () => {
  expect(progressLines('Reading', undefined, undefined, 0, true)).toEqual(['Reading']);
});
