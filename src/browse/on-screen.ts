/** The full screen of `inventory browse`: reads keys, draws, and reads the stock again on request. */
import { Failure, isFailure } from '../errors.ts';
import type { Clock, FullScreen } from '../ports.ts';
import { describeFailure } from '../report/failures.ts';
import type { CommandContext, Notices } from '../session/globals.ts';
import { untilStop } from '../stop.ts';
import { waitLines } from '../view/progress.ts';
import { visible } from '../view/words.ts';
import { createStyle } from '../view/style.ts';
import { prepareWidths } from '../view/width.ts';
import type { Browser, End, Reload, Show } from './browser.ts';
import { drawScreen } from './draw.ts';
import { press } from './keys.ts';

const SECOND = 1_000;

export const browseOnScreen: Show = async (context, browser, reload) => {
  const { clock, env, globals, signal } = context;
  await prepareWidths(['→']);
  const looks = {
    style: await createStyle({ choice: globals.color, env, isTTY: true }),
    environment: (await context.target()).environment,
    shown: (text: string): string => visible(context.secrets.redact(text)),
  };
  const ended = Promise.withResolvers<End>();
  // It may fail before it is awaited.
  ended.promise.catch(() => undefined);
  let reading: Promise<void> | undefined;
  let stopReading = new AbortController();
  const read = (): void => {
    stopReading = new AbortController();
    const own = { ...context, signal: AbortSignal.any([signal, stopReading.signal]) };
    reading = readStock(own, browser, reload, painter.ask).catch(ended.reject);
  };
  const screen = await context.openScreen({
    onKey(key) {
      const request = press(browser, key);
      if (request === 'refresh') read();
      else if (request === 'stop') stopReading.abort(new Failure('interrupted', { signal: 'SIGINT' }));
      else if (request !== undefined) ended.resolve(request);
      painter.ask();
    },
    onRedraw: () => {
      painter.redraw();
    },
    onEnd: ended.reject,
  });
  const painter = painterOf(screen, clock, () => {
    const { columns, rows } = screen;
    return drawScreen(browser, { ...looks, columns, rows, now: clock.now() });
  });
  const closing = new AbortController();
  const painting = painter.paint(closing.signal).catch(ended.reject);
  try {
    read();
    return await untilStop(context, 0, ended.promise);
  } finally {
    closing.abort();
    painter.ask();
    stopReading.abort();
    await reading;
    await painting;
    screen.close();
  }
};

/** Reads the stock. If the first read fails, the command ends; later the earlier stock and message stay. */
async function readStock(context: CommandContext, browser: Browser, reload: Reload, redraw: () => void): Promise<void> {
  const isFirst = !browser.hasStock;
  const say = (text: string | undefined): void => {
    if (text === undefined) return;
    browser.reading = text;
    redraw();
  };
  say('Reading the stock…');
  try {
    await reload({ ...context, notices: onScreen(context, browser, say) });
  } catch (error) {
    if (isFirst || !isFailure(error)) throw error;
    const { message } = describeFailure(error, context.clock.now());
    browser.message = `${browser.message} ${message} ^R tries again.`.trim();
  } finally {
    browser.reading = undefined;
    redraw();
  }
}

/** Returns notices that appear in the line for messages. @param say shows a text until the stock is read */
function onScreen({ clock, globals, notices }: CommandContext, browser: Browser, say: Notices['progress']): Notices {
  const none = (): void => undefined;
  return {
    isLive: true,
    info: say,
    progress: say,
    warning: (text) => {
      browser.message = text;
    },
    debug: none,
    recovered: none,
    // Lines on stderr would appear on the screen; they go to the log.
    attempt: (facts) => {
      if (!globals.verbose) notices.attempt(facts);
    },
    waiting: (wait) => {
      say(wait && waitLines(wait, { now: clock.now() })[0]);
    },
    writes: none,
    watchLimits: (newest) => {
      browser.limits = newest;
      notices.watchLimits(newest);
    },
  };
}

/** DEC private mode 2026, synchronized output: terminals without it ignore it. */
const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';
const CLEAR = '\u001b[2J';

function painterOf(screen: FullScreen, clock: Clock, draw: () => string[]) {
  /** Empty before the first line is drawn. */
  let shown: readonly string[] = [];
  let asked = Promise.withResolvers<undefined>();
  const ask = (): void => {
    asked.resolve(undefined);
  };
  return {
    ask,
    redraw(): void {
      shown = [];
      ask();
    },
    /** Draws when asked, and once a second for countdowns. Rejects if the terminal cannot be written to. */
    async paint(until: AbortSignal): Promise<void> {
      for (;;) {
        const cancel = clock.alarm(SECOND, ask);
        await asked.promise;
        cancel();
        // Keys that arrive together cause only one drawing.
        await clock.turn();
        if (until.aborted) return;
        asked = Promise.withResolvers();
        const old = shown;
        shown = draw();
        // Cleared first: after a full line, a terminal would clear its last character.
        const changed = shown.map((line, i) => (old[i] === line ? '' : `\u001b[${i + 1};1H\u001b[K${line}`)).join('');
        const text = old.length === 0 ? CLEAR + changed : changed;
        if (text !== '') await screen.write(BEGIN + text + END);
      }
    },
  };
}
