/** Parses the body of an error response, best effort. */
import type { HttpReply } from '../ports.ts';
import type { ServiceError } from '../errors.ts';
import { JsonError, parseJson } from '../api/json.ts';

const MOST_BYTES = 64 * 1024;
const SHOWN_CHARACTERS = 200;

export async function readSaid(reply: HttpReply): Promise<ServiceError & { bodyStatus?: number }> {
  const { status } = reply;
  const text = await readText(reply.body, MOST_BYTES);
  if (text === undefined) return { status };
  const { readErrorBody } = await import('../api/read-item.ts');
  try {
    const readServiceError = readErrorBody(parseJson(text));
    // The HTTP status counts; the body's own is kept to be compared with it.
    if (readServiceError !== undefined)
      return {
        status,
        code: readServiceError.code,
        message: readServiceError.message,
        bodyStatus: readServiceError.status,
      };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
  }
  return text === '' ? { status } : { status, raw: text.slice(0, SHOWN_CHARACTERS) };
}

/** The body as text, cut at `most` bytes; undefined where it broke off. An error's status counts without its body. */
async function readText(body: HttpReply['body'], most: number): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      size += chunk.byteLength;
      if (size > most) break;
    }
    return text + decoder.decode();
  } catch {
    return undefined;
  }
}
