/** Provokes network faults on real sockets, through the built program. */
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { listenOnLoopback } from '../support/cleanup.ts';
import { closeIdle, drip, hugeHeaders, never, reset, truncate } from '../support/faults.ts';
import { blackhole, refusedPort } from '../support/holes.ts';
import { runIn } from '../support/in-process.ts';
import { error as refusal, item, json, type Reply } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { runJson, staging, takeApart } from '../support/staging.ts';
import { createTestContext } from '../support/test-context.ts';
import { caFile, type Identity, issueIdentity, tlsIdentities } from '../support/tls.ts';

const LIST = ['inventory', 'list'];
const SET = ['inventory', 'set', '7', '12'];
const STOCK = [item(1, 5), item(7, 10)];
/** It takes 100 s. */
const DRIP = drip({ chunk: 1, every: 100 }, { body: ' '.repeat(1_000) });
const GET = 'GET /v1/inventory';
const PATCH = 'PATCH /v1/inventory/7';
/** For an answer that does not come: others come over loopback well within it, on a busy machine too. */
const SOON = ['--timeout', '2s'];
const OLD_TLS = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;

type Refused = readonly [what: string, identity: () => Identity & { readonly ciphers?: string }, reason: string];

/** A key that is too short for OpenSSL in every Node, which gives no code for it. The server offers it nevertheless. */
const WEAK: Refused = [
  'weak',
  () => {
    const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 768 });
    return { ...issueIdentity({ names: ['localhost'], key }), ciphers: 'DEFAULT@SECLEVEL=0' };
  },
  'EE certificate key too weak (UNSPECIFIED)',
];

/** The executable's runtime has BoringSSL, which accepts short keys. */
const isNode = process.env.PETSTORE_BIN === undefined;

