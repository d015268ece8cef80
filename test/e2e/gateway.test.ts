/** `petstore proxy` for other machines: TLS, named clients, and how much of it they may use. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { exits, petstoreCommand, runPetstore, startPetstore } from '../support/binary.ts';
import { onCleanup } from '../support/cleanup.ts';
import { gate, gated } from '../support/faults.ts';
import { makeFifo, stateOf } from '../support/fifo.ts';
import { isListening } from '../support/free-port.ts';
import { createHome, type Home } from '../support/home.ts';
import { error, item, json, type Reply } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import {
  ask,
  listen,
  type Plain,
  type PlainRequest,
  plentyLeft,
  openSocket,
  type ServedProxy,
  serveProxy,
} from '../support/served.ts';
import { jsonLines, type JsonRun, KEY, runJson, staging } from '../support/staging.ts';
import { caFile, type Identity, issueIdentity, tlsIdentities } from '../support/tls.ts';

const isNode = process.env.PETSTORE_BIN === undefined;
const started: { readonly proxy: ServedProxy; readonly secrets: readonly string[] }[] = [];

afterEach(() => {
  for (const { proxy, secrets } of started.splice(0)) {
    for (const secret of [KEY, ...secrets]) expect(proxy.stdout + proxy.stderr).not.toContain(secret);
  }
});

/** Writes a certificate and its key, as tools do that renew them: the new file takes the place of the old one. */
function install(home: Home, { cert, key }: Identity): readonly string[] {
  for (const [name, text] of [
    ['key.pem', key],
    ['cert.pem', cert],
  ] as const) {
    writeFileSync(join(home.path, `${name}.new`), text, { mode: 0o600 });
    renameSync(join(home.path, `${name}.new`), join(home.path, name));
  }
  return ['--tls-cert', join(home.path, 'cert.pem'), '--tls-key', join(home.path, 'key.pem')];
}

async function addToken(home: Home, name: string, ...args: string[]): Promise<string> {
  const file = join(home.path, 'tokens');
  const { code, stdout, stderr } = await runPetstore(['proxy', 'token', 'add', name, '--tokens', file, ...args], {
    home,
  });
  const said = stderr.replace(/^Waiting for another petstore process that adds a token; .*\n/, '');
  expect([code, said]).toEqual([0, `Added ${name} to ${file}. The token is shown only here.\n`]);
  return stdout.trim();
}

interface Client {
  readonly token: string;
  ask(path: string, request?: PlainRequest & { readonly port?: number }): Promise<Plain>;
}

/** A gateway in front of scripted replies, with a client for each name: `till-1`, `report --read`. */
async function gatewayFor(names: readonly string[], replies: readonly Reply[] = [], args: readonly string[] = []) {
  const home = createHome();
  const tls = install(home, tlsIdentities().good);
  const tokens: string[] = [];
  for (const name of names) tokens.push(await addToken(home, ...(name.split(' ') as [string])));
  const server = await scriptedServer(replies);
  const file = join(home.path, 'tokens');
  const proxy = await serveProxy(staging(server.baseUrl), [...tls, '--tokens', file, ...args], { home });
  started.push({ proxy, secrets: tokens });
  const clients = tokens.map((token): Client => {
    const authorization = `Bearer ${token}`;
    return {
      token,
      ask: (path, given = {}) => askTls(proxy.port, path, { ...given, headers: { authorization, ...given.headers } }),
    };
  });
  return { home, server, proxy, file, clients };
}

const askTls = (port: number, path: string, request: PlainRequest = {}): Promise<Plain> =>
  ask(port, path, { ...request, tls: true });

