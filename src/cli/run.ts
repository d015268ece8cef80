/** One invocation: argv -> command -> view -> text -> exit code. */
import { Reporter, type ReporterSettings } from './reporter.ts';
import type { CommandContext, Globals, OpenWrite } from '../session/globals.ts';
import { readConfigFile } from '../session/config-file.ts';
import { UNSAID } from './global-options.ts';
import { lazySettings, once } from '../session/resolve.ts';
import { partsOf } from '../session/environments.ts';
import { find, SETTINGS, type Stored } from '../session/settings.ts';
import { type Context, type Output, OutputClosed, reasonOf } from '../ports.ts';
import { EXIT, Failure, isFailure } from '../errors.ts';
import type { RunLog, RunStart } from './run-log.ts';
import { type Commands, readRequest, type Request, resolveRequest, type RunInvocation } from './parse.ts';
import { lastValue } from './scan.ts';
import type { Secrets } from '../redact.ts';
import { redactedPorts, secretsIn } from './redacted-ports.ts';
import { hasUnicode } from '../view/bar.ts';
import { wordIn } from './value-parsers.ts';
import { render } from '../view/formats.ts';
import { FORMAT_FACTS, FORMATS } from '../view/output-formats.ts';
import { createStyle, isColoured, type Style } from '../view/style.ts';
import type { View } from '../view/view.ts';

/**
 * Runs the command that argv names. Never rejects: every failure is reported and becomes an exit code.
 * `onCommand` receives the command that the line names, and whether it runs on the sandbox: `sandbox.inventory.list`.
 */
export async function run(
  commands: Commands,
  argv: readonly string[],
  context: Context,
  onCommand?: (name: string) => void,
): Promise<number> {
  const secrets = secretsIn(context.env);
  let safe = redactedPorts(context, secrets);
  const configFile = once(() => readConfigFile(safe));
  const stored = async (): Promise<Stored> => {
    // A command that needs the config reports what is wrong with it.
    const file = await configFile().catch(() => undefined);
    return { env: safe.env, config: file?.config ?? {} };
  };
  let request: Request | undefined;
  let invocation: RunInvocation | string;
  try {
    request = await readRequest(commands, argv);
    safe = { ...safe, env: { ...safe.env, PETSTORE_PROFILE: profileOn(request, safe.env) } };
    onCommand?.(codeName(request, context.env));
    invocation = await resolveRequest(request, commands, Math.max(context.stdout.columns ?? 80, 20), stored);
    if (typeof invocation === 'string') {
      await safe.stdout.write(invocation);
      return EXIT.ok;
    }
  } catch (error) {
    const format = request?.line.format ?? find(SETTINGS.output, await stored())?.value ?? '';
    return reportEarly(request?.line, error, safe, secrets, format);
  }
  const options = request.line.tokens.flatMap(({ role, text }) => (role === 'option' ? [text] : []));
  return runCommand({ ...invocation, options }, { ...safe, configFile }, secrets);
}

/** Returns the profile that the line names, or else the variables. */
function profileOn({ line }: Request, env: Context['env']): string | undefined {
  const [said, set] = [lastValue(line, '--env'), env.PETSTORE_ENV].map((place = '') => partsOf(place).profile);
  return said ?? lastValue(line, '--profile') ?? set ?? env.PETSTORE_PROFILE;
}

/** Returns the environment that hints name: the one of --env, or of a profile, which another shell may not have. */
async function hintedPlace({ env, globals, settings }: CommandContext): Promise<string | undefined> {
  if (env.PETSTORE_PROFILE === undefined) return globals.env;
  const place = await settings().then(
    ({ environment }) => environment.value,
    () => undefined,
  );
  return place ?? globals.env;
}

function codeName({ line }: Request, env: Context['env']): string {
  const place = (lastValue(line, '--env') ?? env.PETSTORE_ENV) === 'sandbox' ? ['sandbox'] : [];
  return [...place, ...(line.path === '' ? ['none'] : line.path.split(' '))].join('.');
}

