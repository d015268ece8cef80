/** Faults 106 to 110 and 112: the sandbox as a server for others, through the built program. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runPetstore } from '../support/binary.ts';
import { listenOnLoopback } from '../support/cleanup.ts';
import { createHome } from '../support/home.ts';
import { runIn } from '../support/in-process.ts';
import { createTestContext } from '../support/test-context.ts';
import {
  ask,
  heardBy,
  JSON_TYPE,
  openSocket,
  patch,
  ruleHasSeen,
  sendRaw,
  type Served,
  serveSandbox,
} from '../support/served.ts';
import { realSandbox } from '../support/real-sandbox.ts';

const BEARER = { authorization: 'Bearer sandbox' };

describe('fault 106: others than this machine', () => {
  it.each([
    ['the usual key', []],
    ['the usual key among others', ['--key', 'mine', 'sandbox']],
  ])('are not served with %s', async (_name, args) => {
    const context = createTestContext();
    expect(await runIn(context, 'sandbox', 'serve', '--host', '0.0.0.0', '--port', '0', ...args)).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: On 0.0.0.0 others can reach the sandbox, and its usual key is public.\n' +
        'hint: Set other keys with --key: made-up ones, never a real one.\n',
    });
  });

  it('need a key of their own; the usual one is refused', async () => {
    const args = '--host 0.0.0.0 --key made-up-1 made-up-2 --allow-host shop.example'.split(' ');
    const { port, apiKey } = await serveSandbox(args);
    expect(apiKey).toBe('made-up-1');
    for (const [key, host, status] of [
      ['made-up-1', `127.0.0.1:${port}`, 200],
      ['made-up-2', 'shop.example', 200],
      ['made-up-2', '192.0.2.7:80', 200],
      ['sandbox', `127.0.0.1:${port}`, 401],
    ] as const) {
      const headers = { authorization: `Bearer ${key}`, host };
      expect((await ask(port, '/v1/inventory', { headers })).status, `${key} ${host}`).toBe(status);
    }
  });

  it('cannot be let in by a name that leads here (DNS rebinding)', async () => {
    const { port } = await serveSandbox();
    const status = async (path: string, headers: Record<string, string>, method = 'GET') =>
      (await ask(port, path, { method, headers: { ...BEARER, ...headers } })).status;
    for (const path of ['/v1/inventory', '/', '/__sandbox/state']) {
      for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example']) {
        expect([path, host, await status(path, { host })]).toEqual([path, host, 403]);
      }
      for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, '[::1]', 'till.localhost']) {
        expect([path, host, await status(path, { host })]).toEqual([path, host, 200]);
      }
    }
    for (const hosts of ['', 'Host: localhost\r\n'.repeat(2)])
      expect(await sendRaw(port, `GET / HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`)).toMatch(
        /^HTTP\/1\.1 400 [^]*"malformed"/,
      );
  });

  it('cannot use the controls through a page in a user’s browser', async () => {
    const { port } = await serveSandbox();
    const host = `127.0.0.1:${port}`;
    for (const [status, headers] of [
      [403, { 'content-type': 'application/x-www-form-urlencoded' }],
      [403, {}],
      [403, { ...JSON_TYPE, origin: 'http://evil.example' }],
      [403, { ...JSON_TYPE, origin: 'null' }],
      [403, { ...JSON_TYPE, 'sec-fetch-site': 'cross-site' }],
      [200, JSON_TYPE],
      [200, { ...JSON_TYPE, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }],
    ] as const) {
      const answer = await ask(port, '/__sandbox/reset', { method: 'POST', headers: { host, ...headers } });
      expect(answer.status, JSON.stringify(headers)).toBe(status);
    }
  });
});

describe('fault 107: a port that cannot be had', () => {
  const HINT = 'hint: Choose another with --port (0 picks a free one), or another address with --host.\n';

  it('is named when another uses it', async () => {
    const port = await listenOnLoopback(createServer());
    const { code, stdout, stderr } = await runPetstore(['sandbox', 'serve', '--port', String(port)]);
    expect([code, stdout, stderr]).toEqual([3, '', `error: Port ${port} of 127.0.0.1 is in use.\n${HINT}`]);
  });

  it('is named when the address is another machine’s', async () => {
    const args = ['sandbox', 'serve', '--host', '192.0.2.1', '--key', 'made-up', '--port', '0'];
    const { code, stderr } = await runPetstore(args);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr:
        'error: petstore cannot listen on port 0 of 192.0.2.1: this machine has no such address (EADDRNOTAVAIL).\n' +
        HINT,
    });
  });
});

describe('fault 108: clients that mean no good', () => {
  const isAlive = async ({ port }: Pick<Served, 'port'>) =>
    (await ask(port, '/v1/inventory', { headers: BEARER })).status === 200;

  it('one that sends its head, or its body, byte by byte is cut off with 408', async () => {
    const sandbox = await realSandbox(
      { perMinute: 1_000, perDay: 1_000 },
      { patience: { headMs: 1_000, requestMs: 2_000 } },
    );
    const port = Number(new URL(sandbox.baseUrl).port);
    const slow = [
      'GET /v1/inventory HTTP/1.1\r\nHost: localhost\r\nX-Slow: ',
      'PATCH /v1/inventory/7 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{',
    ];
    const answers = await Promise.all(slow.map((text) => sendRaw(port, text)));
    for (const answer of answers) {
      expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
      expect(answer).toMatch(/\r\nX-RateLimit-Remaining: \d+\r\n/);
      expect(answer).toMatch(/\{"code":"timeout","message":"[^"]+","status":408\}$/);
    }
    expect(await isAlive({ port })).toBe(true);
  });

  it('a body of 256 MB is not kept: 413', async () => {
    const served = await serveSandbox();
    const socket = openSocket(served.port);
    const { closed } = heardBy(socket);
    const size = 256 * 2 ** 20;
    socket.write(
      'PATCH /v1/inventory/7 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sandbox\r\n' +
        `Content-Type: application/json\r\nContent-Length: ${size}\r\nConnection: close\r\n\r\n`,
    );
    const piece = Buffer.alloc(2 ** 20, ' ');
    // The server may hang up before the end.
    for (let sent = 0; sent < size && socket.writable; sent += piece.length) {
      if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), closed]).catch(() => undefined);
    }
    expect(await closed).toMatch(/^HTTP\/1\.1 413 [^]*"code":"too_large"/);
    const peak = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${served.pid}/status`, 'utf8'))?.[1]);
    expect(peak).toBeLessThan(220_000);
    expect(await isAlive(served)).toBe(true);
  });

  it('more connections than a thousand are turned away, and the server lives', async () => {
    const served = await serveSandbox();
    const sockets: Socket[] = [];
    const closed: Promise<unknown>[] = [];
    while (sockets.length < 1_200) {
      // The system drops what comes while 511 wait. Once the server answers, it has taken them all.
      if (sockets.length > 0) expect(await isAlive(served)).toBe(true);
      const more = Array.from({ length: 400 }, () => openSocket(served.port));
      sockets.push(...more);
      closed.push(...more.map((socket) => once(socket, 'close')));
      await Promise.all(more.map((socket) => once(socket, 'connect')));
    }
    // The server takes a thousand, and closes the others by itself.
    let turnedAway = 0;
    await new Promise<void>((resolve) => {
      for (const each of closed) {
        void each.then(() => {
          if (++turnedAway === 200) resolve();
        });
      }
    });
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
    expect(await isAlive(served)).toBe(true);
  });
});

describe('fault 110: many at once', () => {
  it('two servers on one file, eight clients: what was acknowledged is what is there', async () => {
    const home = createHome();
    const data = ['--data', join(home.path, 'shop.db'), '--per-minute', '100000', '--per-day', '100000'];
    const servers = [await serveSandbox(data, { home }), await serveSandbox(data, { home })] as const;
    // Each client has a pet of its own, and one that all of them set.
    const last = await Promise.all(
      Array.from({ length: 8 }, async (_, client) => {
        const server = servers[client % 2]!;
        for (let quantity = 1; quantity <= 40; quantity++) {
          const own = await patch(server, client + 1, quantity);
          const shared = await patch(server, 20, 1_000 * client + quantity);
          expect([own.status, own.body, shared.status]).toEqual([
            200,
            expect.stringContaining(`{"petId":${client + 1},"quantity":${quantity},`) as string,
            200,
          ]);
        }
        return 1_000 * client + 40;
      }),
    );
    const { body } = await ask(servers[0].port, '/v1/inventory', { headers: BEARER });
    const stock = new Map(
      (JSON.parse(body) as { petId: number; quantity: number }[]).map((pet) => [pet.petId, pet.quantity]),
    );
    expect([1, 2, 3, 4, 5, 6, 7, 8].map((pet) => stock.get(pet))).toEqual(Array.from({ length: 8 }, () => 40));
    expect(last).toContain(stock.get(20));
  });
});

describe('fault 112: stopped while it is busy', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('%s: answers what it was asked, and ends with 0', async (signal) => {
    const served = await serveSandbox(['--fault', 'delay=300ms', '--per-minute', '1000']);
    const asked = Array.from({ length: 20 }, (_, i) => patch(served, i + 1, 77));
    await ruleHasSeen(served, 20);
    served.kill(signal);
    const answers = await Promise.allSettled(asked);
    const { code, signal: killedBy } = await served.exited;
    const statuses = answers.map((each) => (each.status === 'fulfilled' ? each.value.status : 0));
    expect([code, killedBy, ...new Set(statuses)]).toEqual([0, null, 200]);
    await expect(ask(served.port, '/v1/inventory')).rejects.toThrow('ECONNREFUSED');
  });
});
