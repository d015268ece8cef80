/**
 * Writes everything that goes to stderr: warnings, request attempts, wait countdowns, rate limits and errors. With JSON
 * output each is one line of JSON, and information appears only with --verbose.
 */
import type { AttemptFacts } from '../client/service.ts';
import type { RunLog } from './run-log.ts';
import type { CommandContext, Notices } from '../session/globals.ts';
import { showsInfo } from '../session/resolve.ts';
import type { RateLimit, Wait } from '../ports.ts';
import type { ExitCode, Failure } from '../errors.ts';
import { type Began, duration, limitWords, liveLine, progressLines, type Share, waitLines } from '../view/progress.ts';
import { FORMAT_FACTS } from '../view/view.ts';
import { visible } from '../view/words.ts';
import { forPeople, type Style } from '../view/style.ts';

/** How often the progress of a run is printed without a terminal, in ms. */
const LOG_PACE_MS = 10_000;
/** Fraction of the limit below which it needs attention. */
const LOW_SHARE = 0.2;

export class Reporter implements Notices {
  readonly isLive: boolean;
  /** Also gets each attempt (--log). */
  log: RunLog | undefined;
  private readonly context: Pick<CommandContext, 'clock' | 'env' | 'globals' | 'secrets' | 'stderr' | 'stdout'>;
  private readonly isJson: boolean;
  private readonly style: Style;
  private readonly live: ReturnType<typeof liveLine> | undefined;
  private newestLimits: () => RateLimit | undefined = () => undefined;
  private pending: Promise<void> = Promise.resolve();
  private announced = false;
  private isWrite = false;
  /** True once the time of --retry-for has been announced. */
  private isRetrying = false;
  /** Progress of the current run, which is shown with its waits. */
  private progressLine: string | undefined;
  private share: Share | undefined;
  private began: (Began & { loggedAt: number }) | undefined;

  constructor(context: Reporter['context'], style: Style) {
    this.context = context;
    this.style = style;
    const { env, globals, stderr } = context;
    this.isJson = FORMAT_FACTS[globals.output].isJson;
    this.live = stderr.isTTY && env.TERM !== 'dumb' && !globals.quiet ? liveLine(stderr) : undefined;
    this.isLive = this.live !== undefined;
  }

  info(text: string): void {
    if (text !== '' && showsInfo(this.context.globals)) this.say('info', text);
  }

  warning(text: string): void {
    this.say('warning', text);
  }

  debug(text: string): void {
    if (this.context.globals.debug) this.say('debug', text);
  }

  attempt(facts: AttemptFacts): void {
    const { method, url, status, failure, ms } = facts;
    const limits = this.newestLimits();
    this.log?.attempt(facts, limits);
    if (!this.context.globals.verbose) return;
    const result = failure === undefined ? status : `${failure.phase} (${failure.code})`;
    const left = limits === undefined ? '' : `, ${limits.remaining}/${limits.limit} left`;
    this.say('info', `${method} ${url} ${result} in ${Math.round(ms)} ms${left}`);
    if (failure !== undefined) this.debug(failure.detail);
  }

  progress(line: string | undefined, share?: Share): void {
    const { live } = this;
    const at = this.context.clock.monotonic();
    this.progressLine = line;
    this.share = share;
    this.began = share && { at, done: share[0], loggedAt: at, ...this.began };
    if (line === undefined) this.later(() => live?.clear());
    else if (live !== undefined) {
      const lines = progressLines(this.shown(line), share, this.began, at);
      this.later(() => live.draw(...lines));
    } else if (this.began !== undefined && at - this.began.loggedAt >= LOG_PACE_MS) {
      this.began.loggedAt = at;
      this.info(`${line}.`);
    }
  }

