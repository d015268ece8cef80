/** What `petstore proxy` and `sandbox serve` have in common: a log, and how they are reached. */
import { type JsonObject, stringifyJson } from '../api/json.ts';
import { fileFailure } from '../errors.ts';
import type { CommandContext } from '../session/globals.ts';
import { record, type RecordView } from '../view/view.ts';

interface ServerLog<T> {
  readonly onRequest?: (request: T) => void;
  close(): Promise<void>;
}

/** How a request reads in a log. */
export interface LogForms<T> {
  line(request: T): string;
  object(request: T): JsonObject;
}

/** Lines for people, or objects into a file. @throws {Failure} `file` */
export async function openLog<T>(
  { files, globals, notices }: CommandContext,
  path: string | undefined,
  forms: LogForms<T>,
): Promise<ServerLog<T>> {
  if (path === undefined) {
    const onRequest = (request: T): void => {
      notices.info(forms.line(request));
    };
    return { ...(!globals.quiet && { onRequest }), close: () => Promise.resolve() };
  }
  try {
    const log = await files.append(path, (code) => {
      notices.warning(`The log ${path} can no longer be written (${code}); petstore continues without it.`);
    });
    return {
      onRequest: (request) => {
        log.write(`${stringifyJson(forms.object(request))}\n`);
      },
      close: () => log.close(),
    };
  } catch (cause) {
    throw fileFailure('write', path, cause);
  }
}

/** Says how a server is reached. @param rows of a title, the member of the JSON, and the value */
export function introduce(rows: readonly (readonly [title: string, name: string, value: string])[]): RecordView {
  const widest = Math.max(...rows.map(([title]) => title.length));
  const lines = rows.map(([title, , value]) => `${title.padEnd(widest)}  ${value}`);
  return record(
    [...lines, 'Press Ctrl-C to stop.'].join('\n'),
    rows.map(([, name, value]) => [name, value]),
  );
}

/** Resolves on a signal, or at the deadline. */
export function stopped({ signal }: CommandContext): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
}