async function openTls(port: number): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  onCleanup(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

const PATCH = { method: 'PATCH', headers: { 'content-type': 'application/json' }, body: '{"quantity":12}' } as const;
const codeOf = ({ status, body }: Plain): unknown[] => [status, (JSON.parse(body) as { code?: string }).code];

describe('listening', () => {
  it('beyond this machine needs TLS and clients with names', async () => {
    const home = createHome();
    const tls = install(home, tlsIdentities().good);
    await addToken(home, 'till-1');
    const tokens = ['--tokens', join(home.path, 'tokens')];
    const env = staging('http://127.0.0.1:9/v1');
    for (const args of [[], tls, tokens, [...tls, '--no-token']]) {
      const { code, stderr } = await runPetstore(['proxy', '--host', '0.0.0.0', '--port', '0', ...args], { home, env });
      const problem = 'To listen on 0.0.0.0, for other machines, the proxy needs --tls-cert, --tls-key and --tokens.';
      expect([code, stderr.split('\n')[0]]).toEqual([2, `error: ${problem}`]);
    }
    const half = await runPetstore(['proxy', ...tls.slice(0, 2)], { home, env });
    expect(half).toMatchObject(exits(2, '--tls-cert and --tls-key belong together.'));
  });

  it.each<[name: string, text: string, says: string]>([
    ['cert.pem', 'garbage', 'cert.pem has no certificate in PEM that petstore can read.'],
    ['key.pem', 'garbage', 'key.pem has no private key without a passphrase in PEM that petstore can read.'],
    ['key.pem', tlsIdentities().expired.key, 'key.pem does not belong to the certificate'],
    // Only OpenSSL asks for a minimum.
    ...(isNode ? [['pair', '', 'cert.pem cannot be used for TLS: ee key too small.'] as [string, string, string]] : []),
  ])('an unusable %s is one sentence, and exit 3', async (name, text, says) => {
    const home = createHome();
    const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 512 });
    const tls = install(home, name === 'pair' ? issueIdentity({ names: ['localhost'], key }) : tlsIdentities().good);
    if (name !== 'pair') writeFileSync(join(home.path, name), text);
    const run = await runPetstore(['proxy', '--port', '0', ...tls], { home, env: staging('http://127.0.0.1:9/v1') });
    expect([run.code, run.stderr.split('\n')[0]]).toEqual([3, expect.stringContaining(says)]);
    expect(run.stderr).not.toContain('BEGIN');
  });

  it.each(['shop.example:443', 'https://shop.example', 'shop.example,berlin.example', ''])(
    '--allow-host %j is refused: no Host header would ever match it',
    async (name) => {
      const args = ['proxy', '--port', '0', '--allow-host', name];
      const { code, error: failure } = await runJson('http://127.0.0.1:9/v1', args);
      expect([code, failure?.kind]).toEqual([2, 'invalid-value']);
    },
  );

  it.runIf(isNode)('uses a new certificate on SIGHUP, also after one that it cannot use', async () => {
    const { home, proxy, clients } = await gatewayFor(['till-1'], [json([])]);
    const [till] = clients as [Client];
    const serial = async (): Promise<string> => (await openTls(proxy.port)).getPeerCertificate().serialNumber;
    const first = await serial();
    writeFileSync(join(home.path, 'cert.pem'), 'garbage');
    proxy.kill('SIGHUP');
    await proxy.waitFor(/cert\.pem has no certificate in PEM.*keeps what it read before/, 'stderr');
    expect(await serial()).toBe(first);
    expect((await till.ask('/v1/inventory')).status).toBe(200);
    install(home, tlsIdentities().expired);
    proxy.kill('SIGHUP');
    await proxy.waitFor(/Read .*cert\.pem and .*key\.pem again\./, 'stderr');
    expect(await serial()).not.toBe(first);
  });

  it.runIf(isNode)('knows the names of its certificate, and those of --allow-host', async () => {
    const { home, proxy, clients } = await gatewayFor(
      ['till-1'],
      [json([]), json([]), json([]), json([])],
      ['--allow-host', 'Shop.Example.'],
    );
    install(home, issueIdentity({ names: ['gateway.example', '*.berlin.example'] }));
    proxy.kill('SIGHUP');
    await proxy.waitFor(/again\./, 'stderr');
    const [till] = clients as [Client];
    for (const [host, status] of [
      ['localhost', 200],
      ['shop.example:8443', 200],
      ['gateway.example', 200],
      ['Shop.berlin.example', 200],
      ['berlin.example', 403],
      ['pets.example', 403],
    ] as const) {
      expect((await till.ask('/v1/inventory', { headers: { host } })).status, host).toBe(status);
    }
    expect(proxy.baseUrl).toMatch(/^https:\/\/127\.0\.0\.1:/);
  });
});

