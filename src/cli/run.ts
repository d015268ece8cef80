/** Runs one invocation: argv -> command -> view -> text -> exit code. */
import { Reporter } from './reporter.ts';
import type { CommandContext, OpenWrite } from '../session/globals.ts';
import { readConfigFile } from '../session/config-file.ts';
import { lazySettings, once } from '../session/resolve.ts';
import { partsOf } from '../session/environments.ts';
import { hintedPlace, withEnvironment } from '../session/run-commands.ts';
import type { Stored } from '../session/settings.ts';
import { type Context, OutputClosed, reasonOf } from '../ports.ts';
import { EXIT, Failure, isFailure, usageFailure } from '../errors.ts';
import { type Stop, untilStop } from '../stop.ts';
import {
  type Commands,
  failedInvocation,
  readRequest,
  type Request,
  resolveRequest,
  type RunInvocation,
} from './parse.ts';
import { lastValue } from './scan.ts';
import type { Secrets } from '../redact.ts';
import { redactedPorts, secretsIn } from './redacted-ports.ts';
import { render } from '../view/formats.ts';
import { FORMAT_FACTS, type View } from '../view/view.ts';
import { createStyle, type Style } from '../view/style.ts';

/**
 * Runs the command that argv names. Never rejects: reports every failure and returns its exit code.
 * `onCommand` receives the name of the command, with a prefix if it runs on the sandbox: `sandbox.inventory.list`.
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
    // A command that needs the config reports its problems.
    const file = await configFile().catch(() => undefined);
    return { env: safe.env, config: file?.config ?? {} };
  };
  let request: Request | undefined;
  let invocation: RunInvocation | string;
  try {
    request = await readRequest(commands, argv);
    safe = { ...safe, env: { ...safe.env, PETSTORE_PROFILE: profileOn(request, safe.env) } };
    const { line } = request;
    const place = (lastValue(line, '--env') ?? context.env.PETSTORE_ENV) === 'sandbox' ? ['sandbox'] : [];
    onCommand?.([...place, ...(line.path === '' ? ['none'] : line.path.split(' '))].join('.'));
    const width = Math.max(context.stdout.columns ?? 80, 20);
    invocation = await resolveRequest(request, commands, width, await stored());
    if (typeof invocation === 'string') {
      await safe.stdout.write(invocation);
      return EXIT.ok;
    }
  } catch (error) {
    invocation = failedInvocation(error, request?.line, await stored());
  }
  return runCommand(invocation, { ...safe, configFile, argv }, secrets, request?.line);
}

/** Returns the profile that the line names, else the variables. @throws {Failure} `usage`: two different ones */
function profileOn({ line }: Request, env: Context['env']): string | undefined {
  const named = (place: string | undefined, profile: string | undefined): string | undefined => {
    const own = partsOf(place ?? '').profile;
    if (own === undefined || profile === undefined || own === profile) return own ?? profile;
    throw usageFailure(`The profile is named twice: ${own} and ${profile}.`, 'Name one of them.');
  };
  const environment = lastValue(line, '--env');
  return (
    named(environment, lastValue(line, '--profile')) ??
    named(environment === undefined ? env.PETSTORE_ENV : undefined, env.PETSTORE_PROFILE)
  );
}

