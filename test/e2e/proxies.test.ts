/** Proxies named in the environment, on real sockets, through the built program. */
import { expect, it } from 'vitest';
import { refusedPort } from '../support/holes.ts';
import { startProxy } from '../support/proxy.ts';
import { item, json } from '../support/replies.ts';
import { startPetstore } from '../support/binary.ts';
import { hostileServer } from '../support/hostile-server.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { runJson, staging, takeApart, type JsonRun } from '../support/staging.ts';
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

it('fault 119: http on loopback goes past the proxy, whatever the variables say', async () => {
  const server = await scriptedServer([json(STOCK), json(STOCK)]);
  const proxy = await startProxy();
  for (const host of ['127.0.0.1', 'localhost']) {
    const { code } = await run(`http://${host}:${server.port}/v1`, { ...through(proxy.url), ALL_PROXY: proxy.url });
    expect({ code, log: proxy.log }).toEqual({ code: 0, log: [] });
  }
});

it.each(['http', 'https'])(
  'fault 11: a proxy of %s that answers 407 is named, its credentials are not',
  async (scheme) => {
    const proxy = await startProxy({ credentials: 'clerk:right' });
    const url = proxy.url.replace('//', '//clerk:proxy-secret-1@');
    const { code, notes, error } = await run(`${scheme}://pets.example/v1`, through(url));
    expect({ code, message: error?.message, tries: proxy.log.length }).toEqual({
      code: 7,
      message: `The proxy 127.0.0.1:${proxy.port} did not let the request through: it asks for a user name and a password (407); nothing was sent.`,
      tries: 1,
    });
    expect(JSON.stringify([notes, error])).not.toMatch(/proxy-secret-1|clerk|Y2xlcms/);
  },
);

it.each(['http', 'https'])('fault 11: an unreachable proxy of %s is named', async (scheme) => {
  const port = await refusedPort();
  const { code, error } = await run(
    `${scheme}://pets.example/v1`,
    through(`http://clerk:proxy-secret-1@127.0.0.1:${port}`),
  );
  expect({ code, message: error?.message }).toEqual({
    code: 7,
    message: `The proxy 127.0.0.1:${port} did not let the request through: it cannot be reached (ECONNREFUSED); nothing was sent.`,
  });
  expect(JSON.stringify(error)).not.toMatch(/proxy-secret-1|clerk/);
});

const SET = ['inventory', 'set', '7', '12'];

it.each([
  ['list', LIST],
  ['set', SET],
])('fault 122: a proxy that is silent after CONNECT ends %s after --timeout, once', async (_name, args) => {
  const proxy = await hostileServer({ isProxy: true, holds: ['tunnel'] });
  const url = `http://127.0.0.1:${proxy.port}`;
  const { code, error } = await runJson('https://pets.example/v1', ['--timeout', '400ms', ...args], {
    env: through(url),
  });
  expect({ code, message: error?.message, outcome: error?.outcome, asked: proxy.heads.length }).toEqual({
    code: 7,
    message: `The proxy 127.0.0.1:${proxy.port} did not let the request through: it did not answer in time (ETIMEDOUT); nothing was sent.`,
    outcome: 'not-sent',
    asked: 1,
  });
});

it('fault 122: and after --deadline', async () => {
  const proxy = await hostileServer({ isProxy: true, holds: ['tunnel'] });
  const { code, error } = await runJson('https://pets.example/v1', ['--deadline', '500ms', ...SET], {
    env: through(`http://127.0.0.1:${proxy.port}`),
  });
  expect({ code, kind: error?.kind }).toEqual({ code: 7, kind: 'deadline' });
});

it.each(['SIGINT', 'SIGTERM'] as const)('fault 122: and with %s, at once: nothing was in flight', async (signal) => {
  const proxy = await hostileServer({ isProxy: true, holds: ['tunnel'] });
  const running = startPetstore(['--json', ...SET], {
    env: { ...staging('https://pets.example/v1'), ...through(`http://127.0.0.1:${proxy.port}`) },
  });
  await proxy.reached('connect');
  running.kill(signal);
  const { code, error } = takeApart(await running.exited);
  expect({ code, message: error?.message }).toEqual({
    code: signal === 'SIGINT' ? 130 : 143,
    message: signal === 'SIGINT' ? 'Stopped.' : `Stopped by ${signal}; no write was in flight.`,
  });
});

it('fault 122: 103 without end does not count as an answer: a read ends after --timeout', async () => {
  const endless = 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n';
  const server = await hostileServer({ answers: { head: { endless } } });
  const { code, error } = await runJson(`http://127.0.0.1:${server.port}/v1`, ['--timeout', '400ms', ...LIST]);
  expect({ code, message: error?.message }).toEqual({
    code: 7,
    message: `No answer from 127.0.0.1:${server.port} within 400 ms after 3 attempts.`,
  });
});

it.each([
  ['socks5://clerk:proxy-secret-1@127.0.0.1:9', '"socks5://***@127.0.0.1:9", and petstore supports http and https'],
  ['clerk:proxy-secret-1@127.0.0.1:99999', 'not a URL: "***@127.0.0.1:99999"'],
  ['clerk:proxy/secret-1@x@127.0.0.1:99999', 'not a URL: "***@127.0.0.1:99999"'],
])('names a variable that is not a usable proxy, but not its credentials: %s', async (value, problem) => {
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
