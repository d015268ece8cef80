/** Reads input that the user names (a file, a pipe, or stdin), and adds lines to a log. */
import { type JsonObject, stringifyJson } from '../api/json.ts';
import { Failure, fileFailed, fileFailure, usageFailure } from '../errors.ts';
import type { CommandContext } from './globals.ts';

const MOST_BYTES = 256 * 2 ** 20;

/** Reads a whole file as UTF-8, like `readBytes`. */
export async function readText(...source: Parameters<typeof readBytes>): Promise<string> {
  return Buffer.from(await readBytes(...source)).toString('utf8');
}

/**
 * Reads a whole file; `-` is stdin.
 * @throws {Failure} `file`; `usage`: it holds more than `maxBytes`; the reason of the command's signal, at once
 */
export async function readBytes(
  { files, signal, stdin }: Pick<CommandContext, 'files' | 'signal' | 'stdin'>,
  path: string,
  maxBytes = MOST_BYTES,
): Promise<Uint8Array> {
  const name = path === '-' ? 'stdin' : path;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of path === '-' ? stdin.stream(signal) : await files.stream(path, signal)) {
      size += chunk.byteLength;
      if (size > maxBytes) throw usageFailure(`${name} is larger than ${maxBytes} bytes.`);
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw fileFailure('read', name, cause);
  }
  return Buffer.concat(chunks);
}

/** Opens a log of JSON lines. While it cannot be written, lines are lost; warns once of that. @throws {Failure} `file` */
export async function openJsonLines({ files, notices }: Pick<CommandContext, 'files' | 'notices'>, path: string) {
  const onFailure = (code: string): void => {
    notices.warning(`The log ${path} cannot be written (${code}); petstore continues without it until it can.`);
  };
  const file = await files.append(path, onFailure).catch(fileFailed('write', path));
  const add = (object: JsonObject): void => {
    file.write(`${stringifyJson(object)}\n`);
  };
  return { add, close: () => file.close() };
}
