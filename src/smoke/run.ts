/** `petstore smoke`, from its options to its report. */
import { dirname } from 'node:path';
import { type LockedPet, withPet, withWriter } from '../bulk/write-one.ts';
import { plural } from '../view/words.ts';
import { connect, open, type Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure, fileFailure, isFailure } from '../errors.ts';
import { firstCause } from '../report/failures.ts';
import type { RawView } from '../view/view.ts';
import { type Checked, checked, skip, type SmokeClients } from './check.ts';
import { probe } from '../client/probe.ts';
import { REPORTERS, type ReportFormat, type Suite } from './reporters.ts';
import { ALL, chosenChecks, requestsFor, runSmoke, type SmokeOptions } from './suite.ts';

export interface RunOptions extends SmokeOptions {
  readonly format: ReportFormat;
  readonly out: readonly { readonly format: ReportFormat; readonly path: string }[];
  /** In ms: how long to wait for the service to answer at all. */
  readonly waitReadyMs: number | undefined;
}

/** Not a valid key of any service. */
const WRONG_KEY = 'petstore-smoke-wrong-key';
const READY_PACE_MS = 2_000;
/** Time to put a pet back after a signal, in ms: longer than the 2 s that the write before it may still take. */
const RESTORE_MS = 4_500;

/** @throws {Failure} `usage`, `file`, a signal's, and what connect throws; every other one becomes the view's failure */
export async function smoke(context: CommandContext, options: RunOptions): Promise<RawView> {
  checkIds([...(options.only ?? []), ...(options.skip ?? [])]);
  for (const { path } of options.out) await findFolder(context, dirname(path));
  const { clock, notices } = context;
  const startedAt = clock.now();
  const count = requestsFor(options);
  const { doors, close } = await openDoors(context, count, options.waitReadyMs);
  const { environment } = doors.keyed;
  try {
    const writes = options.write === undefined ? 'read-only' : `pet ${options.write} is changed, and put back`;
    const more = options.provoke ? ', then as many as the rate limit allows and one more, to provoke a 429' : '';
    notices.info(`Smoke test of ${environment}: ${plural(count, 'request')}, ${writes}${more}.`);
    const checks = await check(context, doors, options);
    const suite: Suite = { name: `petstore smoke ${environment}`, startedAt, checks };
    for (const { format, path } of options.out) {
      await write(context, path, REPORTERS[format](suite)).catch((error: unknown) => {
        if (!isFailure(error) || context.signal.aborted) throw error;
        doors.causes.push(error);
      });
    }
    const failed = checks.filter(({ verdict }) => verdict === 'fail').map(({ id }) => id);
    const contract = failed.length === 0 ? [] : [new Failure('checks-failed', { failed, of: checks.length })];
    const failure = firstCause([...doors.causes, ...contract]);
    return {
      view: 'raw',
      head: '',
      body: Buffer.from(REPORTERS[options.format](suite)),
      ...(failure && { failure }),
    };
  } finally {
    await close();
  }
}

/** Returns every chosen check. Where a failure ends the run early, it is noted and the rest is skipped. */
async function check(context: CommandContext, doors: SmokeClients, options: RunOptions): Promise<readonly Checked[]> {
  const found = new Map<string, Checked>();
  try {
    await doors.afford();
    if (options.waitReadyMs !== undefined) await waitReady(context, doors, options.waitReadyMs);
    const run = async (pet?: LockedPet): Promise<void> => {
      for await (const each of runSmoke(doors, options, pet)) found.set(each.id, each);
    };
    const { write } = options;
    if (write === undefined) await run();
    else await withWriter(context, doors.session, (writer) => withPet(writer, write, run));
  } catch (error) {
    if (!isFailure(error) || context.signal.aborted) throw error;
    doors.causes.push(error);
  }
  return chosenChecks(options).map((facts) => found.get(facts.id) ?? checked(facts, skip('the run ended early')));
}

/** @throws {Failure} `usage` */
function checkIds(ids: readonly string[]): void {
  const unknown = ids.find((id) => ALL.every((each) => each.id !== id));
  if (unknown === undefined) return;
  throw new Failure('usage', {
    problem: `Unknown check ${JSON.stringify(unknown)}.`,
    hint: 'See petstore smoke --list',
  });
}

/** Opens sessions with the service: with the key (one that outlives a signal), without one, with a wrong one. */
async function openDoors(
  context: CommandContext,
  need: number,
  waitReadyMs = 0,
): Promise<{ doors: SmokeClients; close(): Promise<void> }> {
  const keyed = await connect(context);
  const { baseUrl, http } = keyed.service;
  const sessions: Session[] = [keyed];
  const late = { ...context, signal: afterGrace(context) };
  const patient = { ...context, globals: { ...context.globals, maxWait: waitReadyMs } };
  const spending = { ...context, globals: { ...context.globals, reserve: -1, maxWait: 0 } };
  const serviceFor = async (ports: CommandContext, apiKey = keyed.service.apiKey): Promise<Session['service']> => {
    const target = { environment: keyed.environment, baseUrl, apiKey, keySource: keyed.service.keySource };
    const session = await open(ports, target, { http });
    sessions.unshift(session);
    return session.service;
  };
  const doors = {
    session: keyed,
    keyed: keyed.service,
    patient: await serviceFor(patient),
    spender: await serviceFor(spending),
    restorer: await serviceFor(late),
    keyless: await serviceFor(context, ''),
    wrong: await serviceFor(context, WRONG_KEY),
    afford: allowing(keyed, need),
    causes: [],
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
    const { allowance: known } = await keyed.known();
    if (known !== undefined && known.remaining < need - sent) {
      const { limit, remaining: left, resetAt } = known;
      throw new Failure('quota-insufficient', { limit, left, resetAt, need: need - sent, begun: sent > 0 });
    }
    sent = 1;
  };
}

/** Asks every two seconds, within the rate limit, until the service or its gateway answers without a 5xx. */
async function waitReady(context: CommandContext, { patient }: SmokeClients, ms: number): Promise<void> {
  const { clock, notices, signal } = context;
  const giveUp = clock.monotonic() + ms;
  for (let tries = 1; ; tries++) {
    const answer = await probe(patient, { method: 'GET', path: '/inventory' });
    if (!('unreachable' in answer) && answer.status < 500) return;
    const left = giveUp - clock.monotonic();
    // The checks ask once more.
    if (left <= 0) return;
    if (tries === 1) notices.info('The service is not ready; waiting. Press Ctrl-C to stop.');
    await clock.sleep(Math.min(READY_PACE_MS, left), signal);
  }
}

/** A report that has no place to go is found before the first request. @throws {Failure} `file` */
async function findFolder({ files }: CommandContext, folder: string): Promise<void> {
  const found = await files.facts(folder).catch((cause: unknown) => {
    throw fileFailure('find', folder, cause);
  });
  if (found === undefined) throw new Failure('file', { operation: 'find', path: folder, code: 'ENOENT' });
}

async function write({ files }: CommandContext, path: string, text: string): Promise<void> {
  try {
    await files.replace(path, text);
  } catch (cause) {
    if (isFailure(cause)) throw cause;
    throw fileFailure('write', path, cause);
  }
}