// A read differs in its retries alone, below; what each failure means for a write is in test/report/failures.test.ts.
describe('no connection', () => {
  const CHECK = 'Check the network and run the command again.';
  it.each<[string, () => Promise<string>, string, hint: unknown, options?: readonly string[]]>([
    ['fault 1: an unknown host', async () => 'nowhere.localhost.invalid', 'Cannot find the address of PEER (CODE)', expect.stringContaining('base URL'), ['--insecure-http']],
    ['fault 2: a refused connection', async () => `127.0.0.1:${await refusedPort()}`, 'Cannot connect to PEER (ECONNREFUSED)', CHECK],
    ['fault 3: a connection that does not come', async () => `127.0.0.1:${await blackhole()}`, 'Could not connect to PEER within 2 s', CHECK, SOON],
  ])('%s is named, tried three times, and nothing was sent', async (_what, open, says, hint, options = []) => {
    const peer = await open();
    const { code, stdout, error } = await runJson(`http://${peer}/v1`, [...options, ...SET]);
    const message = String(error?.message).replace(peer, 'PEER').replace(/\(E(NOTFOUND|AI_AGAIN)\)/, '(CODE)');
    expect({ code, stdout, error: { ...error, message } }).toEqual({
      code: 7,
      stdout: '',
      error: {
        kind: 'network',
        message: `${says} after 3 attempts; nothing was sent.`,
        exitCode: 7,
        retryable: true,
        outcome: 'not-sent',
        hint,
      },
    });
  }); // prettier-ignore

  it.each([
    ['speaks http', () => createServer(), /"PEER does not speak TLS; .*"Did you mean http:\/\/PEER\/v1\?"/],
    [
      'has old versions of TLS only',
      () => createTlsServer(OLD_TLS),
      /"No TLS connection to PEER \(ERR_SSL_.* TLS 1\.2/,
    ],
  ])('an https address of a server that %s is named as such', async (_what, create, words) => {
    const peer = `127.0.0.1:${await listenOnLoopback(create())}`;
    const { code, error } = await runJson(`https://${peer}/v1`, SET);
    expect([code, JSON.stringify(error).replaceAll(peer, 'PEER')]).toEqual([7, expect.stringMatching(words)]);
  });

  it.each<Refused>([
    ['expired', () => tlsIdentities().expired, 'it has expired (CERT_HAS_EXPIRED)'],
    ['self-signed', () => tlsIdentities().selfSigned, 'it is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)'],
    ['for another host', () => tlsIdentities().wrongHost, 'it belongs to another host (ERR_TLS_CERT_ALTNAME_INVALID)'],
    ...(isNode ? [WEAK] : []),
  ])('fault 4: a certificate that is %s is refused for that reason, once', async (_what, identity, reason) => {
    const server = await scriptedServer([], { tls: identity() });
    const { code, stdout, error } = await runJson(server.baseUrl, SET, { env: { NODE_EXTRA_CA_CERTS: caFile() } });
    expect({ code, stdout, error, connections: server.connections }).toEqual({
      code: 7,
      stdout: '',
      connections: 1,
      error: {
        kind: 'network',
        message: `The certificate of 127.0.0.1:${server.port} was not accepted: ${reason}; nothing was sent.`,
        exitCode: 7,
        retryable: false,
        outcome: 'not-sent',
        hint: expect.not.stringContaining('insecure') as string,
      },
    });
  });
});

it('a certificate of an authority that was not named is not trusted', async () => {
  const server = await scriptedServer([], { tls: tlsIdentities().good });
  expect((await runJson(server.baseUrl, LIST)).code).toBe(7);
});

describe('a read', () => {
  it.each([
    [
      'fault 5: a reset',
      [],
      reset(),
      7,
      'The connection to PEER was lost before the answer (ECONNRESET) after 3 attempts',
    ],
    ['fault 7: no answer in time', SOON, never(), 7, 'No answer from PEER within 2 s after 3 attempts'],
    ['fault 8: a body cut short', [], truncate(60, json(STOCK)), 8, 'Invalid response: the response broke off before'],
    ['fault 9: a drip without end', SOON, DRIP, 7, 'The answer from PEER was not complete within 2 s after 3 attempts'],
  ])('%s is repeated twice, then fails; nothing is printed', async (_name, options, reply, exitCode, message) => {
    const server = await scriptedServer([reply, reply, reply]);
    const { code, stdout, error } = await runJson(server.baseUrl, [...options, ...LIST]);
    expect({ code, stdout, log: server.log() }).toEqual({ code: exitCode, stdout: '', log: [GET, GET, GET] });
    expect(String(error?.message).replace(`127.0.0.1:${server.port}`, 'PEER')).toContain(message);
  });

  it('fault 27: headers above the limit of the parser fail at once', async () => {
    const server = await scriptedServer([hugeHeaders(40_000)]);
    const { code, stdout, error } = await runJson(server.baseUrl, LIST);
    expect({ code, stdout, message: error?.message, log: server.log() }).toEqual({
      code: 8,
      stdout: '',
      message: 'Invalid response: the response has more headers than an HTTP client can accept.',
      log: [GET],
    });
  });

  it('fault 9: the deadline of the whole command ends a drip', async () => {
    const server = await scriptedServer([DRIP]);
    const context = createTestContext({ env: staging(server.baseUrl) });
    const running = runIn(context, '--json', '--deadline', '700ms', ...LIST);
    await server.received(1);
    await context.clock.advance(700);
    const { code, stdout, error } = takeApart(await running);
    expect({ code, stdout, message: error?.message }).toEqual({
      code: 7,
      stdout: '',
      message: 'The command did not finish within its deadline of 700 ms.',
    });
  });
});

describe('a write whose answer is lost', () => {
  const OLD = json(STOCK);
  const DONE = json(item(7, 12));

  // What else the list may show, and a second loss, are in test/client/update.test.ts.
  it.each<[string, Reply, options?: readonly string[]]>([
    ['fault 6: a reset', reset()],
    ['fault 7: no answer in time', never(), SOON],
    ['fault 8: a body cut short', truncate(10, DONE)],
    ['fault 9: a drip without end', DRIP, SOON],
    ['fault 27: headers above the limit of the parser', hugeHeaders(40_000)],
  ])('%s: looks, finds it not applied, and sends it once more', async (_name, fault, options = []) => {
    const server = await scriptedServer([fault, OLD, DONE]);
    const { code, stdout, error } = await runJson(server.baseUrl, [...options, ...SET]);
    expect({ code, error, log: server.log() }).toEqual({ code: 0, error: undefined, log: [PATCH, GET, PATCH] });
    expect(JSON.parse(stdout)).toEqual(item(7, 12));
  });

  it.each([
    [400, 10, 'not-applied'],
    [403, 12, 'not-applied'],
    [500, 9, 'unknown'],
  ])('fault 8: through api, a %i whose body is cut short exits %i', async (status, exit, outcome) => {
    const server = await scriptedServer([truncate(10, refusal(status))]);
    const api = ['api', 'PATCH', '/inventory/7', '-f', 'quantity=12'];
    const { code, error: reported } = await runJson(server.baseUrl, api);
    expect([code, reported]).toMatchObject([exit, { outcome }]);
  });

  it('fault 10: a kept-alive connection that closes under the write is looked after', async () => {
    // --expect reads first, so that the write goes out on a connection that is already there.
    const server = await scriptedServer([OLD, closeIdle(), OLD, DONE]);
    const { code, error } = await runJson(server.baseUrl, [...SET, '--expect', '10']);
    expect({ code, error, log: server.log() }).toEqual({ code: 0, error: undefined, log: [GET, PATCH, GET, PATCH] });
  });
});
