import { expect, it } from 'vitest';
import { Reporter } from '../../src/cli/reporter.ts';
import { PLAIN } from '../../src/view/style.ts';

/** What the progress of a run of three rows, six seconds each, writes. */
async function written(isTTY: boolean, isJson = false): Promise<string> {
  let text = '';
  let now = 0;
  const write = (piece: string | Uint8Array): Promise<void> => {
    text += String(piece);
    return Promise.resolve();
  };
  const reporter = new Reporter({
    stderr: { isTTY, columns: 80, write },
    clock: { now: () => now, monotonic: () => now },
    settings: { quiet: false, verbose: false, debug: false, showLimits: false, isJson },
    style: PLAIN,
    animate: isTTY,
    isWatched: isTTY,
    isUnicode: true,
    redact: String,
  });
  for (let done = 0; done < 4; done++, now += 6_000) reporter.progress(`${done} of 3 set`, [done, 3]);
  reporter.progress(undefined);
  await reporter.flush();
  return text;
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
