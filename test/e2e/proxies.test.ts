/** Proxies named in the environment, on real sockets, through the built program. */
import { describe, expect, it } from 'vitest';
import { refusedPort } from '../support/holes.ts';
import { runIn } from '../support/in-process.ts';
import { startProxy } from '../support/proxy.ts';
import { item, json } from '../support/replies.ts';
import { startPetstore } from '../support/binary.ts';
import { hostileServer } from '../support/hostile-server.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { runJson, staging, takeApart, type JsonRun } from '../support/staging.ts';
import { createTestContext } from '../support/test-context.ts';
import { caFile, issueIdentity, tlsIdentities } from '../support/tls.ts';

const LIST = ['--insecure-http', 'inventory', 'list'];
const STOCK = [item(1, 5), item(7, 10)];

/** Both variables that are read first. */
const through = (url: string): Record<string, string> => ({ http_proxy: url, https_proxy: url });

function run(baseUrl: string, env: Record<string, string>): Promise<JsonRun> {
  return runJson(baseUrl, ['--debug', ...LIST], { env: { NODE_EXTRA_CA_CERTS: caFile(), ...env } });
}

it('requests go through the proxy of their scheme, those that NO_PROXY names do not', async () => {
  const plain = await scriptedServer([json(STOCK), json(STOCK)]);
  const secure = await scriptedServer([json(STOCK)], { tls: issueIdentity({ names: ['pets.example'] }) });
  const proxy = await startProxy({
    credentials: 'clerk:proxy-secret-1',
    route: (authority) => ({ host: '127.0.0.1', port: authority.endsWith(':443') ? secure.port : plain.port }),
  });
  const env = through(proxy.url.replace('//', '//clerk:proxy-secret-1@'));

  const first = await run('http://pets.example/v1', env);
  const second = await run('https://pets.example/v1', env);
  // An address of this machine that is not one of loopback.
  const third = await run(`http://0.0.0.0:${plain.port}/v1`, { ...env, NO_PROXY: 'example.com,0.0.0.0/8' });
  expect({ codes: [first, second, third].map(({ code }) => code), log: proxy.log }).toEqual({
    codes: [0, 0, 0],
    log: ['GET http://pets.example/v1/inventory', 'CONNECT pets.example:443'],
  });
});

const refusal = (port: number, reason: string): string =>
  `The proxy 127.0.0.1:${port} did not let the request through: ${reason}; nothing was sent.`;

it.each(['http', 'https'])('fault 11: a proxy of %s that refuses is named, its credentials are not', async (scheme) => {
  const proxy = await startProxy({ credentials: 'clerk:right' });
  const closed = await refusedPort();
  const [refused, unreachable, plain] = await Promise.all(
    [
      `http://clerk:proxy-secret-1@127.0.0.1:${proxy.port}`,
      `http://clerk:proxy-secret-1@127.0.0.1:${closed}`,
      `https://127.0.0.1:${proxy.port}`,
    ].map((url) => run(`${scheme}://pets.example/v1`, through(url))),
  );
  expect([refused?.code, refused?.error, proxy.log.length]).toMatchObject([
    7,
    { message: refusal(proxy.port, 'it asks for a user name and a password (407)'), retryable: false },
    1,
  ]);
  expect([unreachable?.code, unreachable?.error]).toMatchObject([
    7,
    { message: refusal(closed, 'it cannot be reached (ECONNREFUSED)'), retryable: true },
  ]);
  expect(plain?.error?.message).toContain('it does not accept TLS; its address may begin with http:// (ERR_SSL_');
  expect(JSON.stringify([refused, unreachable])).not.toMatch(/proxy-secret-1|clerk|Y2xlcms/);
});

describe('fault 122: a proxy that is silent after CONNECT: a write ends', () => {
  const SET = ['inventory', 'set', '7', '12'];
  const silent = async () => {
    const proxy = await hostileServer({ isProxy: true, holds: ['tunnel'] });
    return { proxy, env: through(`http://127.0.0.1:${proxy.port}`) };
  };

  it('after --timeout, asked once', async () => {
    const { proxy, env } = await silent();
    const { code, error } = await runJson('https://pets.example/v1', ['--timeout', '2s', ...SET], { env });
    expect({ code, message: error?.message, outcome: error?.outcome, asked: proxy.heads.length }).toEqual({
      code: 7,
      message: refusal(proxy.port, 'it did not answer in time (ETIMEDOUT)'),
      outcome: 'not-sent',
      asked: 1,
    });
  });

  it('after --deadline, asked once', async () => {
    const { proxy, env } = await silent();
    const context = createTestContext({ env: { ...staging('https://pets.example/v1'), ...env } });
    const running = runIn(context, '--json', '--deadline', '400ms', ...SET);
    await proxy.reached('connect');
    await context.clock.advance(400);
    const { code, error } = takeApart(await running);
    expect({ code, message: error?.message, outcome: error?.outcome }).toEqual({
      code: 7,
      message: 'The command did not finish within its deadline of 400 ms.',
      outcome: 'not-applied',
    });
  });

  it.each([
    ['SIGINT', 130, 'Stopped.'],
    ['SIGTERM', 143, 'Stopped by SIGTERM; no write was in flight.'],
  ] as const)('with %s, at once: nothing was in flight', async (signal, exitCode, message) => {
    const { proxy, env } = await silent();
    const running = startPetstore(['--json', ...SET], { env: { ...staging('https://pets.example/v1'), ...env } });
    await proxy.reached('connect');
    const { code, error } = takeApart(await running.end(signal));
    expect({ code, message: error?.message }).toEqual({ code: exitCode, message });
  });
});

// Other values are in test/node/proxies.test.ts.
it('names a variable that is not a usable proxy, but not its credentials', async () => {
  const value = 'socks5://clerk:proxy-secret-1@127.0.0.1:9';
  const problem = '"socks5://***@127.0.0.1:9", and petstore supports http and https';
  const { code, notes, error } = await run('https://pets.example/v1', { ALL_PROXY: value });
  expect({ code, notes: notes.filter((note) => note.includes('arning')) }).toEqual({ code: 7, notes: [] });
  expect(error?.message).toMatch(/^ALL_PROXY is .*; nothing was sent\.$/);
  expect(error?.message).toContain(problem);
  expect(JSON.stringify([notes, error])).not.toContain('secret-1');
  expect(error?.retryable).toBe(false);
});

it('an https proxy by its address carries requests, and Node prints no warning', async () => {
  const identity = issueIdentity({ names: ['pets.example'] });
  const service = await scriptedServer([json(STOCK)], { tls: identity });
  const proxy = await startProxy({
    tls: tlsIdentities().good,
    route: () => ({ host: '127.0.0.1', port: service.port }),
  });
  const env = { ...through(proxy.url), NODE_EXTRA_CA_CERTS: caFile() };
  const { code, notes } = await runJson('https://pets.example/v1', ['inventory', 'list'], { env });
  expect({ code, notes, log: proxy.log }).toEqual({ code: 0, notes: [], log: ['CONNECT pets.example:443'] });
});

it('a certificate is checked although NODE_TLS_REJECT_UNAUTHORIZED is 0', async () => {
  const server = await scriptedServer([], { tls: tlsIdentities().selfSigned });
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const { code, notes, error } = await runJson(server.baseUrl, ['inventory', 'list'], { env });
  expect({ code, notes, message: error?.message }).toEqual({
    code: 7,
    notes: [],
    message: expect.stringContaining('it is self-signed') as string,
  });
});
