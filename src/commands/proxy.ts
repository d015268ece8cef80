import { argument, defineCommand, flag, option, under } from '../cli/command.ts';
import { listenOptions } from '../cli/shared-options.ts';
import { parserOf, pathValue } from '../value-parsers.ts';
import { isProduction } from '../session/environments.ts';
import { stateFolder } from '../session/paths.ts';
import { Failure, usageFailure } from '../errors.ts';
import { addClient, clientName, digestOf, shareOf } from '../proxy/clients.ts';
import { openCredentials, passedSocket, requireGuard } from '../proxy/credentials.ts';
import { startProxy } from '../proxy/proxy-server.ts';
import { logWords } from '../proxy/requests.ts';
import { introduce, notifyReady, openLog, stopped } from '../serve/serve.ts';
import { connect } from '../session/connect.ts';
import { isExplicit } from '../session/settings.ts';
import { record } from '../view/view.ts';

/** Time after a stop signal for requests in flight to finish, and for the whole shutdown, in ms. */
const DRAIN_MS = 20_000;
const GRACE_MS = 25_000;

const headerValue = parserOf('the name of a header', (text) =>
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text) ? text.toLowerCase() : undefined,
);

const OPTIONS = {
  ...listenOptions('4011', 'TLS and --tokens'),
  ...under('Server', {
    tlsCert: option('--tls-cert <file>', pathValue, 'certificate with its chain, PEM; read again when it changes'),
    tlsKey: option('--tls-key <file>', pathValue, 'private key of the certificate, PEM'),
  }),
  readOnly: flag('--read-only', 'refuse all but GET, HEAD and OPTIONS'),
  ...under('Who may use it', {
    tokenFile: option('--token-file <file>', pathValue, 'the token that clients send; created if it is missing'),
    token: flag('--no-token', 'let every program on this machine use it', { conflicts: ['tokenFile'] }),
    tokens: option('--tokens <file>', pathValue, 'named clients, with tokens from petstore proxy token add', {
      conflicts: ['tokenFile', 'token'],
    }),
  }),
  priorityHeader: option(
    '--priority-header <name>',
    headerValue,
    'requests with this header go first, and may use the --reserve',
  ),
};

export const proxy = defineCommand({
  path: 'proxy',
  common: 'requests',
  summary: 'Let other programs use the key, within its rate limit',
  description:
    'Programs use http://127.0.0.1:4011/v1 as their base URL, and the token as their API key; without --tokens, the ' +
    'key itself is accepted too. Each request is held until the rate limit allows it. Clients take turns, told ' +
    'apart by their name in --tokens or their User-Agent. A request that would wait longer than --max-wait is ' +
    'answered at once with 429 and Retry-After. Runs until Ctrl-C or SIGTERM, then finishes the requests it has ' +
    'sent. /__petstore/status and /__petstore/metrics show its state, /__petstore/health whether it is running.',
  examples: {
    'In front of staging': 'petstore proxy --env staging',
    'Production, read-only': 'petstore proxy --env production --read-only',
    'As a service: token and log in files': 'petstore proxy --env staging --token-file token --log proxy.ndjson',
  },
  options: OPTIONS,
  more: ['rate-limits', 'scripting'],
  graceMs: GRACE_MS,
  async run(input, context) {
    const { environment } = await context.settings();
    if (isProduction(environment.value) && !isExplicit(environment)) {
      throw usageFailure('A proxy for production needs --env production.', 'Run petstore proxy --env production');
    }
    requireGuard(input, input.host);
    const passed = passedSocket(context, input);
    const { apiKey } = await context.target();
    const credentials = await openCredentials(context, input, apiKey);
    const log = await openLog(context, input.log, logWords);
    // Aborts the requests that are still in flight after DRAIN_MS.
    const hard = new AbortController();
    const serving = { ...context, signal: hard.signal };
    const session = await connect(serving, { isServer: true });
    if (session.isAlone()) throw new Failure('state', { path: stateFolder(context), problem: 'unusable' });
    // A Redis server that refuses the settings ends the command here, in place of each request later.
    await session.known();
    const running = await startProxy(serving, session, { ...input, passed, credentials, onRequest: log.onRequest });
    credentials.onIdentity = running.renew;
    await notifyReady(context);
    return {
      ...introduce([
        ['Base URL', 'baseUrl', running.baseUrl],
        ['Environment', 'environment', session.environment],
        ...credentials.shown,
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

const clientValue = parserOf('a name of at most 80 characters, without spaces and quotes', clientName);

export const proxyTokenAdd = defineCommand({
  path: 'proxy token add',
  common: 'output',
  summary: 'Make a token for a client of the proxy',
  description:
    'Prints the token, which cannot be shown again, and adds its name and SHA-256 to the file. A running proxy with ' +
    '--tokens FILE accepts it within seconds. To revoke it, remove its line from the file.',
  examples: {
    'For a till': 'petstore proxy token add till-1 --tokens tokens',
    'For a read-only report, with at most a tenth of the rate limit':
      'petstore proxy token add report --read --share 10% --tokens tokens',
  },
  arguments: { name: argument(clientValue, 'who uses it: the person in the history') },
  options: {
    tokens: option('--tokens <file>', pathValue, 'the file; created if it is missing'),
    read: flag('--read', 'refuse all but GET, HEAD and OPTIONS'),
    share: option('--share <percent>', parserOf('a share such as 10%', shareOf), 'at most this part of the rate limit'),
  },
  async run({ name, tokens, read, share }, context) {
    if (tokens === undefined) throw usageFailure('The file of the tokens is missing: --tokens FILE');
    const token = Buffer.from(context.randomBytes(32)).toString('base64url');
    await addClient(context, tokens, { name, digest: digestOf(token), isReadOnly: read === true, share });
    context.notices.info(`Added ${name} to ${tokens}. The token is shown only here.`);
    return record(token, { name, token, tokens });
  },
});
