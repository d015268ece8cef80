import { EventEmitter, once } from 'node:events';
import { startProxy } from '../../src/proxy/proxy-server.ts';
import type { ProxiedRequest } from '../../src/proxy/requests.ts';
import { open } from '../../src/session/connect.ts';
import { onCleanup } from '../support/cleanup.ts';
import type { commandContext } from '../support/command-context.ts';
import type { Identity } from '../support/tls.ts';

type Options = Parameters<typeof startProxy>[2];

/** Starts a proxy in this process, without a token, and notes the requests that it has answered. */
export async function proxyHere(
  context: ReturnType<typeof commandContext>,
  { url, apiKey }: { readonly url: string; readonly apiKey: string },
  { identity, ...more }: Pick<Options, 'patience'> & { readonly identity?: Identity | undefined } = {},
) {
  const target = { environment: 'staging', baseUrl: new URL(url), apiKey, keySource: 'a test' } as const;
  const session = await open(context, target, { isServer: true });
  const requests: ProxiedRequest[] = [];
  const news = new EventEmitter();
  const proxy = await startProxy(context, session, {
    host: '127.0.0.1',
    port: 0,
    credentials: { clients: undefined, isReadOnly: false, isNamed: () => false, identity },
    onRequest: (request) => {
      requests.push(request);
      news.emit('request');
    },
    ...more,
  });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= proxy.close(0).then(() => session[Symbol.asyncDispose]()));
  onCleanup(close);
  const answered = async (count: number): Promise<void> => {
    while (requests.length < count) await once(news, 'request');
  };
  return { session, requests, answered, close, port: Number(new URL(proxy.baseUrl).port) };
}
