import { type JsonValue, parseJson, RawNumber, stringifyJson } from '../api/json.ts';
import { isOneOf } from '../api/values.ts';
import { argument, defineCommand, flag, type InputOf, option, optionalArgument } from '../cli/command.ts';
import { parserOf, type Parser, pathValue, repeated, wordValue } from '../value-parsers.ts';
import { WHY_OPTIONS, withWhy } from '../cli/shared-options.ts';
import { isWrite } from '../client/classify.ts';
import { callRaw } from '../client/raw.ts';
import { METHODS } from '../client/service.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { readBytes } from '../session/read-text.ts';
import { assertWriteAllowed, requireBaseUrl } from '../session/resolve.ts';
import { usageFailure } from '../errors.ts';
import { isRecorded, recordedCall } from '../stock/write-one.ts';
import { record, type RawView, type RecordView } from '../view/view.ts';

const MOST_BYTES = 64 * 2 ** 20;

/** Parses `quantity=12`. JSON numbers, true, false and null are kept as such; anything else is a string. */
const fieldValue: Parser<readonly [string, JsonValue]> = parserOf('a name and a value: quantity=12', (text) => {
  const at = text.indexOf('=');
  if (at < 1) return undefined;
  const [name, value] = [text.slice(0, at), text.slice(at + 1)];
  if (/^(true|false|null)$/.test(value)) return [name, parseJson(value)];
  if (/^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(value)) return [name, new RawNumber(value)];
  return [name, value];
});

/** Refuses what WHATWG URL leaves out or replaces: `/inventory/1\n2` would become pet 12. */
const requestPath = parserOf('a path without line breaks, tabs and backslashes', (text, name) =>
  /[\t\n\r\\]/.test(text) ? undefined : pathValue.parse(text, name),
);

const ARGUMENTS = {
  method: optionalArgument(wordValue(METHODS), `${METHODS.join(', ')} (default: GET)`),
  path: argument(requestPath, 'relative to the base URL, or a full URL of the same service'),
};

const OPTIONS = {
  field: option(
    '-f, --field <name=value>',
    repeated(fieldValue),
    'a member of the JSON body; numbers, true, false and null keep their type; repeatable',
  ),
  input: option('--input <file>', pathValue, 'the body; - for stdin', { conflicts: ['field'] }),
  dryRun: flag('--dry-run', 'show the request and send nothing'),
  include: flag('-i, --include', 'print status and headers before the body'),
  ...WHY_OPTIONS,
};

type ApiInput = InputOf<typeof ARGUMENTS & typeof OPTIONS>;

export const api = defineCommand({
  path: 'api',
  summary: 'Send a raw request, with the same key and rate limit',
  description:
    'Prints the response as it arrives, and exits by its status. An update of stock that the response does not ' +
    'confirm (a 202, a web page, another quantity) exits 9. The path is relative to the base URL, such as ' +
    '/inventory. After a 429 it waits like every command. Nothing else that may have been sent is retried, ' +
    'except a read with --retry-for, because an undocumented operation may not be safe to repeat. A write to production follows the same rule as ' +
    'inventory set.',
  examples: {
    'The list, as the service sends it': 'petstore api /inventory',
    'Status and headers too': 'petstore api GET /inventory -i',
    'A body from fields: numbers stay exact': 'petstore api PATCH /inventory/7 -f quantity=12',
    'A body from a file': 'petstore api PATCH /inventory/7 --input update.json',
  },
  arguments: ARGUMENTS,
  options: OPTIONS,
  more: ['scripting', 'rate-limits', 'exit-codes'],
  async run(input, context): Promise<RawView | RecordView> {
    const { method = 'GET' } = input;
    if (isOneOf(METHODS, input.path)) throw usageFailure("Missing required argument 'path'.");
    const settings = await context.settings();
    const baseUrl = requireBaseUrl(settings, context.globals);
    const path = pathBelow(baseUrl, input.path);
    if (isWrite(method) && input.dryRun !== true) await assertWriteAllowed(context);
    const body = await bodyOf(input, context);
    const call = { method, path, ...(body !== undefined && { body }) };
    if ((input.cause ?? input.note ?? input.person) !== undefined && !isRecorded(call)) {
      throw usageFailure('This request sets no quantity, so --cause, --note and --person do not apply.');
    }
    const environment = settings.environment.value;
    if (input.dryRun === true) {
      const url = `${baseUrl.href}${path}`;
      const request = `${method} ${url}${body === undefined ? '' : `\n${body}`}`;
      const members = { dryRun: true, environment, method, url, body: body ?? null };
      return record(`Dry run in ${environment}: nothing is sent.\n${request}`, members);
    }
    await using session = await connect(context);
    const { from, name } = settings.environment.source;
    const source = from === 'default' ? 'the default environment' : `environment from ${name}`;
    const answer = await recordedCall(withWhy(context, input), session, { command: 'api', call }, () => {
      if (isWrite(method)) context.notices.info(`Sending ${method} ${path} to ${environment} (${source}).`);
      return callRaw(session.service, call);
    });
    const headers = [...answer.headers].flatMap(([name, values]) => values.map((value) => `${name}: ${value}`));
    return {
      view: 'raw',
      ...(input.include === true && { head: [`HTTP ${answer.status}`, ...headers, ''].join('\n') }),
      body: Buffer.concat(await Array.fromAsync(answer.body)),
      isConfirmation: isWrite(method),
      ...(answer.failure !== undefined && { failure: answer.failure }),
    };
  },
});

async function bodyOf(
  { field, input, method = 'GET' }: ApiInput,
  context: CommandContext,
): Promise<string | undefined> {
  if (field === undefined && input === undefined) return undefined;
  if (method === 'GET' || method === 'HEAD') {
    throw usageFailure(`A ${method} has no body.`, 'Leave out -f and --input, or name a method that has one.');
  }
  if (field !== undefined) {
    const members = new Map(field);
    if (members.size < field.length) throw usageFailure('-f names a member of the body twice; nothing was sent.');
    return stringifyJson(members);
  }
  const bytes = await readBytes(context, input ?? '', MOST_BYTES);
  const text = Buffer.from(bytes).toString();
  if (!Buffer.from(text).equals(bytes)) throw usageFailure('The body is not UTF-8; nothing was sent.');
  return text;
}

/** Returns the path below the base URL: the key is sent nowhere else. @throws {Failure} `usage` */
function pathBelow(baseUrl: URL, given: string): string {
  const base = baseUrl.href;
  const whole = /^[a-z][a-z0-9+.-]*:/i.test(given) ? given : `${base}/${given.replace(/^\//, '')}`;
  const url = URL.parse(whole);
  if (url?.origin === baseUrl.origin && url.href.startsWith(`${base}/`) && url.username === '') {
    return url.href.slice(base.length).replace(/#.*$/, '');
  }
  throw usageFailure(
    `${JSON.stringify(given)} is not below the base URL ${base}, and the key is sent nowhere else.`,
    'Use the path alone: petstore api /inventory',
  );
}
