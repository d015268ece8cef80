/** `--log FILE`: logs an invocation as JSON lines, for unattended machines. */
import { jsonObject } from '../api/json.ts';
import type { AttemptFacts } from '../client/service.ts';
import type { RateLimit } from '../ports.ts';
import type { CommandContext } from '../session/globals.ts';
import { openJsonLines } from '../session/read-text.ts';
import { VERSION } from '../version.ts';

export type RunLog = Awaited<ReturnType<typeof openRunLog>>;

/** Opens the log and writes the start. No values of options: one may be secret. @throws {Failure} `file` */
export async function openRunLog(
  context: Pick<CommandContext, 'clock' | 'files' | 'notices' | 'randomBytes'>,
  path: string,
  command: string,
  options: string[],
) {
  const { clock } = context;
  const run = Buffer.from(context.randomBytes(8)).toString('hex');
  const from = clock.monotonic();
  const file = await openJsonLines(context, path);
  const add = (event: string, members: Parameters<typeof jsonObject>[0]): void => {
    file.add(jsonObject({ time: new Date(clock.now()).toISOString(), run, event, ...members }));
  };
  add('start', { version: VERSION, command, options });
  return {
    attempt({ method, url, status, failure, ms }: AttemptFacts, limits: RateLimit | undefined): void {
      add('attempt', {
        method,
        url,
        status,
        failure: failure?.phase,
        code: failure?.code,
        ms: Math.round(ms),
        ...limits,
        resetAt: limits && new Date(limits.resetAt).toISOString(),
      });
    },
    /** `kind`: kind of the failure that ended the command. */
    end(exitCode: number, kind: string | undefined): Promise<void> {
      add('end', { exitCode, error: kind, ms: Math.round(clock.monotonic() - from) });
      return file.close();
    },
  };
}
