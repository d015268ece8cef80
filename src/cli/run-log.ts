/** `--log FILE`: logs an invocation as JSON lines, for unattended machines. */
import { jsonObject, stringifyJson } from '../api/json.ts';
import type { AttemptFacts } from '../client/service.ts';
import { fileFailure } from '../errors.ts';
import type { Context, RateLimit } from '../ports.ts';
import { VERSION } from '../version.ts';

/** Writes the events of one invocation. */
export type RunLog = Awaited<ReturnType<typeof openRunLog>>;

/** What is logged about a command line: no values, since one may be secret. */
export interface RunStart {
  readonly command: string;
  /** Names of options. */
  readonly options: readonly string[];
}

/** Opens the log and writes the start. @throws {Failure} `file` */
export async function openRunLog(
  { clock, files, randomBytes }: Pick<Context, 'clock' | 'files' | 'randomBytes'>,
  notices: { warning(text: string): void },
  path: string,
  { command, options }: RunStart,
) {
  const run = Buffer.from(randomBytes(8)).toString('hex');
  const from = clock.monotonic();
  const onFailure = (problem: string): void => {
    notices.warning(`The log ${path} can no longer be written (${problem}); petstore continues without it.`);
  };
  const file = await files.append(path, onFailure).catch((cause: unknown) => {
    throw fileFailure('write', path, cause);
  });
  const add = (event: string, members: Parameters<typeof jsonObject>[0]): void => {
    const time = new Date(clock.now()).toISOString();
    file.write(`${stringifyJson(jsonObject({ time, run, event, ...members }))}\n`);
  };
  add('start', { version: VERSION, command, options: [...options] });
  return {
    attempt({ method, url, status, failure, ms }: AttemptFacts, limits: RateLimit | undefined): void {
      add('attempt', {
        method,
        url,
        ...(status !== undefined && { status }),
        ...(failure !== undefined && { failure: failure.phase, code: failure.code }),
        ms: Math.round(ms),
        ...(limits !== undefined && {
          limit: limits.limit,
          remaining: limits.remaining,
          resetAt: new Date(limits.resetAt).toISOString(),
        }),
      });
    },
    /** `kind`: kind of the failure that ended the command. */
    end(exitCode: number, kind: string | undefined): Promise<void> {
      add('end', { exitCode, ...(kind !== undefined && { error: kind }), ms: Math.round(clock.monotonic() - from) });
      return file.close();
    },
  };
}