describe('tokens', () => {
  it('are printed once; the file has their digests', async () => {
    const home = createHome();
    const file = join(home.path, 'tokens');
    const till = await addToken(home, 'till-1');
    const report = await addToken(home, 'report', '--read', '--share', '10%');
    const digest = (token: string) => createHash('sha256').update(token).digest('hex');
    expect(readFileSync(file, 'utf8')).toBe(`till-1 ${digest(till)} write\nreport ${digest(report)} read 10%\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    // As in the unit: root adds tokens, and the gateway reads them as another user.
    if (process.geteuid?.() === 0) chownSync(file, 65_534, 65_534);
    chmodSync(file, 0o660);
    const { mode, uid, gid } = statSync(file);
    await addToken(home, 'till-3');
    expect(statSync(file)).toMatchObject({ mode, uid, gid });
    const again = await runPetstore(['proxy', 'token', 'add', 'till-1', '--tokens', file], { home });
    expect([again.code, again.stdout]).toEqual([2, '']);
    expect(again.stderr).toContain(`${file} already has a token for till-1.`);
    for (const [exit, says, ...args] of [
      [2, 'name must be a name of at most 80 characters', '', '--tokens', file],
      [2, 'name must be a name of at most 80 characters', 'a b', '--tokens', file],
      [2, '--share must be a share such as 10%', 'till-2', '--share', '0%', '--tokens', file],
      [2, '--tokens FILE', 'till-2'],
      [3, '/dev/stdout is not a plain file.', 'till-2', '--tokens', '/dev/stdout'],
      // The command would read it for ever.
      [3, '/fifo is not a plain file.', 'till-2', '--tokens', makeFifo(home)],
    ] as const) {
      expect(await runPetstore(['proxy', 'token', 'add', ...args], { home })).toMatchObject(exits(exit, says));
    }
    const asJson = await runPetstore(['proxy', 'token', 'add', 'till-2', '--tokens', file, '--json'], { home });
    const { token } = JSON.parse(asJson.stdout) as { token: string };
    expect(readFileSync(file, 'utf8')).toContain(`till-2 ${digest(token)} write\n`);
  });

  it('added at the same time are all there', async () => {
    const home = createHome();
    const names = Array.from({ length: 6 }, (_, i) => `till-${i}`);
    await Promise.all(names.map((name) => addToken(home, name)));
    const lines = readFileSync(join(home.path, 'tokens'), 'utf8').trim().split('\n');
    expect(lines.map((line) => line.split(' ')[0]).toSorted()).toEqual(names);
  });

  it('say who wrote; one for reading writes nothing; neither the key nor another token is accepted', async () => {
    const { home, server, proxy, clients } = await gatewayFor(
      ['till-1', 'report --read'],
      [json(item(7, 12)), json([item(7, 12)])],
    );
    const [till, report] = clients as [Client, Client];
    expect((await till.ask('/v1/inventory/7', { ...PATCH })).status).toBe(200);
    expect((await report.ask('/v1/inventory')).status).toBe(200);
    expect(codeOf(await report.ask('/v1/inventory/7', { ...PATCH }))).toEqual([403, 'read_token']);
    for (const token of [KEY, '', 'x', `${till.token}x`]) {
      const headers = { authorization: `Bearer ${token}` };
      expect(codeOf(await askTls(proxy.port, '/v1/inventory', { headers }))).toEqual([401, 'unauthorized']);
    }
    expect(server.log()).toEqual(['PATCH /v1/inventory/7', 'GET /v1/inventory']);
    const { stdout } = await runPetstore(['inventory', 'history', '--json'], { home, env: staging(server.baseUrl) });
    expect(JSON.parse(stdout)).toMatchObject([{ petId: 7, after: 12, who: 'till-1' }]);
    const metrics = await till.ask('/__petstore/metrics');
    expect(metrics.body).toContain('petstore_proxy_wrong_tokens_total 4\n');
  });

  it('are read again on SIGHUP: new ones are accepted, removed ones refused; a bad line changes nothing', async () => {
    const { home, proxy, file, clients } = await gatewayFor(['till-1'], [json([]), json([]), json([])]);
    const [till] = clients as [Client];
    const token = await addToken(home, 'till-2');
    proxy.kill('SIGHUP');
    await proxy.waitFor(/Read .*tokens again\./, 'stderr');
    const next = { headers: { authorization: `Bearer ${token}` } };
    expect((await askTls(proxy.port, '/v1/inventory', next)).status).toBe(200);
    appendFileSync(file, 'nonsense\n');
    proxy.kill('SIGHUP');
    await proxy.waitFor(/tokens, line 3, is not: NAME.*keeps what it read before/, 'stderr');
    expect((await till.ask('/v1/inventory')).status).toBe(200);
    const [, kept = ''] = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, `${kept}\n`);
    proxy.kill('SIGHUP');
    await proxy.waitFor(/again\.[^]*again\./, 'stderr');
    expect((await till.ask('/v1/inventory')).status).toBe(401);
    expect((await askTls(proxy.port, '/v1/inventory', next)).status).toBe(200);
  });
});

/** A terminal of its own, which uses the token as its key. */
function tillOf({ baseUrl }: ServedProxy, token: string): (...args: string[]) => Promise<JsonRun> {
  const options = { home: createHome(), env: { PETSTORE_API_KEY: token, NODE_EXTRA_CA_CERTS: caFile() } };
  return (...args) => runJson(baseUrl, args, options);
}

describe('petstore as its client', () => {
  const LIST = ['inventory', 'list'];
  const SET = ['inventory', 'set', '7', '12'];

  it.each([
    [403, 12, 'banned', false],
    [503, 8, 'paused', true],
  ])('a block after a %i is exit %i for every command of every terminal', async (status, exit, kind, retryable) => {
    const refusal = error(status, 'No.', 'no', { headers: { 'Retry-After': '600' } });
    const { server, proxy, clients } = await gatewayFor(['till-1', 'till-2', 'curl'], [refusal]);
    const [first, second, curl] = clients as [Client, Client, Client];
    const till = tillOf(proxy, first.token);
    expect([(await till(...LIST)).code, (await till(...SET)).code]).toEqual([exit, exit]);
    for (const args of [SET, LIST, SET]) {
      const other = args === SET ? tillOf(proxy, second.token) : till;
      const { code, error: failure } = await other(...args);
      expect([code, failure]).toMatchObject([exit, { kind, retryable }]);
      expect(failure?.message).not.toContain('429');
      expect(Date.parse(String(failure?.retryAt)) - Date.now()).toBeGreaterThan(500_000);
    }
    expect((await tillOf(proxy, curl.token)('smoke', '--only', 'list-status')).code).toBe(exit);
    const answer = await curl.ask('/v1/inventory');
    expect([...codeOf(answer), answer.headers['petstore-gateway']]).toEqual([status, kind, 'refused']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(500);
    expect(server.log()).toEqual(['GET /v1/inventory']);
  });

  it('a ban that begins with the list before a conditional update is one, too', async () => {
    const ban = error(403, 'No.', 'banned', { headers: { 'Retry-After': '600' } });
    const { server, proxy, clients } = await gatewayFor(['till-1'], [json([item(7, 12)]), ban]);
    const run = await tillOf(proxy, clients[0]!.token)('inventory', 'adjust', '7', '+1');
    expect([run.code, run.error?.kind]).toEqual([12, 'banned']);
    expect(server.log()).toEqual(['GET /v1/inventory', 'GET /v1/inventory']);
  });

  it('what the gateway itself refuses is one sentence, and no block', async () => {
    const replies = [json([item(7, 12)]), json([item(7, 12)])];
    const { server, proxy, clients } = await gatewayFor(['report --read'], replies);
    const report = tillOf(proxy, clients[0]!.token);
    for (const args of [SET, ['inventory', 'adjust', '7', '+1']]) {
      const { code, error: failure } = await report(...args);
      expect([code, failure]).toMatchObject([12, { message: 'This token is read-only.', code: 'read_token' }]);
      expect(JSON.stringify(failure)).not.toMatch(/ban|retryAt/);
    }
    expect((await report(...LIST)).code).toBe(0);
    const limits = JSON.parse((await report('limits')).stdout) as { block: unknown };
    expect(limits.block).toBeNull();
    expect(server.log()).toEqual(['GET /v1/inventory', 'GET /v1/inventory']);
    const stranger = await tillOf(proxy, 'unknown-token')(...LIST);
    const message = 'The gateway does not know the token from PETSTORE_API_KEY (401).';
    expect([stranger.code, stranger.error]).toMatchObject([4, { kind: 'unauthorized', message }]);
  });

  it.each([
    ['GET', LIST],
    ['PATCH', SET],
  ])('a %s whose key the service refuses names the key of the gateway', async (_method, args) => {
    const { proxy, clients } = await gatewayFor(['till-1'], [error(401, 'Invalid API key.', 'unauthorized')]);
    const { code, error: failure } = await tillOf(proxy, clients[0]!.token)(...args);
    const message = 'The service refused the key of the gateway (401, unauthorized: Invalid API key).';
    const hint = 'Your own token is right. Tell the people who run the gateway.';
    expect([code, failure]).toMatchObject([4, { kind: 'unauthorized', message, hint }]);
  });

  it('waits at the gateway for as long as both allow', async () => {
    const spent = json([item(7, 12)], { limits: { limit: 60, remaining: 0, resetsIn: 600 } });
    const { server, proxy, clients } = await gatewayFor(['till-1', 'till-2', 'curl'], [spent], ['--max-wait', '1h']);
    const [first, second, curl] = clients as [Client, Client, Client];
    expect((await tillOf(proxy, first.token)(...LIST)).code).toBe(0);
    const till = tillOf(proxy, second.token);
    for (const args of [[...LIST, '--no-wait'], [...SET, '--max-wait', '10s'], LIST]) {
      const { code, error: failure } = await till(...args);
      expect([code, failure]).toMatchObject([6, { kind: 'rate-limited', retryable: true }]);
      expect(Date.parse(String(failure?.retryAt)) - Date.now()).toBeGreaterThan(500_000);
    }
    expect((await curl.ask('/v1/inventory', { headers: { 'petstore-max-wait': '300' } })).status).toBe(429);
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]!.headers).not.toHaveProperty('petstore-max-wait');
  });
});

describe('raw bytes over TLS', () => {
  it('by the name of a client, without its token, hold up nothing of that client', async () => {
    const { proxy, clients } = await gatewayFor(['till-1'], [json([])]);
    const [till] = clients as [Client];
    const head = ['PATCH /v1/inventory/7 HTTP/1.1', 'Host: localhost', 'User-Agent: till-1', 'Authorization: Bearer x'];
    const strangers: TLSSocket[] = [];
    // More than one client may have waiting, and then a whole write. The refusal of the last ones takes ten seconds.
    for (let i = 0; i < 30; i++) {
      const socket = await openTls(proxy.port);
      socket.write(
        [...head, ...(i < 29 ? ['Content-Length: 1000000', '', ''] : ['Content-Length: 2', '', '{}'])].join('\r\n'),
      );
      strangers.push(socket);
    }
    while (!/wrong_tokens_total 30/.test((await till.ask('/__petstore/metrics')).body)) continue;
    const refused = once(strangers[29]!, 'data').then(() => 'refused');
    expect(await Promise.race([refused, till.ask('/v1/inventory').then(({ status }) => status)])).toBe(200);
  });

  it.runIf(isNode)(
    'fault 154: of connections without a token, the newest stay; of one client, the first hundred',
    async () => {
      const { proxy, clients } = await gatewayFor(['till-1', 'till-2'], [json([]), json([])]);
      const [till, other] = clients as [Client, Client];
      const status = `GET /__petstore/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${till.token}\r\n\r\n`;
      const answers: string[] = [];
      for (let i = 0; i < 101; i++) {
        const socket = await openTls(proxy.port);
        socket.write(status);
        answers.push(String((await once(socket, 'data'))[0]).slice(9, 12));
      }
      expect(answers.filter((answer) => answer === '200')).toHaveLength(100);
      expect(answers[100]).toBe('429');
      expect((await other.ask('/v1/inventory')).status).toBe(200);
      const idle = Array.from({ length: 501 }, () => openSocket(proxy.port));
      await once(idle[0]!, 'close');
      expect((await other.ask('/v1/inventory')).status).toBe(200);
      expect(idle.slice(2).filter(({ destroyed }) => destroyed)).toHaveLength(0);
    },
  );
});

describe('running it', () => {
  it('health needs no token and is in no log; every answer has the id of its line', async () => {
    const log = join(createHome().path, 'log.ndjson');
    const { proxy, clients } = await gatewayFor(
      ['till-1'],
      [json([]), json([], { headers: { 'X-Request-Id': 'of-the-service' } })],
      ['--log', log],
    );
    const [till] = clients as [Client];
    for (const method of ['GET', 'HEAD'])
      expect((await askTls(proxy.port, '/__petstore/health', { method, headers: { host: 'x' } })).status).toBe(204);
    expect((await askTls(proxy.port, '/__petstore/health', { method: 'POST' })).status).toBe(401);
    const answers = [
      await till.ask('/v1/inventory'),
      await till.ask('/v1/inventory'),
      await till.ask('/v1/nothing/../else'),
      await till.ask('/nothing', { headers: { 'x-request-id': 'from-nginx:1' } }),
      await till.ask('/nothing', { headers: { 'x-request-id': 'a b' } }),
    ];
    const ids = answers.map(({ headers }) => headers['x-request-id']);
    expect(ids.slice(1, 4)).toEqual(['of-the-service', expect.stringMatching(/^[0-9a-f]{16}-[0-9]+$/), 'from-nginx:1']);
    expect(new Set(ids).size).toBe(5);
    const metrics = await till.ask('/__petstore/metrics');
    expect(metrics.body).toContain('petstore_proxy_client_requests_total{client="till-1"} 5\n');
    await proxy.end('SIGTERM');
    const logged = jsonLines<{ id: string; client: string; target: string }>(readFileSync(log, 'utf8'));
    expect(logged.slice(1, -1).map(({ id }) => id)).toEqual(ids);
    expect(logged.map(({ target }) => target).filter((target) => target.endsWith('health'))).toHaveLength(1);
    expect(logged[1]).toMatchObject({ client: 'till-1', status: 200 });
  });

  it('health is 503 while the proxy stops', async () => {
    const held = gate();
    const { server, proxy, clients } = await gatewayFor(['till-1'], [gated(held, json([]))]);
    const [till] = clients as [Client];
    const sent = till.ask('/v1/inventory');
    await server.received(1);
    const socket = await openTls(proxy.port);
    socket.write('GET /__petstore/health HTTP/1.1\r\nHost: x\r\n');
    expect((await till.ask('/__petstore/status')).status).toBe(200);
    const heard = once(socket, 'data');
    proxy.kill('SIGTERM');
    while (await isListening(proxy.port)) continue;
    socket.write('\r\n');
    expect(String((await heard)[0])).toContain('HTTP/1.1 503 ');
    held.open();
    expect((await sent).status).toBe(200);
  });

  it.runIf(isNode)('a restart refuses nobody where the socket is passed', async () => {
    const { baseUrl } = await service();
    const args = ['proxy', '--no-token', '--quiet'];
    const running = startPetstore(args, {
      env: staging(baseUrl),
      command: [process.execPath, '-e', HOLDER, '--', ...petstoreCommand()],
    });
    const pids = (): number[] => [...running.stdout.matchAll(/^pid (\d+)$/gm)].map(([, pid]) => Number(pid));
    onCleanup(() => {
      for (const pid of pids()) if (stateOf(pid) !== 'gone') process.kill(pid, 'SIGKILL');
    });
    await running.waitFor(/Press Ctrl-C/, 'stdout');
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(running.stdout)?.[1]);
    const statuses: unknown[] = [];
    let isOver = false;
    const client = async (): Promise<void> => {
      // A failure among the answers shows more than one that ends the test.
      while (!isOver) statuses.push(await ask(port, '/v1/inventory').then(({ status }) => status, String));
    };
    const clients = Promise.all(Array.from({ length: 8 }, client));
    const answered = async (count: number): Promise<void> => {
      while (statuses.length < count) await ask(port, '/__petstore/health');
    };
    await answered(50);
    process.kill(pids()[0]!, 'SIGTERM');
    await running.waitFor(/Press Ctrl-C[^]*Press Ctrl-C/, 'stdout');
    await answered(statuses.length + 50);
    isOver = true;
    await clients;
    expect([...new Set(statuses)].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(statuses.slice(-8)).toEqual(Array.from({ length: 8 }, () => 200));
    process.kill(pids()[1]!, 'SIGTERM');
    expect((await running.exited).code).toBe(0);
  });

  it.runIf(existsSync('/usr/bin/systemd-notify'))('systemd hears when it is ready', async () => {
    const { baseUrl } = await service();
    const path = join(createHome().path, 'notify');
    const listener = startPetstore(['-c', NOTIFIED, path], { command: ['python3'] });
    await listener.waitFor(/listening/, 'stdout');
    const proxy = await serveProxy({ ...staging(baseUrl), NOTIFY_SOCKET: path }, ['--no-token']);
    await listener.waitFor(/READY=1/, 'stdout');
    expect((await ask(proxy.port, '/v1/inventory')).status).toBe(200);
  });

  it('serves where systemd cannot be told that it is ready', async () => {
    const { baseUrl } = await service();
    const env = { ...staging(baseUrl), NOTIFY_SOCKET: '/nowhere', PATH: createHome().path };
    const proxy = await serveProxy(env, ['--no-token']);
    expect(proxy.stderr).toContain('systemd-notify was not found');
    expect((await ask(proxy.port, '/v1/inventory')).status).toBe(200);
  });

  it.runIf(isNode)('a descriptor that is no socket, and several, are refused', async () => {
    for (const [count, says] of [
      ['1', 'The socket that was passed cannot be used'],
      ['2', 'systemd has passed 2 sockets; the proxy takes one.'],
    ] as const) {
      const command = ['sh', '-c', 'LISTEN_PID=$$ exec "$@" 3</dev/null', 'sh', ...petstoreCommand()] as const;
      const env = { ...staging('http://127.0.0.1:9/v1'), LISTEN_FDS: count };
      expect(await runPetstore(['proxy'], { command, env })).toMatchObject(exits(2, says));
    }
  });
});

/** Listens, accepts nothing, and runs a program with the socket twice: systemd does the same. */
const HOLDER = `
const server = require('node:net').createServer().listen(0, '127.0.0.1', () => {
  const script = 'echo "pid $$"; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"';
  const stdio = ['ignore', 'inherit', 'inherit', server._handle.fd];
  for (let i = 0; i < 2; i++) {
    const { status } = require('node:child_process').spawnSync('sh', ['-c', script, 'sh', ...process.argv.slice(1)], { stdio });
    if (status !== 0) process.exit(status ?? 1);
  }
  process.exit();
});`;

/** Takes the place of systemd: prints what it is told. */
const NOTIFIED = `
import socket, sys
own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
own.bind(sys.argv[1])
print('listening', flush=True)
while True: print(own.recv(4096).decode(), flush=True)`;

/** A service that answers each request. */
async function service(): Promise<{ readonly baseUrl: string }> {
  const port = await listen((_req, res) => res.writeHead(200, plentyLeft()).end('[]'));
  return { baseUrl: `http://127.0.0.1:${port}/v1` };
}
