/** The body of a response whose status is an error. */
import type { HttpReply } from '../ports.ts';
import type { ServiceError } from '../errors.ts';
import { JsonError, type JsonValue, parseJson } from '../api/json.ts';

const MOST_BYTES = 64 * 1024;
const SHOWN_CHARACTERS = 200;

/** Reads what the service, or a gateway before it, says in the body of an error, as far as it can be read. */
export async function readServiceError({
  status,
  headers,
  body,
}: HttpReply): Promise<ServiceError & { bodyStatus?: number }> {
  const text = await readText(body);
  if (text === undefined) return { status };
  const { readErrorBody } = await import('../api/schemas.ts');
  try {
    const value = parseJson(text);
    const error = readErrorBody(value);
    // The HTTP status counts; the body's own is kept to be compared with it.
    if (error !== undefined) return { ...error, status, bodyStatus: error.status };
    const isProblem = /^application\/problem\+json\b/i.test(headers.get('content-type')?.[0] ?? '');
    const message = isProblem ? problemMessage(value) : '';
    if (message !== '') return { status, message: message.slice(0, SHOWN_CHARACTERS) };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
  }
  return text === '' ? { status } : { status, raw: text.slice(0, SHOWN_CHARACTERS) };
}

/** Returns a problem's title and detail, once where they are the same (RFC 9457, 3.1: other types are ignored). */
function problemMessage(value: JsonValue): string {
  const members = value instanceof Map ? [value.get('title'), value.get('detail')] : [];
  const texts = members.map((each) => (typeof each === 'string' ? each.trim().replace(/\.$/, '') : ''));
  return [...new Set(texts.filter(Boolean))].join(': ');
}

/** Returns the first MOST_BYTES as text; undefined where the body broke off. An error's status counts without it. */
async function readText(body: HttpReply['body']): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      size += chunk.byteLength;
      if (size > MOST_BYTES) break;
    }
    return text + decoder.decode();
  } catch {
    return undefined;
  }
}
