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

export function redactedPorts(context: Context, secrets: Secrets): Context {
  return {
    ...context,
    stdout: redactedOutput(context.stdout, secrets),
    stderr: redactedOutput(context.stderr, secrets),
    files: redactedFiles(context.files, secrets),
    prompt: redactedPrompt(context.prompt, secrets),
    runCommand: (words, { input, ...options }) =>
      context.runCommand(words, { ...options, ...(input !== undefined && { input: secrets.redact(input) }) }),
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
      output.write(typeof text === 'string' ? secrets.redact(text) : bytes(secrets.redact(latin1(text)))),
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
    text: (question, ...rest) => prompt.text(secrets.redact(question), ...rest),
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

function redactedBody(body: HttpBody, matcher: Matcher): HttpBody {
  if (!isWhole(body)) return redactedStream(body, matcher);
  const whole = Buffer.concat(body);
  return matcher.mayMatch(whole) ? [bytes(redactedText(latin1(whole), matcher))] : body;
}

/** The body with secrets redacted, also those that came in several pieces. */
async function* redactedStream(body: AsyncIterable<Uint8Array>, matcher: Matcher): AsyncGenerator<Uint8Array> {
  if (matcher.mindsStrings) {
    // Where a string begins and ends is only sure in the whole.
    yield* redactedBody(await Array.fromAsync(body), matcher);
    return;
  }
  let held = '';
  try {
    for await (const chunk of body) {
      const [done, rest] = matcher.redactStart(held + latin1(chunk));
      held = rest;
      if (done !== '') yield bytes(done);
    }
  } catch (error) {
    // What came before the break is still good.
    if (held !== '') yield bytes(matcher.redact(held));
    throw error;
  }
  if (held !== '') yield bytes(matcher.redact(held));
}

/** Returns one character for each byte: secrets are ASCII, and all else comes out as it went in. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

/** In JSON, numbers stay as they are where a secret may be one. */
function redactedText(text: string, matcher: Matcher): string {
  if (!matcher.mindsStrings || !/^(?:\xef\xbb\xbf)?\s*[[{"]/.test(text)) return matcher.redact(text);
  return text.replace(
    /"([^"\\]*(?:\\[^][^"\\]*)*)("|$)/g,
    (_string, inside: string, end: string) => `"${matcher.redact(inside)}${end}`,
  );
}
