/** Requests that the built program sends, and codings that are read, on real sockets. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { runIn } from '../support/in-process.ts';
import { item, json, send, tooMany } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { KEY, runJson, staging, takeApart } from '../support/staging.ts';
import { createTestContext } from '../support/test-context.ts';

const LIST = ['inventory', 'list'];
const SET = ['inventory', 'set', '7', '12'];
const STOCK = [item(1, 5), item(7, 10)];

describe('a compressed list', () => {
  const text = Buffer.from(JSON.stringify(STOCK));
  const listHere = async (baseUrl: string) =>
    takeApart(await runIn(createTestContext({ env: staging(baseUrl) }), '--json', ...LIST));

  it.each([
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
    ['identity', text],
    ['gzip, gzip', gzipSync(gzipSync(text))],
    ['deflate , identity,BR', brotliCompressSync(deflateSync(text))],
  ])('in %s is read', async (coding, body) => {
    const server = await scriptedServer([{ body, headers: { 'Content-Encoding': coding } }]);
    const { code, stdout } = await listHere(server.baseUrl);
    expect({ code, rows: JSON.parse(stdout) as unknown }).toEqual({ code: 0, rows: STOCK });
  });

  it.each([
    ['compress', 'compress'],
    ['gzip, zstd', 'gzip, zstd'],
    ['toString', 'tostring'],
    [Array(6).fill('gzip').join(', '), 'gzip, gzip, gzip, gzip, gzip, gzip'],
  ])('in %s is refused, once', async (coding, named) => {
    const server = await scriptedServer([{ body: text, headers: { 'Content-Encoding': coding } }]);
    const { code, error, stdout } = await listHere(server.baseUrl);
    expect({ code, stdout, message: error?.message }).toEqual({
      code: 8,
      stdout: '',
      message: `Invalid response: the response uses the content coding ${named}, which petstore does not support.`,
    });
  });

  it.each(['gzip', 'br'])('in no %s, although its header says so, is not said to have broken off', async (coding) => {
    const reply = { body: text, headers: { 'Content-Encoding': coding } };
    const server = await scriptedServer([reply, reply, reply]);
    const { code, error } = await listHere(server.baseUrl);
    expect([code, error?.message]).toEqual([
      8,
      'Invalid response: the response cannot be decoded from its content coding.',
    ]);
  });
});

it('a 100 Continue that nobody has asked for is skipped: the 429 after it counts', async () => {
  const server = await scriptedServer([
    async (exchange) => {
      exchange.res.writeContinue();
      await send(tooMany(3_600), exchange);
    },
  ]);
  const { code } = await runJson(server.baseUrl, SET);
  expect([code, server.log()]).toEqual([6, ['PATCH /v1/inventory/7']]);
});

it('a request is what the service spec says, and carries nothing else', async () => {
  const server = await scriptedServer([json(item(7, 12))]);
  await runJson(server.baseUrl, SET);
  const [request] = server.requests;
  expect(request).toEqual({
    method: 'PATCH',
    path: '/v1/inventory/7',
    body: '{"quantity":12}',
    connection: 1,
    onConnection: 1,
    headers: {
      host: `127.0.0.1:${server.port}`,
      connection: 'keep-alive',
      accept: 'application/json',
      'accept-encoding': 'gzip, br',
      authorization: `Bearer ${KEY}`,
      'cache-control': 'no-cache',
      'content-length': '15',
      'content-type': 'application/json',
      'petstore-max-wait': '75',
      'user-agent': expect.stringMatching(/^petstore\/\d+\.\d+\.\d+ \((node|bun) [\d.]+; \w+\)$/) as string,
    },
  });
});
