/** `petstore smoke`: runs the checks and writes the reports. */
import { dirname } from 'node:path';
import { type LockedPet, withPet, withWriter } from '../stock/write-one.ts';
import { duration } from '../view/progress.ts';
import { plural } from '../view/words.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure, fileFailure, isFailure, midway, usageFailure } from '../errors.ts';
import { errorCode } from '../ports.ts';
import { describeFailure, firstCause } from '../report/failures.ts';
import type { RawView } from '../view/view.ts';
import { type CheckFacts, type Checked, checked, skip, type SmokeOptions } from './finding.ts';
import type { Reply } from '../client/raw.ts';
import { marginOf, REPORTERS, type ReportFormat, type Suite } from './reporters.ts';
import { smokeClients, type SmokeClients } from './smoke-clients.ts';
import { CHECKS_OF, chosenChecks, requestsFor, runSmoke } from './suite.ts';

interface Reports {
  readonly format: ReportFormat;
  readonly out?: readonly { readonly format: ReportFormat; readonly path: string }[];
}

/** @throws {Failure} `usage`, `file`, a signal's, and what connect throws; any other becomes the view's failure */
export async function smoke(context: CommandContext, options: SmokeOptions & Reports): Promise<RawView> {
  const { only = [], out = [] } = options;
  const chosen = chosenChecks(options);
  const given = (Object.keys(CHECKS_OF) as (keyof typeof CHECKS_OF)[]).filter((name) => options[name] !== undefined);
  const wanted = [...only.map((id) => [id]), ...given.map((name) => CHECKS_OF[name])];
  const idle = wanted.find((ids) => chosen.every(({ id }) => !ids.includes(id)));
  const isNone = options.maxLatency === undefined && chosen.every(({ id }) => id === 'latency');
  if (idle !== undefined || isNone)
    throw usageFailure(
      idle === undefined
        ? 'No check would be run.'
        : `The ${idle.length === 1 ? 'check' : 'checks'} ${idle.join(', ')} would not be run.`,
      'Checks of updates need --write; limit-429 and limit-retry need --provoke-429; latency needs --max-latency. Each ' +
        'of these options needs one of its checks.',
    );
  // Before the first request.
  for (const path of out.map((each) => dirname(each.path)))
    if ((await context.files.facts(path)) === undefined)
      throw new Failure('file', { operation: 'find', path, code: 'ENOENT' });
  const { clock, notices } = context;
  const startedAt = clock.now();
  const need = requestsFor(chosen);
  await using session = await connect(context);
  const clients = smokeClients(context, session, options, chosen);
  const { environment } = session;
  const writes = options.pet === undefined ? 'read-only' : `pet ${options.pet} is changed, and put back`;
  const more =
    options.provoke429 === true ? ', then as many as the rate limit allows and one more, to provoke a 429' : '';
  notices.info(`Smoke test of ${environment}: ${plural(need, 'request')}, ${writes}${more}.`);
  const checks = await check(clients);
  const suite: Suite = { name: `petstore smoke ${environment}`, startedAt, checks };
  await summarise(context, suite);
  for (const { format, path } of out) {
    await context.files.replace(path, REPORTERS[format](suite)).catch((cause: unknown) => {
      if (context.signal.aborted) throw cause;
      clients.causes.push(isFailure(cause) ? cause : fileFailure('write', path, cause));
    });
  }
  const failed = checks.filter(({ verdict }) => verdict === 'fail').map(({ id }) => id);
  const contract = failed.length === 0 ? [] : [new Failure('checks-failed', { failed, of: checks.length })];
  const failure = firstCause([...clients.causes, ...contract]);
  return {
    view: 'raw',
    body: Buffer.from(REPORTERS[options.format](suite)),
    ...(options.format === 'text' && { margin: marginOf(checks) }),
    ...(failure && { failure }),
  };
}

/** Returns every chosen check. What ends the run early becomes a check too, and the rest is skipped. */
async function check(clients: SmokeClients): Promise<readonly Checked[]> {
  const { context, checks: chosen } = clients;
  const { clock, notices, signal } = context;
  const { waitReady: waitMs, pet: petId } = clients.options;
  const found = new Map<string, Checked>();
  let ended: Failure | undefined;
  try {
    await clients.afford(requestsFor(chosen));
    const run = async (pet?: LockedPet): Promise<void> => {
      let list: Reply | undefined;
      for await (const each of runSmoke(clients, pet)) {
        list ??= each.reply;
        if (!clients.isChosen(each)) continue;
        const isError = each.verdict === 'fail' && clients.isCause(each.reply);
        const isLate = isError && waitMs !== undefined && each.reply === list && (list?.status ?? 500) >= 500;
        const problem = isLate ? `not ready after ${duration(waitMs)}: ${each.problem}` : each.problem;
        found.set(each.id, { ...each, isError, problem });
        notices.progress(`Checked ${each.id}`, [found.size, chosen.length]);
      }
    };
    if (petId === undefined) await run();
    else await withWriter(context, clients.session, (writer) => withPet(writer, petId, run));
  } catch (error) {
    if (!isFailure(error) || (signal.aborted && !error.is('deadline'))) throw error;
    ended = clients.isBegun ? midway(error) : error;
    clients.causes.push(ended);
  } finally {
    notices.progress(undefined);
  }
  const all = chosen.map((each) => found.get(each.id) ?? checked(each, skip('the run ended early')));
  if (all.every(({ verdict }) => verdict !== 'fail')) ended ??= firstCause(clients.causes);
  if (ended !== undefined) {
    const problem = describeFailure(ended, clock.now()).message;
    all.push({ ...RAN, verdict: 'fail', problem, isError: true });
  }
  // One fault of an answer fails one check.
  return all.map((each) => {
    const { problem, reply } = each;
    const same = all.find((other) => other.verdict === 'fail' && other.reply === reply && other.problem === problem);
    return !same || same === each ? each : checked(each, skip(`see ${same.id}`), reply);
  });
}

/** The check for a failure that no other check shows: a report with only skipped checks would look green. */
const RAN: CheckFacts = { id: 'run', title: 'the checks could be run', clause: undefined };

/** Adds the suite to the summary page of a GitHub job. */
async function summarise({ env, files, notices }: CommandContext, suite: Suite): Promise<void> {
  const path = env.GITHUB_STEP_SUMMARY;
  if (path === undefined || path === '') return;
  const onFailure = (code: string): void => {
    notices.warning(`The summary ${path} cannot be written (${code}).`);
  };
  try {
    const page = await files.append(path, onFailure);
    page.write(REPORTERS.markdown(suite));
    await page.close();
  } catch (error) {
    onFailure(errorCode(error) ?? 'unknown');
  }
}
