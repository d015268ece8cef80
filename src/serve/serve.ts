/** Shared by `petstore proxy` and `sandbox serve`: the log, watched files, readiness and shutdown. */
import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { jsonObject, type JsonValue } from '../api/json.ts';
import { isFailure } from '../errors.ts';
import type { ServedRequest } from '../http/server.ts';
import { describeFailure } from '../report/failures.ts';
import type { CommandContext } from '../session/globals.ts';
import { openJsonLines, readText } from '../session/read-text.ts';
import { clockTime } from '../view/progress.ts';
import { labelled, record, type RecordView } from '../view/view.ts';

/** Opens the log: lines for people, which end with `more`, or JSON objects in a file. @throws {Failure} `file` */
export async function openLog<T extends ServedRequest & Readonly<Partial<Record<keyof T, JsonValue>>>>(
  context: CommandContext,
  path: string | undefined,
  more: (request: T) => readonly (string | undefined)[],
) {
  const file = path === undefined ? undefined : await openJsonLines(context, path);
  const onRequest = (request: T): void => {
    const { at, method, target, status, ms } = request;
    const words = [clockTime(at, at), status || 'reset', method, target, `${ms.toFixed(1)} ms`, ...more(request)];
    if (file === undefined) context.notices.info(words.filter((word) => word !== undefined).join('  '));
    else file.add(jsonObject({ ...request, at: new Date(at).toISOString(), ms: Math.round(ms * 10) / 10 }));
  };
  return { onRequest, close: async () => file?.close() };
}

/** How often files are checked for changes, and how long a change must have lasted, in ms. */
const LOOK_MS = 5_000;
const SETTLED_MS = 500;
export const LONGEST_FILE = 2 ** 20;

/**
 * Reads files and uses their texts, and those of plain files again whenever they change and on SIGHUP, until the command
 * stops. If the new texts cannot be used, it warns and keeps the old ones.
 * @throws {Failure} `file`, and what `use` throws
 */
export async function followFiles(
  context: CommandContext,
  paths: readonly string[],
  use: (texts: readonly string[]) => void,
): Promise<void> {
  const { clock, files, notices, signal } = context;
  const text = (path: string): Promise<string> => readText(context, path, LONGEST_FILE);
  let before = await Promise.all(paths.map(text));
  // Stdin or a pipe, as of a shell's <(...), gives its text only once.
  const heads = await Promise.all(paths.map((path) => files.head(path, 1)));
  const read = (): Promise<string[]> =>
    Promise.all(paths.map((path, i) => (heads[i] === undefined ? Promise.resolve(before[i]!) : text(path))));
  use(before);
  let problem = '';
  const look = async (afterMs: number): Promise<void> => {
    try {
      await clock.sleep(afterMs, signal);
      const texts = await read();
      problem = '';
      if (isDeepStrictEqual(texts, before)) return;
      // Another program may still be writing them: the next look then reads the rest.
      await clock.sleep(SETTLED_MS, signal);
      const settled = await read();
      if (isDeepStrictEqual(texts, before) || !isDeepStrictEqual(texts, settled)) return;
      before = texts;
      use(texts);
      notices.info(`Read ${paths.join(' and ')} again.`);
    } catch (error) {
      if (!isFailure(error)) throw error;
      const { message } = describeFailure(error, clock.now());
      if (message !== problem && !signal.aborted) {
        notices.warning(`${message} petstore keeps what it read before.`);
      }
      problem = message;
    }
  };
  const follow = async (): Promise<void> => {
    while (!signal.aborted) await look(LOOK_MS);
  };
  void follow();
  context.onHangUp(() => void look(0));
}

/** Prints how to reach the server. @param rows title, member of the JSON, and value */
export function introduce(rows: readonly (readonly [title: string, name: string, value: string])[]): RecordView {
  const members = Object.fromEntries(rows.map(([, name, value]) => [name, value]));
  const lines = rows.map(([title, , value]) => [title, value] as const);
  return record(`${labelled(lines, members).text}\nPress Ctrl-C to stop.`, members);
}

/** Time limit for `systemd-notify`, in ms. */
const NOTIFY_MS = 5_000;

/** Tells systemd that the server is ready (sd_notify(3)), with `systemd-notify`, because Node has no such sockets. */
export async function notifyReady({ env, notices, runCommand, signal }: CommandContext): Promise<void> {
  if ((env.NOTIFY_SOCKET ?? '') === '') return;
  const fail = (problem: string): Error =>
    new Error(`systemd does not know that the server is ready: systemd-notify ${problem}.`);
  const onLine = (line: string): void => {
    notices.warning(`systemd-notify: ${line}`);
  };
  await runCommand(['systemd-notify', '--ready'], { timeoutMs: NOTIFY_MS, signal, onLine, fail }).catch(
    (error: unknown) => {
      if (signal.aborted) throw error;
      notices.warning((error as Error).message);
    },
  );
}

/** Resolves on a signal, or at the deadline. */
export async function stopped({ signal }: CommandContext): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
