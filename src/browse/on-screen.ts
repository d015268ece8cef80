/** The full screen of `inventory browse`: reads keys, draws, and reads the stock anew when asked to. */
import { Failure, isFailure } from '../errors.ts';
import { type Clock, type FullScreen, reasonOf } from '../ports.ts';
import { describeFailure } from '../report/failures.ts';
import type { CommandContext, Notices } from '../session/globals.ts';
import { waitLines } from '../view/progress.ts';
import { visible } from '../view/sanitise.ts';
import { createStyle, isColoured } from '../view/style.ts';
import type { Browser, End, Reload, Show } from './browser.ts';
import { drawScreen, pageOf } from './draw.ts';

const SECOND = 1_000;

/** How a visit to the table ends: by the user, a signal, or an error. Its signal ends a read of the list. */
function endOfVisit() {
  const { promise, resolve, reject } = Promise.withResolvers<End>();
  const stop = new AbortController();
  // It may fail before anyone waits for it.
  promise.catch(() => undefined);
  return {
    promise,
    signal: stop.signal,
    by: (end: End): void => {
      resolve(end);
      stop.abort(new Error('left'));
    },
    fail: (error: unknown): void => {
      reject(error);
      stop.abort(error);
    },
  };
}

export const browseOnScreen: Show = async (context, browser, reload) => {
  const { clock, env, globals, signal } = context;
  const style = await createStyle(isColoured({ choice: globals.color, env, isTTY: true }));
  const { environment } = await context.target();
  const shown = (text: string): string => visible(context.secrets.redact(text));
  const ending = endOfVisit();
  const { fail } = ending;
  const onSignal = (): void => {
    fail(reasonOf(signal));
  };
  let reading: Promise<void> | undefined;
  let stopReading = new AbortController();
  const read = (): void => {
    stopReading = new AbortController();
    const own = { ...context, signal: AbortSignal.any([signal, ending.signal, stopReading.signal]) };
    reading = readStock(own, browser, reload, painter).catch(fail);
  };
  const screen = await context.openScreen({
    onKey(key) {
      const request = browser.press(key);
      if (request === 'refresh') read();
      else if (request === 'stop') stopReading.abort(new Failure('interrupted', { signal: 'SIGINT' }));
      else if (request !== undefined) ending.by(request);
      painter.ask();
    },
    onRedraw: () => {
      painter.redraw();
    },
    onEnd: fail,
  });
  const draw = (): string[] => {
    const { columns, rows } = screen;
    browser.page = pageOf(rows);
    return drawScreen(browser, { environment, columns, rows, now: clock.now(), style, shown });
  };
  const painter = new Painter({ screen, clock, draw, onFailure: fail });
  signal.addEventListener('abort', onSignal, { once: true });
  const stopTicking = tick(clock, () => {
    painter.ask();
  });
  try {
    if (signal.aborted) throw reasonOf(signal);
    read();
    return await ending.promise;
  } finally {
    signal.removeEventListener('abort', onSignal);
    stopTicking();
    await reading;
    await painter.close();
    screen.close();
  }
};

/** Calls `ring` every second, for what counts down. */
function tick(clock: Clock, ring: () => void): () => void {
  let cancel = clock.alarm(SECOND, function again() {
    ring();
    cancel = clock.alarm(SECOND, again);
  });
  return () => {
    cancel();
  };
}

/** Reads the stock. A first read that fails ends the command; later, what was read before stays. */
async function readStock(context: CommandContext, browser: Browser, reload: Reload, painter: Painter): Promise<void> {
  let message = browser.message;
  const say = (text: string): void => {
    browser.message = text;
    painter.ask();
  };
  const isFirst = !browser.hasStock;
  browser.isBusy = true;
  say('Reading the stock…');
  try {
    const notices = onScreen(context, browser, say, (text) => (message = text));
    await reload({ ...context, notices });
  } catch (error) {
    if (isFirst || !isFailure(error)) throw error;
    message = describeFailure(error, context.clock.now()).message;
  } finally {
    browser.isBusy = false;
    say(message);
  }
}

/** Returns notices that appear in the line for messages. */
function onScreen(
  { clock, notices }: CommandContext,
  browser: Browser,
  say: (text: string) => void,
  warn: (text: string) => void,
): Notices {
  return {
    isLive: true,
    info: say,
    warning: warn,
    debug: () => undefined,
    attempt: () => undefined,
    progress: (line) => {
      if (line !== undefined) say(line);
    },
    waiting: (next) => {
      if (next !== undefined) say(waitLines({ ...next, now: clock.now() })[0]);
    },
    backoff: (next) => {
      if (next !== undefined) say(waitLines({ why: 'backoff', ...next, now: clock.now() })[0]);
    },
    watchLimits: (newest) => {
      browser.limits = newest;
      notices.watchLimits(newest);
    },
  };
}

/** Of DEC private mode 2026: a terminal that knows it shows all of it at once, others ignore it. */
const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';
const CLEAR = '\u001b[2J';

class Painter {
  private readonly screen: FullScreen;
  private readonly clock: Clock;
  private readonly draw: () => readonly string[];
  private readonly onFailure: (error: unknown) => void;
  private shown: readonly string[] | undefined;
  private isAsked = false;
  private isClosed = false;
  private painting: Promise<void> | undefined;

  constructor(parts: {
    readonly screen: FullScreen;
    readonly clock: Clock;
    readonly draw: () => readonly string[];
    /** Called where the terminal cannot be written to. */
    readonly onFailure: (error: unknown) => void;
  }) {
    this.screen = parts.screen;
    this.clock = parts.clock;
    this.draw = parts.draw;
    this.onFailure = parts.onFailure;
  }

  /** Draws soon: several keys that have arrived together are drawn once. */
  ask(): void {
    this.isAsked = true;
    this.painting ??= this.paint();
  }

  /** Draws all lines again. */
  redraw(): void {
    this.shown = undefined;
    this.ask();
  }

  /** Resolves once nothing is written any more. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.painting;
  }

  private async paint(): Promise<void> {
    try {
      while (this.isAsked && !this.isClosed) {
        await this.clock.turn();
        this.isAsked = false;
        const text = this.changes();
        if (text !== '') await this.screen.write(text);
      }
    } catch (error) {
      this.onFailure(error);
    } finally {
      this.painting = undefined;
    }
  }

  private changes(): string {
    const lines = this.draw();
    const old = this.shown;
    this.shown = lines;
    const changed = lines.map((line, i) => (old?.[i] === line ? '' : `\u001b[${i + 1};1H${line}\u001b[K`));
    const text = (old === undefined ? CLEAR : '') + changed.join('');
    return text === '' ? '' : BEGIN + text + END;
  }
}
