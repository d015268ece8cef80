import { defineCommand, flag, option, under } from '../cli/command.ts';
import { countValue, parserOf, textValue } from '../cli/values.ts';
import { Failure } from '../errors.ts';

/** How long requests that were sent may take once the proxy is to end, and all of it, in ms. */
const DRAIN_MS = 20_000;
const GRACE_MS = 25_000;

const headerValue = parserOf('the name of a header', (text) =>
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text) ? text.toLowerCase() : undefined,
);

const OPTIONS = {
  port: option('--port <port>', countValue(0, 65_535), '0 takes a free one', { default: 4011 }),
  readOnly: flag('--read-only', 'refuse all but GET, HEAD and OPTIONS'),
  ...under('Who may use it', {
    tokenFile: option('--token-file <file>', textValue, 'the token that clients send; created if it is missing'),
    token: flag('--no-token', 'let every program of this machine use it', { conflicts: ['tokenFile'] }),
  }),
  priorityHeader: option(
    '--priority-header <name>',
    headerValue,
    'requests with this header go first, and may use what --reserve leaves',
  ),
  log: option('--log <file>', textValue, 'add one JSON object for each request to a file, in place of lines on stderr'),
};

export const proxy = defineCommand({
  path: 'proxy',
  common: 'requests',
  summary: 'Let other programs use the key through a local HTTP proxy that keeps the rate limit',
  description:
    'Programs use http://127.0.0.1:4011/v1 as their base URL, and the token as their API key; the key itself is accepted ' +
    'too. Each request is held until the rate limit allows it. Clients, told apart by their User-Agent, take turns. A ' +
    'wait longer than --max-wait is answered with 429 and Retry-After at once. Runs until Ctrl-C or SIGTERM, then ' +
    'finishes the requests that were sent. /__petstore/status and /__petstore/metrics tell how it is doing.',
  examples: [
    { says: 'In front of staging', command: 'petstore proxy --env staging' },
    { says: 'Production, for reading only', command: 'petstore proxy --env production --read-only' },
    {
      says: 'For a service: the token in a file, the log too',
      command: 'petstore proxy --env staging --token-file token --log proxy.ndjson',
    },
  ],
  options: OPTIONS,
  more: ['rate-limits', 'scripting'],
  graceMs: GRACE_MS,
  async run(input, context) {
    const { environment } = await context.settings();
    const isSaid = environment.source.from === 'flag' || environment.source.from === 'variable';
    if (environment.value === 'production' && !isSaid) {
      throw new Failure('usage', {
        problem: 'A proxy for production must be asked for.',
        hint: 'Run petstore proxy --env production',
      });
    }
    const { bearerHash, openToken } = await import('../proxy/access.ts');
    const { introduce, openLog, stopped } = await import('../serve/serve.ts');
    const { startProxy } = await import('../proxy/server.ts');
    const { logLine, logObject } = await import('../proxy/requests.ts');
    const { connect } = await import('../session/connect.ts');
    const { stateFolder } = await import('../session/paths.ts');
    const { apiKey } = await context.target();
    const { tokenFile } = input;
    const made = Buffer.from(context.randomBytes(32)).toString('base64url');
    const token = tokenFile === undefined ? made : await openToken(context, tokenFile, made);
    const tokenRow =
      tokenFile === undefined
        ? (['Token', 'token', token] as const)
        : (['Token file', 'tokenFile', tokenFile] as const);
    const log = await openLog(context, input.log, { line: logLine, object: logObject });
    // Ends what is still on its way when the time to finish is over.
    const hard = new AbortController();
    const serving = { ...context, signal: hard.signal };
    const session = await connect(serving, { isServer: true });
    if (session.isAlone()) {
      throw new Failure('state', { path: stateFolder(context), problem: 'unusable' });
    }
    const running = await startProxy(serving, session, {
      port: input.port,
      tokens: input.token ? [token, apiKey].map(bearerHash) : undefined,
      isReadOnly: input.readOnly === true,
      ...(input.priorityHeader !== undefined && { priorityHeader: input.priorityHeader }),
      ...(log.onRequest !== undefined && { onRequest: log.onRequest }),
    });
    return {
      view: 'serving',
      record: introduce([
        ['Base URL', 'baseUrl', running.baseUrl],
        ['Environment', 'environment', session.environment],
        ...(input.token ? [tokenRow] : []),
      ]),
      async ended() {
        await stopped(context);
        const cancel = context.clock.alarm(DRAIN_MS, () => {
          hard.abort(context.signal.reason);
        });
        await running.close(DRAIN_MS);
        cancel();
        await session[Symbol.asyncDispose]();
        await log.close();
      },
    };
  },
});
