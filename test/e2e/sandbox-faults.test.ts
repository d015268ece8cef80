import { describe, expect, it } from 'vitest';
import { Faults, parseFault } from '../../src/sandbox/faults.ts';
import { ask, heardBy, JSON_TYPE, openSocket, patch, type Plain, sendRaw, serveSandbox } from '../support/served.ts';

describe('which requests a rule meets', () => {
  const met = (text: string, requests: readonly (readonly [string, string])[], seed = 1) => {
    const faults = new Faults([parseFault(text)], seed);
    return requests.map(([method, path]) => faults.choose(method, path).length);
  };
  const list = ['GET', '/inventory'] as const;
  const set = ['PATCH', '/inventory/7'] as const;

  it.each<readonly [string, readonly number[]]>([
    ['reset', [1, 1, 1, 1]],
    ['reset,method=PATCH', [0, 1, 0, 1]],
    ['reset,path=/inventory', [1, 0, 1, 0]],
    ['reset,path=/*', [1, 0, 1, 0]],
    ['reset,path=/inventory/*', [0, 1, 0, 1]],
    ['reset,nth=3', [0, 0, 1, 0]],
    ['reset,every=2', [0, 1, 0, 1]],
    ['reset, method=PATCH, nth=2', [0, 0, 0, 1]],
    ['reset,times=2', [1, 1, 0, 0]],
    ['reset,p=0', [0, 0, 0, 0]],
    ['reset,p=1', [1, 1, 1, 1]],
  ])('%s', (text, expected) => {
    expect(met(text, [list, set, list, set])).toEqual(expected);
  });

  it('a share of them, by the seed', () => {
    const many = Array.from({ length: 2_000 }, () => list);
    const hits = met('reset,p=0.3', many, 42);
    expect(hits.filter((each) => each === 1).length / many.length).toBeCloseTo(0.3, 1);
    expect(met('reset,p=0.3', many, 42)).toEqual(hits);
    expect(met('reset,p=0.3', many, 43)).not.toEqual(hits);
  });
});

describe('over the wire', () => {
  const list = ({ port }: { port: number }): Promise<Plain> =>
    ask(port, '/v1/inventory', { headers: { authorization: 'Bearer sandbox' } });
  const quantities = async (served: { port: number }): Promise<unknown> =>
    (JSON.parse((await list(served)).body) as { petId: number; quantity: number }[]).find(({ petId }) => petId === 7)
      ?.quantity;

  const RESET = expect.stringMatching(/ECONNRESET|socket hang up/) as string;
  it.each([
    ['reset,method=PATCH', RESET, 10],
    ['reset,after,method=PATCH', RESET, 99],
    ['status=500,after,nth=1', 500, 99],
  ])('%s', async (rule, answer, quantity) => {
    const served = await serveSandbox(['--fault', rule]);
    expect(await patch(served, 7, 99).then(({ status }) => status, String)).toEqual(answer);
    expect(await quantities(served)).toBe(quantity);
  });

  it('truncate: fewer bytes than the head promises', async () => {
    const { port } = await serveSandbox(['--fault', 'truncate=5']);
    await expect(list({ port })).rejects.toThrow('aborted');
    const raw = await sendRaw(
      port,
      'GET /v1/inventory HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sandbox\r\n\r\n',
    );
    const [head = '', body] = raw.split('\r\n\r\n');
    expect([Number(/Content-Length: (\d+)/.exec(head)?.[1]) > 5, body]).toEqual([true, '[{"pe']);
  });

  it('drip: all of it, slowly', async () => {
    const { body } = await list(await serveSandbox(['--fault', 'drip=1ms']));
    expect(JSON.parse(body)).toHaveLength(25);
    const { port } = await serveSandbox(['--fault', 'drip=1s', '--seed', '3']);
    const socket = openSocket(port);
    socket.write('GET /v1/inventory HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sandbox\r\n\r\n');
    const { text } = heardBy(socket);
    await expect.poll(text).toContain('\r\n\r\n[');
    const [head = '', part = ''] = text().split('\r\n\r\n');
    expect(part.length).toBeLessThan(Number(/Content-Length: (\d+)/.exec(head)?.[1]));
  });

  it('type, bad-int64, no-header, date: an answer that is not what it should be', async () => {
    const rules = ['type=text/html', 'bad-int64', 'no-header=limits', 'date=+1d'].flatMap((rule) => ['--fault', rule]);
    const { headers, body } = await list(await serveSandbox(rules));
    const limits = Object.keys(headers).filter((name) => name.startsWith('x-ratelimit'));
    const ahead = Date.parse(String(headers.date)) - Date.now();
    expect([headers['content-type'], limits, Math.round(ahead / 3_600_000)]).toEqual(['text/html', [], 24]);
    expect(body).toMatch(/^\[\{"petId":9223372036854775808,/);
  });

  it('rules can be changed while it runs', async () => {
    const served = await serveSandbox();
    const put = (rules: unknown) =>
      ask(served.port, '/__sandbox/faults', { method: 'PUT', headers: JSON_TYPE, body: JSON.stringify(rules) });
    expect(JSON.parse((await put(['status=503,times=1'])).body)).toEqual([
      { text: 'status=503,times=1', seen: 0, fired: 0 },
    ]);
    expect([(await list(served)).status, (await list(served)).status]).toEqual([503, 200]);
    const refused = await put(['status=503', 'nonsense']);
    expect([refused.status, JSON.parse(refused.body)]).toEqual([
      400,
      expect.objectContaining({
        message: expect.stringMatching(/^The fault "nonsense" must have exactly one effect/) as string,
      }),
    ]);
    expect(JSON.parse((await ask(served.port, '/__sandbox/faults')).body)).toEqual([
      { text: 'status=503,times=1', seen: 2, fired: 1 },
    ]);
  });
});