async function runCommand(
  { command, globals, input }: RunInvocation,
  context: Context & Pick<CommandContext, 'configFile' | 'argv'>,
  secrets: Secrets,
  line: Request['line'] | undefined,
): Promise<number> {
  const { clock } = context;
  const { deadline: deadlineMs } = globals;
  const deadline = new AbortController();
  const end = (): void => {
    deadline.abort(new Failure('deadline', { deadlineMs: deadlineMs! }));
  };
  const cancel = deadlineMs === undefined ? undefined : clock.alarm(deadlineMs, end);
  const signal = AbortSignal.any([context.signal, deadline.signal]);
  const looks = { choice: globals.color, env: context.env };
  const style = await createStyle({ ...looks, isTTY: context.stdout.isTTY });
  const errorStyle = await createStyle({ ...looks, isTTY: context.stderr.isTTY });
  const notices = new Reporter({ ...context, globals, secrets }, errorStyle);
  const own = { signal, globals, notices, secrets, openWrites: new Set<OpenWrite>() };
  const ports = { ...context, ...own, ...afterNotices(context, { clock, signal }, notices) };
  const commandContext: CommandContext = { ...ports, ...lazySettings(ports) };
  let code: number = EXIT.ok;
  let kind: string | undefined;
  try {
    if (globals.log !== undefined) {
      const { openRunLog } = await import('./run-log.ts');
      const options = line?.tokens.flatMap(({ role, text }) => (role === 'option' ? [text] : [])) ?? [];
      notices.log = await openRunLog(commandContext, globals.log, command.path, options);
    }
    const work = async (): Promise<void> => {
      const view = await command.run(input, commandContext);
      // Flush stderr and clear the live line first: stdout and stderr may share a terminal.
      await taken(ports, notices.flush());
      await show(view, commandContext, style);
    };
    await untilStop(ports, command.graceMs ?? GRACE_MS, Promise.race([work(), context.uncaught]));
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
  await notices.log?.end(code, kind);
  await taken(ports, notices.flush()).catch(() => undefined);
  cancel?.();
  return code;
}

/** How long a command may take to stop, in ms: 2 s for a write in flight, and time to record it on a busy machine. */
const GRACE_MS = 5_000;
/** How long a stopping command waits for the reader of a full pipe, in ms. */
const READER_MS = 500;

/** Waits until output is written, and after a signal or the deadline not for long. @throws the signal's reason */
function taken(stop: Stop, output: Promise<void>): Promise<void> {
  return untilStop(stop, READER_MS, output);
}

/** Returns questions and a full screen that wait until all notices are printed: a full screen would hide them. */
function afterNotices(
  { openScreen, prompt: { hidden, text, confirm } }: Context,
  stop: Stop,
  notices: Reporter,
): Pick<Context, 'openScreen' | 'prompt'> {
  const after =
    <Given extends unknown[], Result>(use: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      await taken(stop, notices.flush());
      return use(...given);
    };
  return {
    openScreen: after(openScreen),
    prompt: { hidden: after(hidden), text: after(text), confirm: after(confirm) },
  };
}

/** Prints a view, and its summary on stderr. @throws {Failure} of the view, its check, or the output */
async function show(view: View, context: CommandContext, style: Style): Promise<void> {
  const { clock, globals, notices, secrets, stdout } = context;
  const { columns: width } = stdout;
  const { isForPeople } = FORMAT_FACTS[globals.output];
  const { failure, isConfirmation = false } = view.view === 'record' || view.view === 'raw' ? view : {};
  const isDone = isConfirmation && failure === undefined;
  // Prints a confirmation despite --quiet if it has a failure or is for programs.
  if (isDone && globals.quiet && isForPeople && view.view === 'record') return;
  const screen = { now: clock.now(), width, style, format: globals.output };
  const chunks = render(view, { ...screen, redact: (text) => secrets.redact(text) });
  const isWork = view.view === 'rows' && view.isWork === true;
  const count = await print(chunks, context, view.view === 'rows' && !isWork).catch(async (error: unknown) => {
    // A failed command stays failed even if its reader is gone.
    const isChecked = view.view === 'rows' && (isWork || error instanceof OutputClosed);
    const failed = isChecked ? view.check?.() : failure;
    if (error instanceof OutputClosed && failed !== undefined) throw failed;
    if (!isFailure(error)) throw error;
    if (failed !== undefined) throw (await import('../report/failures.ts')).firstCause([failed, error])!;
    if (!isDone && !isWork) throw error;
    if (error.is('output')) throw new Failure('output', { ...error.details, isDone: true }, error);
    throw error.is('interrupted') ? new Failure('interrupted', { ...error.details, outcome: 'applied' }) : error;
  });
  if (failure !== undefined) throw failure;
  if (view.view !== 'rows') return;
  const summary = width === undefined ? undefined : view.summary?.(count);
  if (isForPeople)
    notices.info(count === 0 ? withEnvironment(view.empty, await hintedPlace(context)) : (summary ?? ''));
  const failed = view.check?.(count);
  if (failed !== undefined) throw failed;
}

/** Longest time without a turn of the event loop during a long output, so that signals and timers are not late, in ms. */
const TURN_MS = 50;

/** Writes with back-pressure. After a signal, stops output that `stops`. Returns the number of rows. */
async function print(
  chunks: AsyncGenerator<string | Uint8Array, number>,
  context: Pick<Context, 'clock' | 'signal' | 'stdout'>,
  stops: boolean,
): Promise<number> {
  const { clock, signal, stdout } = context;
  let turned = clock.monotonic();
  try {
    for (;;) {
      const next = await chunks.next();
      if (next.done === true) return next.value;
      await taken(context, stdout.write(next.value));
      if (clock.monotonic() - turned < TURN_MS) continue;
      await taken(context, clock.turn());
      if (stops && signal.aborted) throw reasonOf(signal);
      turned = clock.monotonic();
    }
  } finally {
    await chunks.return(0);
  }
}