async function runCommand(
  { command, globals, input, options }: RunInvocation & Pick<RunStart, 'options'>,
  context: Context & Pick<CommandContext, 'configFile'>,
  secrets: Secrets,
): Promise<number> {
  const ending = endingOf(context, globals.deadline, command.graceMs);
  const style = await styleFor(context, context.stdout, globals.color);
  const notices = await reporterFor(context, globals, secrets);
  const ports = { ...context, signal: ending.signal, globals, notices, secrets, openWrites: new Set<OpenWrite>() };
  const commandContext: CommandContext = { ...ports, ...lazySettings(ports) };
  let code: number = EXIT.ok;
  let kind: string | undefined;
  let log: RunLog | undefined;
  try {
    if (globals.log !== undefined) {
      const { openRunLog } = await import('./run-log.ts');
      log = await openRunLog({ ...context, notices }, globals.log, { command: command.path, options });
      notices.logTo(log);
    }
    const work = async (): Promise<void> => {
      const view = await command.run(input, commandContext);
      // Flush stderr and clear the live line first: stdout and stderr may share a terminal.
      await ending.taken(notices.flush());
      await show(view, commandContext, ending, style);
    };
    await ending.inTime(Promise.race([work(), context.uncaught]));
    notices.limits();
  } catch (error) {
    if (!(error instanceof OutputClosed)) {
      const { failureOf } = await import('./error-output.ts');
      const failure = failureOf(error, command.path, ports.openWrites);
      notices.limits();
      code = await notices.failure(failure, await hintedPlace(commandContext));
      ({ kind } = failure);
    }
  }
  await log?.end(code, kind);
  await ending.taken(notices.flush()).catch(() => undefined);
  ending.cancel();
  return code;
}

/** Prints a view, and what belongs below it on stderr. @throws {Failure} that of the view, of its check, or of the output */
async function show(view: View, context: CommandContext, ending: Ending, style: Style): Promise<void> {
  const { globals, notices, secrets, stdout } = context;
  const { columns: width, isTTY } = stdout;
  const { isForPeople } = FORMAT_FACTS[globals.output];
  const isDone = view.view === 'record' && view.isConfirmation === true && view.failure === undefined;
  // A confirmation with a failure, or in a format for programs, is printed all the same.
  const shown = isDone && globals.quiet && isForPeople ? ({ view: 'text', text: '' } as const) : view;
  const failure = view.view === 'record' || view.view === 'raw' ? view.failure : undefined;
  const screen = { width, isTTY, style, isUnicode: hasUnicode(context), format: globals.output };
  const chunks = render(shown, { ...screen, redact: (text) => secrets.redact(text) });
  const isWork = view.view === 'rows' && view.isWork === true;
  const count = await print(chunks, context, ending, view.view === 'rows' && !isWork).catch((error: unknown) => {
    // A reader that has gone does not make a failed command succeed.
    const failed = isWork ? view.check?.(0) : failure;
    if ((error instanceof OutputClosed || isWork) && failed !== undefined) throw failed;
    if (!isFailure(error) || !(isDone || isWork)) throw error;
    if (error.is('output')) throw new Failure('output', { ...error.details, isDone: true }, error);
    throw error.is('interrupted') ? new Failure('interrupted', { ...error.details, outcome: 'applied' }) : error;
  });
  if (failure !== undefined) throw failure;
  if (view.view !== 'rows' && view.view !== 'chart') return;
  const summary = isTTY && view.view === 'rows' ? view.summary?.(count) : undefined;
  if (isForPeople) notices.info(count === 0 ? view.empty : (summary ?? ''));
  const failed = view.view === 'rows' ? view.check?.(count) : undefined;
  if (failed !== undefined) throw failed;
}

/** The longest that signals and timers wait while a long output is written without a pause, in ms. */
const TURN_MS = 50;

