/** `--log FILE`: logs an invocation as JSON lines, for unattended machines. */
import { jsonObject, type JsonObject, stringifyJson } from '../api/json.ts';
import type { AttemptFacts } from '../client/service.ts';
import { fileFailure } from '../errors.ts';
import type { Context } from '../ports.ts';
import type { RateLimit } from '../rate-limit/gate.ts';
import { VERSION } from '../version.ts';

export interface RunLog {
  attempt(facts: AttemptFacts, limits: RateLimit | undefined): void;
  /** `kind`: kind of the failure that ended the command. */
  end(exitCode: number, kind: string | undefined): Promise<void>;
}

/** What is logged about a command line: no values, since one may be secret. */
export interface RunStart {
  readonly command: string;
  /** Names of options. */
  readonly options: readonly string[];
}

type LogPorts = Pick<Context, 'clock' | 'files' | 'randomBytes'> & {
  readonly notices: { warning(text: string): void };
};

/** Opens the log and writes the start. @throws {Failure} `file` */
export async function openRunLog(
  { clock, files, notices, randomBytes }: LogPorts,
  path: string,
  { command, options }: RunStart,
): Promise<RunLog> {
  const run = Buffer.from(randomBytes(8)).toString('hex');
  const from = clock.monotonic();
  const file = await files
    .append(path, (problem) => {
      notices.warning(`The log ${path} can no longer be written (${problem}); petstore continues without it.`);
    })
    .catch((cause: unknown) => {
      throw fileFailure('write', path, cause);
    });
  const add = (event: string, members: Parameters<typeof jsonObject>[0]): void => {
    const time = new Date(clock.now()).toISOString();
    const line: JsonObject = jsonObject({ time, run, event, ...members });
    file.write(`${stringifyJson(line)}\n`);
  };
  add('start', { version: VERSION, command, options: [...options] });
  return {
    attempt: ({ method, url, status, failure, ms }, limits) => {
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
    end: (exitCode, kind) => {
      add('end', { exitCode, ...(kind !== undefined && { error: kind }), ms: Math.round(clock.monotonic() - from) });
      return file.close();
    },
  };
}
