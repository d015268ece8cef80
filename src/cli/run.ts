/** One invocation: argv -> command -> view -> text -> exit code. */
import { Reporter, type ReporterSettings } from './reporter.ts';
import type { CommandContext, Globals, OpenWrite } from '../session/globals.ts';
import { readConfigFile } from '../session/config-file.ts';
import { lazySettings, once } from '../session/target.ts';
import { partsOf } from '../session/environments.ts';
import { find, SETTINGS, type Stored } from '../session/settings.ts';
import { type Context, DatabaseFailure, type Output, OutputClosed, reasonOf } from '../ports.ts';
import { type Ending, endingOf } from './ending.ts';
import { EXIT, Failure, isFailure } from '../errors.ts';
import type { RunLog, RunStart } from './run-log.ts';
import { type Commands, readRequest, type Request, resolveRequest, type RunInvocation } from './parse.ts';
import { lastValue } from './scan.ts';
import { decoded, Secrets } from '../redact.ts';
import { redactedPorts } from './redacted-ports.ts';
import { describeFailure } from '../report/failures.ts';
import { hasUnicode } from '../view/bar.ts';
import { wordIn } from './values.ts';
import { render } from '../view/formats.ts';
import { FORMAT_FACTS, FORMATS } from '../view/output-formats.ts';
import { createStyle, isColoured, type Style } from '../view/style.ts';
import type { ChartView, RowsView, View } from '../view/view.ts';

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
  const secrets = new Secrets();
  addFromEnvironment(secrets, context.env);
  const safe = { ...redactedPorts(context, secrets) };
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
    safe.env = { ...safe.env, PETSTORE_PROFILE: profileOn(request, safe.env) };
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
  invocation: RunInvocation & Pick<RunStart, 'options'>,
  context: Context & Pick<CommandContext, 'configFile'>,
  secrets: Secrets,
): Promise<number> {
  const { command, globals, input } = invocation;
  const ending = endingOf(context, globals.deadline, command.graceMs);
  const stdoutStyle = await styleFor(context, context.stdout, globals.color);
  const notices = await consoleFor(context, { ...globals, isJson: FORMAT_FACTS[globals.output].isJson }, secrets);
  const openWrites = new Set<OpenWrite>();
  const ports = { ...context, signal: ending.signal, globals, notices, secrets, openWrites };
  const commandContext: CommandContext = { ...ports, ...lazySettings(ports) };
  let code: number = EXIT.ok;
  let failed: Failure | undefined;
  let log: RunLog | undefined;
  try {
    if (globals.log !== undefined) {
      const { openRunLog } = await import('./run-log.ts');
      const start = { command: command.path, options: invocation.options };
      log = await openRunLog({ ...context, notices }, globals.log, start);
      notices.logTo(log);
    }
    const work = async (): Promise<void> => {
      const view = await command.run(input, commandContext);
      // Flush stderr and clear the live line first: stdout and stderr may share a terminal.
      await ending.taken(notices.flush());
      const { columns: width, isTTY } = context.stdout;
      const screen = { width, isTTY, style: stdoutStyle, isUnicode: hasUnicode(context), format: globals.output };
      const shown = isSilent(view, globals) ? ({ view: 'text', text: '' } as const) : view;
      const failure = view.view === 'record' || view.view === 'raw' ? view.failure : undefined;
      const chunks = render(shown, { ...screen, redact: (text) => secrets.redact(text) });
      const count = await print(chunks, context, ending, view.view === 'rows' && view.isWork !== true).catch(
        (error: unknown) => {
          // A reader that has gone does not make a failed command succeed.
          if (error instanceof OutputClosed && failure !== undefined) throw failure;
          if (!isFailure(error) || !isDone(view)) throw error;
          if (error.is('output')) throw new Failure('output', { ...error.details, isDone: true }, error);
          throw error.is('interrupted') ? new Failure('interrupted', { ...error.details, outcome: 'applied' }) : error;
        },
      );
      if (failure !== undefined) throw failure;
      if (view.view !== 'rows' && view.view !== 'chart') return;
      if (FORMAT_FACTS[globals.output].isForPeople) notices.info(lineBelow(view, count, isTTY));
      const failed = view.view === 'rows' ? view.check?.(count) : undefined;
      if (failed !== undefined) throw failed;
    };
    await ending.inTime(Promise.race([work(), context.uncaught]));
    notices.limits();
  } catch (error) {
    if (!(error instanceof OutputClosed)) {
      const failure = withWrite(withHelp(toFailure(error), command.path), openWrites);
      notices.limits();
      notices.failure(failure, await hintedPlace(commandContext));
      code = describeFailure(failure, context.clock.now()).exit;
      failed = failure;
    }
  }
  await log?.end(code, failed?.kind);
  await ending.taken(notices.flush()).catch(() => undefined);
  ending.cancel();
  return code;
}

