/**
 * Wraps the ports for commands. Redacts the service's text as it arrives, before it is parsed, laid out, cut or
 * escaped, and redacts all output once more. Commands need not do anything for it.
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
import { decoded, type Matcher, Secrets } from '../redact.ts';

/** Returns the secrets in the environment that an error text might repeat: the key and other passwords. */
export function secretsIn(env: Context['env']): Secrets {
  const secrets = new Secrets();
  secrets.add(env.PETSTORE_API_KEY ?? '');
  const proxies = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];
  for (const name of [...proxies, 'PETSTORE_LEDGER']) {
    // Up to the last @: an unescaped password may hold any character.
    const password = /^(?:[a-z][\w+.-]*:\/\/)?[^:@]*:(.*)@/i.exec(env[name] ?? '')?.[1] ?? '';
    secrets.add(password);
    secrets.add(decoded(password));
  }
  return secrets;
}

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

/** Returns a port with some members replaced; the others, including getters, stay those of the port. */
function withMembers<Port extends object>(port: Port, members: Partial<Port>): Port {
  return Object.assign(Object.create(port) as Port, members);
}

function redactedOutput(output: Output, secrets: Secrets): Output {
  return withMembers(output, {
    write: (text) =>
      output.write(typeof text === 'string' ? secrets.redact(text) : bytes(secrets.redact(latin1(text)))),
  });
}

function redactedScreen(screen: FullScreen, secrets: Secrets): FullScreen {
  return withMembers(screen, { write: (text) => screen.write(secrets.redact(text)) });
}

function redactedFiles(files: Files, secrets: Secrets): Files {
  return {
    ...files,
    replace: (path, text, how) => files.replace(path, secrets.redact(text), how),
    async append(path, onFailure) {
      const file = await files.append(path, onFailure);
      return withMembers(file, {
        write: (text) => {
          file.write(secrets.redact(text));
        },
      });
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

/** Learns the key from each request that carries it. */
function redactedHttp(http: Http, secrets: Secrets): Http {
  return withMembers(http, {
    async connect(target) {
      const connection = await http.connect(target);
      return withMembers(connection, {
        async send(request, maySend) {
          secrets.addKey(/^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '');
          const matcher = secrets.keyMatcher;
          const { status, headers, body } = await connection.send(request, maySend);
          return { status, headers: redactedHeaders(headers, matcher), body: redactedBody(body, matcher) };
        },
      });
    },
  });
}

function redactedHeaders(headers: HttpReply['headers'], matcher: Matcher): HttpReply['headers'] {
  let all = '';
  for (const [name, values] of headers) all += `${name}\n${values.join('\n')}\n`;
  if (!matcher.mayMatch(all)) return headers;
  // Numbers stay unchanged, even if the key is a number.
  const value = (text: string): string => (/^\s*[-+.0-9]*\s*$/.test(text) ? text : matcher.redact(text));
  return new Map([...headers].map(([name, values]) => [matcher.redact(name), values.map(value)]));
}

function redactedBody(body: HttpBody, matcher: Matcher): HttpBody {
  if (!isWhole(body)) return redactedStream(body, matcher);
  const whole = Buffer.concat(body);
  return matcher.mayMatch(whole) ? [bytes(redactedText(latin1(whole), matcher))] : body;
}

/** Yields the body with secrets redacted, including those split over several pieces. */
async function* redactedStream(body: AsyncIterable<Uint8Array>, matcher: Matcher): AsyncGenerator<Uint8Array> {
  if (matcher.mindsStrings) {
    // Only the whole body shows where a string begins and ends.
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
    // What arrived before the error is still valid.
    if (held !== '') yield bytes(matcher.redact(held));
    throw error;
  }
  if (held !== '') yield bytes(matcher.redact(held));
}

/** Returns one character for each byte: secrets are ASCII, and all other bytes stay unchanged. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

/** Redacts a text. In JSON, only strings if a secret may be a number. */
function redactedText(text: string, matcher: Matcher): string {
  if (!matcher.mindsStrings || !/^(?:\xef\xbb\xbf)?\s*[[{"]/.test(text)) return matcher.redact(text);
  return text.replace(
    /"([^"\\]*(?:\\[^][^"\\]*)*)("|$)/g,
    (_string, inside: string, end: string) => `"${matcher.redact(inside)}${end}`,
  );
}