/** Writes as the reader takes it; what `stops` is not written to its end after a signal. Returns the number of rows. */
async function print(
  chunks: AsyncGenerator<string | Uint8Array, number>,
  { clock, stdout }: Pick<Context, 'clock' | 'stdout'>,
  ending: Ending,
  stops: boolean,
): Promise<number> {
  let turned = clock.monotonic();
  try {
    for (;;) {
      const next = await chunks.next();
      if (next.done === true) return next.value;
      await ending.taken(stdout.write(next.value));
      if (clock.monotonic() - turned < TURN_MS) continue;
      await ending.taken(clock.turn());
      if (stops && ending.signal.aborted) throw reasonOf(ending.signal);
      turned = clock.monotonic();
    }
  } finally {
    await chunks.return(0);
  }
}

/** Reports what is wrong with a command line. `format`: of the output, as it was typed. */
async function reportEarly(
  line: Request['line'] | undefined,
  error: unknown,
  context: Context,
  secrets: Secrets,
  format: string,
): Promise<number> {
  if (error instanceof OutputClosed) return EXIT.ok;
  const { toFailure } = await import('./error-output.ts');
  const isPlain = line?.tokens.some(({ role, text }) => role === 'option' && text === '--no-color') === true;
  const output = wordIn(FORMATS, format) ?? 'table';
  const notices = await reporterFor(context, { ...UNSAID, color: isPlain ? 'never' : 'auto', output }, secrets);
  const code = await notices.failure(toFailure(error));
  await notices.flush();
  return code;
}

async function reporterFor(
  context: Context,
  globals: Omit<ReporterSettings, 'isJson'> & Pick<Globals, 'color' | 'output'>,
  secrets: Secrets,
): Promise<Reporter> {
  const { stdout, stderr, clock, env } = context;
  return new Reporter({
    stderr,
    clock,
    settings: { ...globals, isJson: FORMAT_FACTS[globals.output].isJson },
    style: await styleFor(context, stderr, globals.color),
    animate: stderr.isTTY && env.TERM !== 'dumb',
    isWatched: stdout.isTTY,
    isUnicode: hasUnicode(context),
    redact: (text) => secrets.redact(text),
  });
}

function styleFor(context: Context, output: Output, choice: Globals['color']): Promise<Style> {
  return createStyle(isColoured({ choice, env: context.env, isTTY: output.isTTY }));
}

/** How long a command may take to end once it is to stop, in ms: 2 s for a write in flight, and time to record it. */
const GRACE_MS = 3_000;
/** How long a reader may leave output in a full pipe then, in ms. */
const READER_MS = 500;

/** When a command has to end: on a signal or at its deadline, and soon after, whatever holds it up. */
type Ending = ReturnType<typeof endingOf>;

function endingOf(
  { clock, signal: stop }: Pick<Context, 'clock' | 'signal'>,
  deadlineMs: number | undefined,
  graceMs = GRACE_MS,
) {
  const cancels: (() => void)[] = [];
  const after = (ms: number, ring: () => void): void => {
    cancels.push(clock.alarm(ms, ring));
  };
  const deadline = new AbortController();
  const signal = AbortSignal.any([stop, deadline.signal]);
  if (deadlineMs !== undefined) {
    after(deadlineMs, () => {
      deadline.abort(new Failure('deadline', { deadlineMs }));
    });
  }
  /** Rejects with the signal's reason where the work takes longer than this after the signal. */
  const within = async (ms: number, work: Promise<void>): Promise<void> => {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const onStop = (): void => {
      after(ms, () => {
        reject(signal.reason);
      });
    };
    if (signal.aborted) onStop();
    else signal.addEventListener('abort', onStop, { once: true });
    try {
      await Promise.race([work, late]);
    } finally {
      signal.removeEventListener('abort', onStop);
    }
  };
  return {
    /** Aborts on the program's signal, or at the deadline. */
    signal,
    /** Waits for the command, once it is to stop not longer than its grace. @throws the signal's reason */
    inTime: (command: Promise<void>) => within(graceMs, command),
    /** Waits for output to be taken; not for long once the command is to stop. @throws the signal's reason */
    taken: (output: Promise<void>) => within(READER_MS, output),
    cancel: (): void => {
      for (const cancel of cancels) cancel();
    },
  };
}