/** Returns what is printed on stderr below a table or in its place; empty for nothing. */
function lineBelow(view: RowsView | ChartView, count: number, isTTY: boolean): string {
  if (count === 0) return view.empty;
  return isTTY && view.view === 'rows' ? (view.summary?.(count) ?? '') : '';
}

/** True for the confirmation of a command that has changed something, all of it. */
function isDone(view: View): boolean {
  return view.view === 'record' && view.isConfirmation === true && view.failure === undefined;
}

/** True for a confirmation that --quiet leaves out. One with a failure, or in a format for programs, is printed. */
function isSilent(view: View, { quiet, output }: Globals): boolean {
  return isDone(view) && quiet && FORMAT_FACTS[output].isForPeople;
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

async function reportEarly(
  line: Request['line'] | undefined,
  error: unknown,
  context: Context,
  secrets: Secrets,
  format: string,
): Promise<number> {
  if (error instanceof OutputClosed) return EXIT.ok;
  const failure = toFailure(error);
  const isPlain = line?.tokens.some(({ role, text }) => role === 'option' && text === '--no-color') === true;
  const flags = { quiet: false, verbose: false, debug: false, showLimits: false } as const;
  const output = wordIn(FORMATS, format) ?? 'table';
  const settings = { ...flags, color: isPlain ? 'never' : 'auto', isJson: FORMAT_FACTS[output].isJson } as const;
  const notices = await consoleFor(context, settings, secrets);
  notices.failure(failure);
  await notices.flush();
  return describeFailure(failure, context.clock.now()).exit;
}

type ConsoleSettings = ReporterSettings & Pick<Globals, 'color'>;

async function consoleFor(context: Context, settings: ConsoleSettings, secrets: Secrets): Promise<Reporter> {
  const { stdout, stderr, clock } = context;
  const style = await styleFor(context, stderr, settings.color);
  const animate = stderr.isTTY && context.env.TERM !== 'dumb';
  return new Reporter({
    stderr,
    clock,
    settings,
    style,
    animate,
    isWatched: stdout.isTTY,
    isUnicode: hasUnicode(context),
    redact: (text) => secrets.redact(text),
  });
}

function styleFor(context: Context, output: Output, choice: Globals['color']): Promise<Style> {
  return createStyle(isColoured({ choice, env: context.env, isTTY: output.isTTY }));
}

function toFailure(error: unknown): Failure {
  if (isFailure(error)) return error;
  // What failed first, where closing a session or a file has failed too (`using`).
  if (error instanceof Error && 'suppressed' in error) return toFailure(error.suppressed);
  if (error instanceof DatabaseFailure) {
    return new Failure('state', { path: 'the state folder', problem: 'unusable', detail: error.message }, error);
  }
  const full = tooManyFiles(error);
  if (full !== undefined) return full;
  return new Failure('bug', { message: error instanceof Error ? error.message : String(error) }, error);
}

/** Returns what a command reports that has to end before a write is recorded: what became of the write comes first. */
function withWrite(failure: Failure, open: ReadonlySet<OpenWrite>): Failure {
  const [first] = [...open].sort((a, b) => b.outcome.localeCompare(a.outcome));
  if (first === undefined) return failure;
  const { outcome, ...write } = first;
  if (failure.is('interrupted')) return new Failure('interrupted', { ...failure.details, outcome, write });
  if (!failure.is('deadline')) return failure;
  if (outcome === 'applied') return new Failure('unrecorded', { ...write, because: failure });
  return new Failure('outcome-unknown', { ...write, because: failure, looked: false });
}

/** Returns the failure where the machine lets the program open no more files, whatever it was about to do. */
function tooManyFiles(error: unknown): Failure | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, path } = cause as Error & { code?: unknown; path?: unknown };
    if (code === 'EMFILE' || code === 'ENFILE')
      return new Failure('file', { operation: 'open', path: typeof path === 'string' ? path : 'a file', code }, error);
  }
  return undefined;
}

/** Usage errors without a hint of their own point to the command's help. */
function withHelp(failure: Failure, path: string): Failure {
  if (!failure.is('usage') || failure.details.hint !== undefined) return failure;
  return new Failure('usage', { ...failure.details, hint: `See: petstore ${path} --help` }, failure);
}

/** Passwords that the environment holds for other purposes, and that an error text might repeat. */
function addFromEnvironment(secrets: Secrets, env: Context['env']): void {
  secrets.add(env.PETSTORE_API_KEY ?? '');
  const proxies = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];
  for (const name of [...proxies, 'PETSTORE_LEDGER']) {
    // Up to the last @: an unescaped password may hold any character.
    const password = /^(?:[a-z][\w+.-]*:\/\/)?[^:@]*:(.*)@/i.exec(env[name] ?? '')?.[1] ?? '';
    secrets.add(password);
    secrets.add(decoded(password));
  }
}
