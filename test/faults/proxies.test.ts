/** Proxies of the environment, on real sockets, through the built program. */
import { expect, it } from 'vitest';
import { refusedPort } from '../support/holes.ts';
import { startProxy } from '../support/proxy.ts';
import { item, json } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { runJson, type Told } from '../support/staging.ts';
import { caFile, issueIdentity } from '../support/tls.ts';

const LIST = ['--insecure-http', 'inventory', 'list'];
const STOCK = [item(1, 5), item(7, 10)];

/** Both variables that are read first. */
const through = (url: string): Record<string, string> => ({ http_proxy: url, https_proxy: url });

function run(baseUrl: string, env: Record<string, string>): Promise<Told> {
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
