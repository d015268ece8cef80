/**
 * The ports that commands get. Text from the service is redacted as it arrives, before it is parsed, wrapped, cut or
 * escaped, and all output is redacted once more. Commands need not do anything for it.
 */
import { type Context, type Http, type HttpBody, isWhole, type Output } from '../ports.ts';
import { decoded, type Matcher, Secrets } from '../redact.ts';
import { prepareWidths, wrapLine } from '../view/width.ts';

/** Returns secrets in the environment that an error text might repeat: the key, and passwords for other purposes. */
export function secretsIn(env: Context['env']): Secrets {
  const secrets = new Secrets();
  secrets.add(env.PETSTORE_API_KEY ?? '');
  const proxies = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];
  for (const name of [...proxies, 'PETSTORE_LEDGER']) {
    // Up to the last @, since an unescaped password may contain any character.
    const password = /^(?:[a-z][\w+.-]*:\/\/)?[^:@]*:(.*)@/i.exec(env[name] ?? '')?.[1] ?? '';
    secrets.add(password);
    secrets.add(decoded(password));
  }
  return secrets;
}

export function redactedPorts(context: Context, secrets: Secrets): Context {
  const { files, prompt } = context;
  const redact = (text: string): string => secrets.redact(text);
  // readline would break words. Leaves room for `(y/N)`.
  const wrapped = (line: string): string => wrapLine(line, (context.stderr.columns ?? 80) - 8, 2);
  const asked = async (question: string): Promise<string> => {
    const lines = redact(question).split('\n');
    await prepareWidths(lines);
    return lines.map(wrapped).join('\n');
  };
  return {
    ...context,
    stdout: redactedOutput(context.stdout, redact),
    stderr: redactedOutput(context.stderr, redact),
    files: {
      ...files,
      replace: (path, text, how) => files.replace(path, redact(text), how),
      append: async (path, onFailure) => redactedWriter(await files.append(path, onFailure), redact),
    },
    prompt: {
      hidden: async (question, ...rest) => prompt.hidden(await asked(question), ...rest),
      text: async (question, ...rest) => prompt.text(await asked(question), ...rest),
      confirm: async (question, ...rest) => prompt.confirm(await asked(question), ...rest),
    },
    runCommand: (words, { input, ...options }) =>
      context.runCommand(words, { ...options, ...(input !== undefined && { input: redact(input) }) }),
    openScreen: async (events) => redactedWriter(await context.openScreen(events), redact),
    openHttp: async () => redactedHttp(await context.openHttp(), secrets),
  };
}

type Redact = (text: string) => string;

/** Returns a port with some members replaced. The others, including getters, stay. */
function withMembers<Port extends object>(port: Port, members: Partial<Port>): Port {
  return Object.assign(Object.create(port) as Port, members);
}

function redactedOutput(output: Output, redact: Redact): Output {
  return withMembers(output, {
    write: (text) =>
      output.write(typeof text === 'string' ? redact(text) : bytes(redact(Buffer.from(text).toString('latin1')))),
  });
}

function redactedWriter<Writer extends { write(text: string): void }>(writer: Writer, redact: Redact): Writer {
  const write = (text: string): void => {
    writer.write(redact(text));
  };
  return withMembers(writer, { write } as Partial<Writer>);
}

/** Redacts replies. Learns the key from each request. */
function redactedHttp(http: Http, secrets: Secrets): Http {
  return withMembers(http, {
    async connect(target) {
      const connection = await http.connect(target);
      return withMembers(connection, {
        async send(request, maySend) {
          secrets.add(/^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '', true);
          const matcher = secrets.keyMatcher;
          const { status, headers, body } = await connection.send(request, maySend);
          // A number stays a number, even if the key is one.
          const value = (text: string): string => (/^\s*[-+.0-9]*\s*$/.test(text) ? text : matcher.redact(text));
          const redacted = [...headers].map(([name, values]) => [matcher.redact(name), values.map(value)] as const);
          return { status, headers: new Map(redacted), body: redactedBody(body, matcher) };
        },
      });
    },
  });
}

function redactedBody(body: HttpBody, matcher: Matcher): HttpBody {
  if (!isWhole(body)) return redactedStream(body, matcher);
  const text = Buffer.concat(body).toString('latin1');
  if (!matcher.stringsOnly || !/^(?:\xef\xbb\xbf)?\s*[[{"]/.test(text)) return [bytes(matcher.redact(text))];
  return [bytes(redactedStrings(text, matcher))];
}

/** Redacts the strings of a JSON text, and keeps its numbers, since a secret may be one. */
function redactedStrings(text: string, matcher: Matcher): string {
  let redacted = '';
  let from = 0;
  // Not with one pattern for a string, which ends in a RangeError where a string has millions of escapes.
  for (let start = text.indexOf('"'); start >= 0; start = text.indexOf('"', from)) {
    let end = start + 1;
    while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
    redacted += `${text.slice(from, start)}"${matcher.redact(text.slice(start + 1, end))}${text.slice(end, end + 1)}`;
    from = end + 1;
  }
  return redacted + text.slice(from);
}

/** Yields the body with secrets redacted, even those that arrive in several pieces. */
async function* redactedStream(body: AsyncIterable<Uint8Array>, matcher: Matcher): AsyncGenerator<Uint8Array> {
  if (matcher.stringsOnly) {
    // Only in the whole text is it certain where a string begins and ends.
    yield* redactedBody(await Array.fromAsync(body), matcher);
    return;
  }
  let held: Buffer = Buffer.alloc(0);
  const last = (): Uint8Array[] => (held.length === 0 ? [] : [bytes(matcher.redact(held.toString('latin1')))]);
  try {
    for await (const chunk of body) {
      const [done, rest] = matcher.redactStart(Buffer.concat([held, chunk]));
      held = rest;
      if (done.length > 0) yield done;
    }
  } catch (error) {
    // What arrived before the break is still valid.
    yield* last();
    throw error;
  }
  yield* last();
}

/** Returns a byte per character: secrets are ASCII, and everything else stays as it is. */
function bytes(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}