  waiting(wait: Wait | undefined): void {
    if (wait === undefined) {
      if (this.announced) this.progress(this.progressLine, this.share);
      this.announced = false;
      return;
    }
    const { live, progressLine } = this;
    const progress = progressLine && this.shown(progressLine);
    const lines = waitLines(wait, { now: this.context.clock.now(), canStop: live !== undefined, progress });
    // One line for all waits of --retry-for.
    const isAnnounced = this.announced || ('giveUpAt' in wait && this.isRetrying);
    this.isRetrying ||= 'giveUpAt' in wait;
    if (live !== undefined) this.later(() => live.draw(...lines));
    // Without a terminal, one line for each wait.
    else if (!isAnnounced && lines[0] !== progress) this.info(lines[0]);
    else return;
    this.announced = true;
  }

  recovered({ attempts, ms }: { readonly attempts: number; readonly ms: number }): void {
    if (!this.isRetrying) return;
    this.isRetrying = false;
    this.info(`The service answers again, after ${duration(ms)} (${attempts} tries).`);
  }

  writes(): void {
    this.isWrite = true;
  }

  watchLimits(newest: () => RateLimit | undefined): void {
    this.newestLimits = newest;
  }

  /** Prints `7 of 60 requests left, …` on request, and for people on a terminal. */
  limits(): void {
    const limits = this.newestLimits();
    const { clock, globals, stderr, stdout } = this.context;
    if (limits === undefined || globals.quiet) return;
    const { limit, remaining, resetAt } = limits;
    const isLow = remaining < LOW_SHARE * limit;
    // A question or an editor may have outlasted the window.
    const isForPeople = stderr.isTTY && !this.isJson && (stdout.isTTY || isLow) && clock.now() < resetAt;
    if (!isForPeople && !globals.showLimits && !globals.verbose) return;
    if (this.isJson) this.object('rateLimit', { limit, remaining, resetAt: new Date(resetAt).toISOString() });
    else this.print([limitWords(limits, clock.now())], this.style[isLow ? 'attention' : 'muted']);
  }

  /** Prints the failure, and returns the exit code. @param env environment for the commands in the hint */
  async failure(failure: Failure, env?: string): Promise<ExitCode> {
    const { formatErrorJson, formatErrorLines } = await import('./error-output.ts');
    const { describeFailure } = await import('../report/failures.ts');
    const now = this.context.clock.now();
    if (this.context.globals.debug || failure.is('bug')) this.stack(failure);
    // The most important line comes last.
    if (this.isJson) this.write(formatErrorJson(failure, now, env, this.isWrite));
    else this.print(formatErrorLines(failure, now, env));
    return describeFailure(failure, now).exit;
  }

  /** Resolves once all pending output is written. */
  flush(): Promise<void> {
    return this.pending;
  }

  private stack(failure: Failure): void {
    const lines: string[] = [];
    for (let error: unknown = failure; error instanceof Error; error = error.cause) {
      lines.push(...(error.stack ?? error.message).split('\n'));
    }
    const text = lines.map((line) => this.shown(line)).join('\n');
    if (this.isJson) this.object('debug', { message: text });
    else this.write(text);
  }

  /** Redacts a text, and only then escapes, wraps or cuts it. */
  private shown(text: string): string {
    return visible(this.context.secrets.redact(text));
  }

  private say(kind: 'info' | 'warning' | 'debug', text: string): void {
    const message = this.shown(text);
    if (this.isJson) this.object(kind, { message });
    else this.print([kind === 'info' ? message : `${kind}: ${message}`]);
  }

  private object(kind: string, members: Readonly<Record<string, string | number>>): void {
    this.write(JSON.stringify({ [kind]: members }));
  }

  private print(lines: readonly string[], paint: (text: string) => string = String): void {
    if (lines.length === 0) return;
    const { columns: width } = this.context.stderr;
    this.write(forPeople(lines, { width, style: this.style }).then(paint));
  }

  private write(line: string | Promise<string>): void {
    this.later(async () => {
      const text = await line;
      await this.live?.clear();
      await this.context.stderr.write(`${text}\n`);
    });
  }

  /** A closed stderr is ignored. */
  private later(work: () => Promise<void> | undefined): void {
    this.pending = this.pending.then(work).catch(() => undefined);
  }
}
