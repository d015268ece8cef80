/**
 * The ports as commands get them: what the service says is redacted as it comes in, before it is read, laid out, cut or
 * escaped, and all that leaves is redacted once more. A command needs to do nothing for it.
 */
import {
  type Context,
  type Files,
  type FullScreen,
  type Http,
  type HttpBody,
  type HttpReply,
  isWhole,
  type Output,
  type Prompt,
} from '../ports.ts';
import type { Matcher, Secrets } from '../redact.ts';

/** A string of JSON that is longer is not waited for. */
const MOST_HELD = 1 << 20;

export function redactedPorts(context: Context, secrets: Secrets): Context {
  return {
    ...context,
    stdout: redactedOutput(context.stdout, secrets),
    stderr: redactedOutput(context.stderr, secrets),
    files: redactedFiles(context.files, secrets),
    prompt: redactedPrompt(context.prompt, secrets),
    openScreen: async (events) => redactedScreen(await context.openScreen(events), secrets),
    openHttp: async () => redactedHttp(await context.openHttp(), secrets),
  };
}

function redactedOutput(output: Output, secrets: Secrets): Output {
  return {
    isTTY: output.isTTY,
    get columns() {
      return output.columns;
    },
    write: (text) =>
      output.write(
        typeof text === 'string' ? secrets.redact(text) : Buffer.from(secrets.redact(latin1(text)), 'latin1'),
      ),
  };
}

function redactedScreen(screen: FullScreen, secrets: Secrets): FullScreen {
  return {
    get columns() {
      return screen.columns;
    },
    get rows() {
      return screen.rows;
    },
    write: (text) => screen.write(secrets.redact(text)),
    close: () => {
      screen.close();
    },
  };
}

function redactedFiles(files: Files, secrets: Secrets): Files {
  return {
    ...files,
    replace: (path, text, how) => files.replace(path, secrets.redact(text), how),
    async append(path, onFailure) {
      const file = await files.append(path, onFailure);
      return {
        write: (text) => {
          file.write(secrets.redact(text));
        },
        close: () => file.close(),
      };
    },
  };
}

function redactedPrompt(prompt: Prompt, secrets: Secrets): Prompt {
  return {
    hidden: (question, signal) => prompt.hidden(secrets.redact(question), signal),
    text: (question, fallback, signal) => prompt.text(secrets.redact(question), fallback, signal),
    confirm: (question, signal, fallback) => prompt.confirm(secrets.redact(question), signal, fallback),
  };
}

/** The key that a request carries is known from the request itself. */
function redactedHttp(http: Http, secrets: Secrets): Http {
  return {
    async connect(target) {
      const connection = await http.connect(target);
      return {
        get isOpen() {
          return connection.isOpen;
        },
        release: () => {
          connection.release();
        },
        async send(request, maySend) {
          secrets.addKey(/^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '');
          const matcher = secrets.keyMatcher;
          const { status, headers, body } = await connection.send(request, maySend);
          return { status, headers: redactedHeaders(headers, matcher), body: redactedBody(body, matcher) };
        },
      };
    },
    close: () => http.close(),
  };
}

function redactedHeaders(headers: HttpReply['headers'], matcher: Matcher): HttpReply['headers'] {
  let all = '';
  for (const [name, values] of headers) all += `${name}\n${values.join('\n')}\n`;
  if (!matcher.mayMatch(all)) return headers;
  // A number stays one, even where the key is a number.
  const value = (text: string): string => (/^\s*[-+.0-9]*\s*$/.test(text) ? text : matcher.redact(text));
  return new Map([...headers].map(([name, values]) => [matcher.redact(name), values.map(value)]));
}

/** Numbers of a JSON body stay as they are. */
function redactedBody(body: HttpBody, matcher: Matcher): HttpBody {
  if (!isWhole(body)) return redactedStream(body, matcher);
  const whole = Buffer.concat(body);
  if (!matcher.mayMatch(whole)) return body;
  const text = latin1(whole);
  return [Buffer.from(stepFor(text, matcher)(text, true)[0], 'latin1')];
}

/** The body with secrets redacted, also those that came in several pieces. */
async function* redactedStream(body: AsyncIterable<Uint8Array>, matcher: Matcher): AsyncGenerator<Uint8Array> {
  let held: Uint8Array = Buffer.alloc(0);
  /** Nothing of a secret is in `held`: it is held back only for what may follow on it. */
  let isHeldClean = true;
  let step: Step | undefined;
  const pass = (chunk: Uint8Array, isLast: boolean): Uint8Array => {
    const text = latin1(Buffer.concat([held, chunk]));
    step ??= stepFor(text, matcher);
    const [done, rest] = step(text, isLast);
    held = Buffer.from(rest, 'latin1');
    return Buffer.from(done, 'latin1');
  };
  const end = (): Uint8Array[] => {
    if (held.length === 0) return [];
    return [isHeldClean ? held : pass(Buffer.alloc(0), true)];
  };
  try {
    for await (const chunk of body) {
      let done = held;
      isHeldClean = isClean(held, chunk, matcher);
      if (isHeldClean) held = chunk;
      else done = pass(chunk, false);
      if (done.length > 0) yield done;
    }
  } catch (error) {
    // What came before the break is still good.
    yield* end();
    throw error;
  }
  yield* end();
}

/** True when no secret is in the chunk, nor where it follows on the one before it: then nothing needs to be copied. */
function isClean(before: Uint8Array, chunk: Uint8Array, matcher: Matcher): boolean {
  const { longest } = matcher;
  if (chunk.length < longest || (before.length > 0 && before.length < longest)) return false;
  const seam = latin1(before.subarray(-longest)) + latin1(chunk.subarray(0, longest));
  return !matcher.mayMatch(seam) && !matcher.mayMatch(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
}

/** Returns one character for each byte: secrets are ASCII, and all else comes out as it went in. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

type Step = (text: string, isLast: boolean) => readonly [done: string, rest: string];

/** Returns how a body that begins like this is redacted. */
function stepFor(text: string, matcher: Matcher): Step {
  if (matcher.mindsStrings && /^(?:\xef\xbb\xbf)?\s*[[{"]/.test(text)) return strings(matcher);
  return (part, isLast) => (isLast ? [matcher.redact(part), ''] : matcher.redactStart(part));
}

/** For JSON: only text between quotes is redacted. */
function strings(matcher: Matcher): Step {
  return (text, isLast) => {
    let done = '';
    let at = 0;
    for (const { 0: token, index } of text.matchAll(/"[^"\\]*(?:\\[^][^"\\]*)*"/g)) {
      done += text.slice(at, index) + `"${matcher.redact(token.slice(1, -1))}"`;
      at = index + token.length;
    }
    const open = text.indexOf('"', at);
    if (isLast || open < 0) return [done + text.slice(at), ''];
    if (text.length - open > MOST_HELD) return [done + text.slice(at, open) + matcher.redact(text.slice(open)), ''];
    return [done + text.slice(at, open), text.slice(open)];
  };
}
