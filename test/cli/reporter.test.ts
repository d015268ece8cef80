import { expect, it } from 'vitest';
import { Reporter } from '../../src/cli/reporter.ts';
import { exchange } from '../../src/client/attempt.ts';
import type { HttpReply } from '../../src/ports.ts';
import { Secrets } from '../../src/redact.ts';
import type { CommandContext } from '../../src/session/globals.ts';
import { PLAIN } from '../../src/view/style.ts';
import { reply, scriptedService } from '../client/scripted-service.ts';

/** What a reporter writes while its clock stands at `clock.now`. */
async function writtenBy(
  work: (reporter: Reporter, clock: { now: number }) => void | Promise<void>,
  isTTY: boolean,
  isJson = false,
): Promise<string> {
  let text = '';
  const clock = { now: 0 };
  const write = (piece: string | Uint8Array): Promise<void> => {
    text += String(piece);
    return Promise.resolve();
  };
  const reporter = new Reporter(
    {
      stderr: { isTTY, columns: 80, write },
      stdout: { isTTY, columns: 80, write },
      clock: { now: () => clock.now, monotonic: () => clock.now },
      env: {},
      globals: { quiet: false, verbose: false, debug: false, showLimits: false, output: isJson ? 'json' : 'table' },
      secrets: new Secrets(),
    } as unknown as CommandContext,
    PLAIN,
  );
  await work(reporter, clock);
  await reporter.flush();
  return text;
}

/** What the progress of a run of three rows, six seconds each, writes. */
function written(isTTY: boolean, isJson = false): Promise<string> {
  const run = (reporter: Reporter, clock: { now: number }): void => {
    for (let done = 0; done < 4; done++, clock.now += 6_000) reporter.progress(`${done} of 3 set`, [done, 3]);
    reporter.progress(undefined);
  };
  return writtenBy(run, isTTY, isJson);
}

const ERASED = '\r\u001b[2K';

it('progress on a terminal is one line, with a bar, the rate and what is left, that is gone in the end', async () => {
  expect((await written(true)).split(ERASED)).toEqual([
    '',
    '[                ] 0 of 3 set',
    '[█████▎          ] 1 of 3 set, 0.17/s, 12 s left',
    '[██████████▋     ] 2 of 3 set, 0.17/s, 6 s left',
    '[████████████████] 3 of 3 set',
    '',
  ]);
});

it('progress in a log is a line every ten seconds', async () => {
  expect(await written(false)).toBe('2 of 3 set.\n');
});

it('progress beside JSON is nothing', async () => {
  expect(await written(false, true)).toBe('');
});

it('a request that takes long is one line on a terminal', async () => {
  const wait = { why: 'answer', until: 58_000, attempt: 1, holder: 'shop.example:4011' } as const;
  const request = (reporter: Reporter): void => {
    reporter.waiting(wait);
    reporter.waiting(undefined);
    reporter.progress('1 of 3 set', [1, 3]);
    reporter.waiting(wait);
    reporter.waiting(undefined);
  };
  expect((await writtenBy(request, true)).split(ERASED)).toEqual([
    '',
    'Waiting for shop.example:4011; for at most 58 s. Ctrl-C stops.',
    '',
    '[█████▎          ] 1 of 3 set',
    '1 of 3 set; waiting for shop.example:4011, for at most 58 s. Ctrl-C stops.',
    '[█████▎          ] 1 of 3 set',
  ]);
});

it('elsewhere it is nothing, and ends the wait of no other request', async () => {
  const { promise, resolve } = Promise.withResolvers<HttpReply>();
  const window = { why: 'window-spent', until: 58_000, attempt: 1 } as const;
  const written = writtenBy(async (reporter) => {
    const { clock, service } = scriptedService([() => promise], { watch: reporter });
    const answered = exchange(service, { method: 'GET', path: '/inventory' });
    await clock.advance(2_500);
    reporter.waiting(window);
    resolve(reply());
    await answered;
    reporter.waiting(window);
  }, false);
  expect((await written).split('\n')).toEqual(['Rate limit reached; continuing at 00:00:58 (58 s).', '']);
});

it('the rate limit of a window that is over is not shown after a command', async () => {
  const limits = { limit: 60, remaining: 55, resetAt: 60_000 };
  const after = (ms: number): Promise<string> =>
    writtenBy((reporter, clock) => {
      reporter.watchLimits(() => limits);
      clock.now = ms;
      reporter.limits();
    }, true);
  expect(await after(37_000)).toBe('55 of 60 requests left, resets in 23 s (00:01:00)\n');
  expect(await after(60_000)).toBe('');
});
