/** `petstore smoke`, from its options to its report. */
import { plural } from '../view/words.ts';
import { connect, open, type Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure, fileFailure, isFailure } from '../errors.ts';
import type { RawView } from '../view/view.ts';
import type { Checked, SmokeClients } from './check.ts';
import { probe } from '../client/probe.ts';
import { REPORTERS, type ReportFormat, type Suite } from './reporters.ts';
import { ALL, requestsFor, runSmoke, type SmokeOptions } from './suite.ts';

export interface RunOptions extends SmokeOptions {
  readonly format: ReportFormat;
  readonly out: readonly { readonly format: ReportFormat; readonly path: string }[];
  /** In ms: how long to wait for the service to answer at all. */
  readonly waitReadyMs?: number;
}

/** No service has given this key to anybody. */
const WRONG_KEY = 'petstore-smoke-wrong-key';
const READY_PACE_MS = 2_000;
/** How long after a signal a pet may still be put back: longer than the 2 s that the write before may still take. */
const RESTORE_MS = 2_500;

/** @throws {Failure} `invalid-value`, `file`, and what connect and the gate throw */
export async function smoke(context: CommandContext, options: RunOptions): Promise<RawView> {
  checkIds([...(options.only ?? []), ...(options.skip ?? [])]);
  const { clock, notices } = context;
  const startedAt = clock.now();
  const count = requestsFor(options);
  const { doors, close } = await openDoors(context, count);
  const { environment } = doors.keyed;
  try {
    const writes = options.write === undefined ? 'read-only' : `pet ${options.write} is changed, and put back`;
    const more = options.provoke ? ', then as many as the rate limit allows and one more, to provoke a 429' : '';
    notices.info(`Smoke test of ${environment}: ${plural(count, 'request')}, ${writes}${more}.`);
    await doors.afford();
    if (options.waitReadyMs !== undefined) await waitReady(context, doors, options.waitReadyMs);
    const checks: Checked[] = [];
    for await (const checked of runSmoke(doors, options)) checks.push(checked);
    const suite: Suite = { name: `petstore smoke ${environment}`, startedAt, checks };
    for (const { format, path } of options.out) await write(context, path, REPORTERS[format](suite));
    const failed = checks.filter(({ verdict }) => verdict === 'fail').map(({ id }) => id);
    return {
      view: 'raw',
      head: '',
      body: Buffer.from(REPORTERS[options.format](suite)),
      ...(failed.length > 0 && { failure: new Failure('checks-failed', { failed, of: checks.length }) }),
    };
  } finally {
    await close();
  }
}

function checkIds(ids: readonly string[]): void {
  const unknown = ids.find((id) => ALL.every((each) => each.id !== id));
  if (unknown === undefined) return;
  throw new Failure('invalid-value', {
    name: 'a check',
    value: unknown,
    expected: 'one of those that petstore smoke --list shows',
  });
}

/** Opens sessions with the service: with the key (one that outlives a signal), without one, with a wrong one. */
async function openDoors(
  context: CommandContext,
  need: number,
): Promise<{ doors: SmokeClients; close(): Promise<void> }> {
  const keyed = await connect(context);
  const { baseUrl, http } = keyed.service;
  const sessions: Session[] = [keyed];
  const late = { ...context, signal: afterGrace(context) };
  const spending = { ...context, globals: { ...context.globals, reserve: -1, maxWait: 0 } };
  const serviceFor = async (ports: CommandContext, apiKey = keyed.service.apiKey): Promise<Session['service']> => {
    const target = { environment: keyed.environment, baseUrl, apiKey, keySource: 'the check' };
    const session = await open(ports, target, { http });
    sessions.unshift(session);
    return session.service;
  };
  const doors = {
    keyed: keyed.service,
    spender: await serviceFor(spending),
    restorer: await serviceFor(late),
    keyless: await serviceFor(context, ''),
    wrong: await serviceFor(context, WRONG_KEY),
    afford: allowing(keyed, need),
  };
  context.notices.watchLimits(() => keyed.service.gate.limits);
  return {
    doors,
    async close() {
      for (const session of sessions) await session[Symbol.asyncDispose]();
    },
  };
}

/** Returns a signal for putting back what was changed, which aborts later than the command's. */
function afterGrace({ clock, signal }: CommandContext): AbortSignal {
  const controller = new AbortController();
  const start = (): void => {
    clock.alarm(RESTORE_MS, () => {
      controller.abort(signal.reason);
    });
  };
  if (signal.aborted) start();
  else signal.addEventListener('abort', start, { once: true });
  return controller.signal;
}

/** Checks the rate limit before the first request, and again after its answer: rather no run than half of one. */
function allowing(keyed: Session, need: number): SmokeClients['afford'] {
  let sent = 0;
  return async () => {
    const known = await keyed.allowance();
    if (known !== undefined && known.remaining < need - sent) {
      const { limit, remaining: left, resetAt } = known;
      throw new Failure('quota-insufficient', { limit, left, resetAt, need: need - sent, begun: sent > 0 });
    }
    sent = 1;
  };
}

/** Politely: one request every two seconds, through the governor, until there is any answer but a 5xx. */
async function waitReady(context: CommandContext, { keyed }: SmokeClients, ms: number): Promise<void> {
  const { clock, notices, signal } = context;
  const giveUp = clock.monotonic() + ms;
  for (let tries = 1; ; tries++) {
    const answer = await probe(keyed, { method: 'GET', path: '/inventory' });
    if (!('unreachable' in answer) && answer.status < 500) return;
    if (clock.monotonic() + READY_PACE_MS > giveUp) return;
    if (tries === 1) notices.info('The service is not ready; waiting, Ctrl-C ends it.');
    await clock.sleep(READY_PACE_MS, signal);
  }
}

async function write({ files, signal }: CommandContext, path: string, text: string): Promise<void> {
  try {
    await files.replace(path, text, { signal });
  } catch (cause) {
    if (isFailure(cause)) throw cause;
    throw fileFailure('write', path, cause);
  }
}
