import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { type Encrypted, type Network, NetworkFailure } from '../../src/ports.ts';
import { runPetstore } from '../support/binary.ts';
import { configPath, createHome, type Home, writeConfig } from '../support/home.ts';
import { runIn, STAGING_ENV, STAGING_KEY } from '../support/in-process.ts';
import { startPty } from '../support/pty.ts';
import { screenOf } from '../support/screen.ts';
import { startProxy } from '../support/proxy.ts';
import { error, type PlainReply, tooMany } from '../support/replies.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { freePort } from '../support/free-port.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { type Found, KEY, staging, takeApart } from '../support/staging.ts';
import { caFile, type Identity, issueIdentity, tlsIdentities } from '../support/tls.ts';
import { createTestContext, type TestContextOptions } from '../support/test-context.ts';
import { httpReply } from '../support/test-ports.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const DAY = 86_400_000;

/** What is wrong, as `check: health`, and everything. */
function read(stdout: string): { sick: string[]; found: Found[]; first: Found | undefined } {
  const found = JSON.parse(stdout) as Found[];
  const bad = found.filter(({ health }) => health === 'warn' || health === 'fail');
  return { found, sick: bad.map(({ check, health }) => `${check}: ${health}`), first: bad[0] };
}

async function examine(args: readonly string[], options: TestContextOptions = {}) {
  const context = createTestContext({ env: STAGING_ENV, ...options });
  const { code, stdout, stderr } = await runIn(context, '--json', 'doctor', ...args);
  return { code, stderr, context, ...read(stdout) };
}

function configured(content: string, home: Home = createHome()): { home: Home; path: string } {
  writeConfig(home, content);
  return { home, path: configPath(home) };
}

const CONFIG = JSON.stringify({
  version: 1,
  environment: 'staging',
  'staging.base-url': 'https://pets.example/v1',
  'staging.api-key': STAGING_KEY,
  'max-wait': '9s',
});

describe('doctor --offline', () => {
  it('in colour: ok and WARN, and in status and in the list of runs one that is unfinished', async () => {
    const home = createHome();
    const run = (...args: string[]) => {
      const context = createTestContext({
        home,
        env: { PETSTORE_ENV: 'sandbox', PETSTORE_X: '1' },
        stdin: { text: '7\nq\n' },
      });
      return runIn(context, '--color', 'always', ...args);
    };
    await run('inventory', 'count', '--yes');
    const { stdout } = await run('doctor', '--offline');
    expect(stdout).toContain('\u001b[30m\u001b[102mok\u001b[49m\u001b[39m    version');
    expect(stdout).toContain('\u001b[30m\u001b[103mWARN\u001b[49m\u001b[39m  variables');
    for (const command of [['status'], ['inventory', 'runs']]) {
      expect((await run(...command)).stdout).toContain('\u001b[30m\u001b[103munfinished\u001b[49m\u001b[39m');
    }
  });

  const offline = (options?: TestContextOptions) => examine(['--offline'], options);

  it('finds nothing wrong with a machine that has been set up, and sends nothing', async () => {
    const { home, path } = configured(CONFIG);
    mkdirSync(join(home.state, 'petstore', 'reports'), { recursive: true, mode: 0o700 });
    writeFileSync(join(home.state, 'petstore', 'reports', '1.csv'), 'x'.repeat(1_210_000));
    const { code, found, context } = await offline({ home, env: {} });
    expect(code).toBe(0);
    expect(found.map(({ check, health, says }) => [check, health, says])).toEqual([
      ['version', 'ok', expect.stringMatching(/^petstore \S+ on (Node|Bun) [\d.]+, linux\.$/)],
      ['config', 'ok', `${path} can be read; only you can open it.`],
      ['environment', 'ok', 'staging, from the config.'],
      ['variables', 'ok', 'No PETSTORE_* variable overrides the config.'],
      ['base-url', 'ok', 'https://pets.example/v1, from the config.'],
      ['key', 'ok', 'Found, from the config.'],
      ['state', 'ok', `${home.state}/petstore/state.db is not damaged, and can be written.`],
      [
        'state-size',
        'note',
        expect.stringMatching(
          /^The database takes \d+ kB, its log \d+ kB, 1 report 1\.3 MB\. History is kept for 730 days\.$/,
        ),
      ],
      ['limits', 'ok', 'The service has not asked to wait.'],
      ['service', 'skip', 'Skipped because of --offline.'],
    ]);
    expect(context.sent).toEqual([]);
  });

  it('a config that is not JSON', async () => {
    const { code, sick, first, found } = await offline({ home: configured('{"version":1,').home, env: {} });
    expect({ code, sick }).toEqual({ code: 13, sick: ['config: fail'] });
    expect(first?.says).toMatch(/is not valid JSON/);
    expect(first?.fix).toMatch(/^Correct it in an editor, or move it away and log in again: petstore login$/);
    expect(found.at(-1)).toMatchObject({ check: 'service', health: 'skip' });
  });

  it('a config that others may read, or put another in place of', async () => {
    const { home, path } = configured(CONFIG);
    chmodSync(path, 0o644);
    const open = await offline({ home, env: {} });
    expect({ code: open.code, first: open.first }).toEqual({
      code: 0,
      first: {
        check: 'config',
        health: 'warn',
        says: `Others on this machine may read the key in ${path}.`,
        fix: `chmod 600 ${path}`,
      },
    });
    chmodSync(path, 0o600);
    chmodSync(join(home.config, 'petstore'), 0o777);
    const writable = await offline({ home, env: {} });
    expect(writable.first?.says).toBe(`Others on this machine may change what is in ${home.config}/petstore.`);
  });

  it('state that others may change, or that belongs to another user', async () => {
    const { home } = configured(CONFIG);
    await offline({ home });
    const folder = join(home.state, 'petstore');
    chmodSync(folder, 0o777);
    chmodSync(join(folder, 'state.db'), 0o666);
    const open = await offline({ home });
    const ofState = open.found.filter(({ check }) => check === 'state').map(({ says, fix }) => [says, fix]);
    expect(ofState).toEqual([
      [`Others on this machine may change what is in ${folder}.`, `chmod 700 ${folder}`],
      [`Others on this machine may change ${folder}/state.db.`, `chmod 600 ${folder}/state.db`],
    ]);
    const other = await offline({ home, machine: { userId: 4_000_000 } });
    const foreign = other.found.filter(({ says }) => says.endsWith(' belongs to another user.'));
    expect(foreign.map(({ check }) => check)).toEqual(
      // For root everything else belongs to another user; files that belong to root are never reported.
      process.geteuid?.() === 0 ? [] : ['config', 'config', 'state', 'state'],
    );
  });

  it('reports that cannot be listed, as one finding among the others', async () => {
    const { home } = configured(CONFIG);
    mkdirSync(join(home.state, 'petstore'), { recursive: true });
    const reports = join(home.state, 'petstore', 'reports');
    writeFileSync(reports, '');
    const { code, sick, found } = await offline({ home, env: {} });
    expect({ code, sick }).toEqual({ code: 13, sick: ['state: fail'] });
    expect(found.find(({ health }) => health === 'fail')?.says).toContain(`Could not read ${reports}: `);
  });

  it.each([
    ['PETSTORE_BASE_URL', 'https://other.example/v1', /URL overrides the config/, /unset PETSTORE_BASE_URL/],
    ['PETSTORE_API_KEY', 'another-key', /PETSTORE_API_KEY overrides the config/, /unset/],
    ['PETSTORE_MAX_WAIT', '3s', /PETSTORE_MAX_WAIT overrides the config/, /unset PETSTORE_MAX_WAIT/],
    ['PETSTORE_APIKEY', 'x', /^petstore ignores the variable PETSTORE_APIKEY/, /PETSTORE_API_KEY/],
    ['PETSTORE_LEDGER_LOST', 'share', /LOST without PETSTORE_LEDGER\.$/, /PETSTORE_LEDGER,/],
    ['NODE_EXTRA_CA_CERTS', '/missing/ca.pem', /names \/missing\/ca\.pem, which cannot be found/, /Correct the path/],
    ['NODE_EXTRA_CA_CERTS', '/dev', /names \/dev, from which no PEM certificate can be read/, /BEGIN CERTIFICATE/],
    ['NODE_EXTRA_CA_CERTS', process.execPath, /, from which no PEM certificate can be read/, /BEGIN CERTIFICATE/],
  ])('the variable %s=%s', async (name, value, says, fix) => {
    const { sick, first } = await offline({ home: configured(CONFIG).home, env: { [name]: value } });
    expect(sick).toEqual(['variables: warn']);
    expect(first?.says).toMatch(says);
    expect(first?.fix).toMatch(fix);
  });

  it.each([
    ['no base URL', { PETSTORE_BASE_URL: undefined }, 'base-url: fail', /No base URL is set for staging/],
    ['one that lacks v1', { PETSTORE_BASE_URL: 'https://pets.example' }, 'base-url: fail', /does not end in .* v1/],
    ['no key', { PETSTORE_API_KEY: undefined }, 'key: fail', /No API key is set for staging/],
    ['a key of two lines', { PETSTORE_API_KEY: 'one\ntwo' }, 'key: fail', /contains a line break/],
    ['a person of two lines', { PETSTORE_PERSON: 'one\ntwo' }, 'variables: fail', /PETSTORE_PERSON/],
  ])('%s', async (_what, env, sick, says) => {
    const report = await offline({ env: { ...STAGING_ENV, ...env } });
    expect({ code: report.code, sick: report.sick }).toEqual({ code: 13, sick: [sick] });
    expect(report.first?.says).toMatch(says);
  });

  it('of a large state database the newest changes are read, and damage among them is found', async () => {
    const home = createHome();
    await runPetstore(['inventory', 'set', '7', '12'], { home, env: { PETSTORE_ENV: 'sandbox' } });
    const path = join(home.state, 'petstore', 'state.db');
    const database = new DatabaseSync(path);
    const columns = 'environment, origin, command, person, petId, after, state, sentAt';
    const many = 'WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 40000)';
    database.exec(`INSERT INTO change (${columns}, note) ${many} SELECT ${columns}, hex(zeroblob(500)) FROM n, change`);
    const page = database.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'change'").get();
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    const env = { PETSTORE_ENV: 'sandbox' };
    const whole = await runPetstore(['doctor', '--offline', '--json'], { home, env });
    expect([whole.code, whole.stdout]).toEqual([
      0,
      expect.stringContaining('is not damaged as far as it was read (the newest 100000 changes), and'),
    ]);
    const bytes = readFileSync(path);
    bytes.fill(0xff, (Number(page?.rootpage) - 1) * 4_096, Number(page?.rootpage) * 4_096);
    writeFileSync(path, bytes);
    expect((await offline({ home })).first?.says).toBe(`${path} is damaged.`);
  });
});

const GOOD: Encrypted = {
  protocol: 'TLSv1.3',
  chain: ['pets.example', 'An authority'],
  names: 'DNS:pets.example',
  validFrom: 0,
  validTo: 4_000_000_000_000,
};

/** A way to the service on which everything works, but for what the test changes. */
function way(change: Partial<Network> = {}): Network {
  const records: Readonly<Record<string, readonly string[]>> = { A: ['192.0.2.1'], AAAA: ['2001:db8::1'] };
  return {
    proxyFor: () => ({ kind: 'direct' }),
    lookup: () => Promise.resolve(['192.0.2.1', '2001:db8::1']),
    resolver: () => (type) => Promise.resolve(records[type] ?? []),
    connect: () => Promise.resolve(),
    handshake: () => Promise.resolve(GOOD),
    ask: () => Promise.reject(new Error('unexpected request')),
    ...change,
  };
}

function online(network: Network, reply: PlainReply = {}, options: TestContextOptions = {}) {
  const context = createTestContext({
    env: STAGING_ENV,
    network,
    http: () => httpReply({ status: 200, body: '[]', ...reply }, context.clock.now()),
    ...options,
  });
  return runIn(context, '--json', '-v', 'doctor').then(({ code, stdout, stderr }) => ({
    code,
    stderr,
    requests: context.sent.length,
    ...read(stdout),
  }));
}

describe('doctor, on the way to the service', () => {
  it('does not decide whose clock is wrong: first this machine, then the owners', async () => {
    const { first } = await online(way(), { headers: { date: 'Mon, 02 Mar 2026 15:03:20 GMT' } });
    expect([first?.says, first?.fix]).toEqual([
      expect.stringMatching(/^The service's clock is .* ahead of this machine's\.$/),
      expect.stringMatching(
        /^Check this machine first .*; if its clock is right, tell the owners of the service\. Waits do not depend on the clocks/,
      ),
    ]);
  });

  it('takes each step, and sends one request, which it says first', async () => {
    const { code, found, requests, stderr } = await online(way());
    expect({ code, requests }).toEqual({ code: 0, requests: 1 });
    expect(stderr).toContain('Checking the key with one request to pets.example.');
    expect(found.slice(-8).map(({ says }) => says)).toEqual([
      'No proxy is used for pets.example.',
      'pets.example is 192.0.2.1, 2001:db8::1.',
      expect.stringMatching(/^192\.0\.2\.1:443 answers in /),
      expect.stringMatching(/^\[2001:db8::1\]:443 answers in /),
      expect.stringMatching(
        /^TLSv1\.3; the certificate of pets\.example is trusted \(pets\.example < An authority\) for \d+ days more\.$/,
      ),
      'It accepts the key, and lists 0 pets.',
      "This machine's clock agrees with the service's.",
      'The service sends rate-limit headers.',
    ]);
  });

  const refuse = (code: string) => () => Promise.reject(new NetworkFailure(code));
  const untrusted = () => Promise.resolve({ ...GOOD, problem: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  const weak = () => Promise.resolve({ ...GOOD, problem: 'UNSPECIFIED' });

  const REFUSED = { connect: refuse('ECONNREFUSED') };
  const noIpv6: Network['connect'] = ({ address }) =>
    address.includes(':') ? refuse('ENETUNREACH')() : Promise.resolve();
  const proxy = new URL('http://clerk:secret@proxy.example:3128');
  const through = { proxyFor: () => ({ kind: 'proxy', proxy, variable: 'HTTPS_PROXY' }) as const, ...REFUSED };
  const unusable = { kind: 'unusable', variable: 'ALL_PROXY', problem: 'is not a URL: "::"' } as const;

  it.each<[string, Partial<Network>, string, string]>([
    ['no such name', { lookup: refuse('ENOTFOUND') }, 'dns: fail', 'pets.example cannot be resolved (ENOTFOUND)'],
    ['a refused connection', REFUSED, 'tcp: fail', 'No connection to 192.0.2.1:443 (ECONNREFUSED), [2001'],
    ['no way for IPv6', { connect: noIpv6 }, 'tcp: warn', 'No connection to [2001:db8::1]:443 (ENETUNREACH)'],
    ['no TLS', { handshake: refuse('ECONNRESET') }, 'tls: fail', 'No TLS connection to 192.0.2.1:443 (ECONNRESET)'],
    ['an unknown authority', { handshake: untrusted }, 'tls: fail', 'does not trust (UNABLE'],
    ['a weak key', { handshake: weak }, 'tls: fail', 'pets.example < An authority) is not accepted (UNSPECIFIED)'],
    ['a proxy that cannot be used', { proxyFor: () => unusable }, 'proxy: fail', 'ALL_PROXY is not a URL: "::".'],
    ['a proxy that is not there', through, 'tcp: fail', '192.0.2.1:3128'],
  ])('%s', async (_what, change, sick, says) => {
    const report = await online(way(change));
    expect(report).toMatchObject({ sick: [sick], requests: sick.endsWith('warn') ? 1 : 0 });
    expect(report.first?.says).toContain(says);
    expect(report.first?.fix).not.toBeNull();
    expect(JSON.stringify(report.found)).not.toContain('secret');
  });

  it('warns of a certificate that ends soon', async () => {
    const clock = new VirtualClock({ autoAdvance: true });
    const ending = { ...GOOD, validTo: clock.now() + 5.5 * DAY };
    const report = await online(way({ handshake: () => Promise.resolve(ending) }), {}, { clock });
    expect({ code: report.code, says: report.first?.says }).toEqual({
      code: 0,
      says: 'The certificate of pets.example ends in 5 days.',
    });
  });

  it('a key command that prints no key fails one check, and the service is not asked', async () => {
    const config = { version: 1, 'staging.key-command': 'true' };
    const { PETSTORE_API_KEY: _key, ...env } = STAGING_ENV;
    const { code, sick, found } = await online(way(), {}, { env, home: configured(JSON.stringify(config)).home });
    expect([code, sick]).toEqual([13, ['key: fail']]);
    expect(found).toContainEqual(expect.objectContaining({ check: 'service', health: 'skip' }));
  });

  it.each<[string, PlainReply, string, string]>([
    ['401', error(401), 'service: fail', 'refused the API key from PETSTORE_API_KEY (401'],
    ['429', tooMany(3_600), 'service: warn', 'asks this key to wait (429)'],
    ['404', error(404), 'service: fail', 'No inventory at'],
    ['500', error(500), 'service: fail', 'The service failed (500'],
    [
      'a redirect',
      { status: 302, headers: { location: 'https://evil.example/' }, limits: false },
      'service: fail',
      'redirects (302) to https://evil',
    ],
    ['a login page', { body: '<html>', limits: false }, 'service: fail', 'is not a list'],
    ['no clock', { headers: { date: 'yesterday' } }, 'clock: warn', 'no valid Date header'],
    ['no limits', { limits: false }, 'limit-headers: warn', 'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-'],
    ['more left than the limit', { limits: { limit: 2, remaining: 50 } }, 'limit-headers: warn', 'cannot use'],
  ])('an answer of %s', async (_what, reply, sick, says) => {
    const report = await online(way(), reply);
    expect(report).toMatchObject({ sick: [sick], requests: 1 });
    expect(report.first?.says).toContain(says);
  });

  it('does not say that petstore slows down for a service whose other rate-limit headers it uses', async () => {
    const { first, sick } = await online(way(), {
      limits: false,
      headers: { ratelimit: 'limit=60, remaining=9, reset=5' },
    });
    expect([sick, first?.fix]).toEqual([['limit-headers: warn'], 'Tell the owners of the service.']);
  });

  it('does not miss limits in the refusal of a gateway', async () => {
    const headers = { 'petstore-gateway': 'refused', 'retry-after': '9' };
    expect((await online(way(), { status: 429, limits: false, headers })).sick).toEqual(['service: warn']);
  });

  it('does not ask while the key is blocked, and says until when', async () => {
    const context = createTestContext({
      env: STAGING_ENV,
      network: way(),
      http: () => httpReply(tooMany(3_600), context.clock.now()),
    });
    await runIn(context, '--no-wait', 'inventory', 'list');
    const { code, stdout } = await runIn(context, '--json', 'doctor');
    const { first, sick } = read(stdout);
    expect({ code, sick, requests: context.sent.length }).toEqual({
      code: 0,
      sick: ['limits: warn', 'service: warn'],
      requests: 1,
    });
    expect(first?.fix).toBe('Wait. petstore limits shows why.');
    expect(first?.says).toMatch(/nothing is sent before (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.$/);
  });
});

it('while a 403 blocks the key it prints its report, and exits 12 as every command', async () => {
  const context = createTestContext({
    env: STAGING_ENV,
    network: way(),
    http: () => httpReply({ status: 403 }, context.clock.now()),
  });
  for (const kind of ['forbidden', 'banned']) {
    const { code, stdout, error } = takeApart(await runIn(context, '--json', 'doctor'));
    expect([code, error?.kind]).toEqual([12, kind]);
    expect(read(stdout).sick).toContain('service: fail');
  }
  expect(context.sent).toHaveLength(1);
});

describe('doctor against real servers', () => {
  const sound = (names: readonly string[] = ['localhost']) => issueIdentity({ names });

  it('finds nothing wrong with one that works', async () => {
    const server = await scriptedServer([{ status: 200, body: '[{"petId":7,"quantity":1,"status":"sold"}]' }], {
      tls: sound(),
    });
    const { code, stdout, stderr } = await runPetstore(['doctor'], {
      env: { ...staging(server.baseUrl.replace('127.0.0.1', 'localhost')), NODE_EXTRA_CA_CERTS: caFile() },
    });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `Checking the key with one request to localhost:${server.port}.\n`,
    });
    expect(stdout).toMatch(
      /^ok {4}tls +TLSv1\.3; the certificate of localhost is trusted \(localhost < Test authority\)/m,
    );
    expect(stdout).toContain('It accepts the key, and lists 1 pet.');
    expect(stdout + stderr).not.toContain(KEY);
    expect(server.log()).toEqual(['GET /v1/inventory']);
  });

  it.each<[string, () => Identity, RegExp, env?: Readonly<Record<string, string>>]>([
    ['expired', () => tlsIdentities().expired, /expired on/],
    ['self-signed', () => tlsIdentities().selfSigned, /is self-signed/],
    ['for another name', () => tlsIdentities().wrongHost, /not for localhost, but for DNS:pets\.example/],
    ['of an authority that the server does not send', sound, /comes from localhost < Test authority, which this/, {}],
  ])(
    'a certificate that is %s: named, and no request sent',
    async (_what, identity, says, trust = { NODE_EXTRA_CA_CERTS: caFile() }) => {
      const server = await scriptedServer([], { tls: identity() });
      const { code, stdout } = await runPetstore(['--json', 'doctor'], {
        env: { ...staging(server.baseUrl.replace('127.0.0.1', 'localhost')), ...trust },
      });
      const { sick, first } = read(stdout);
      expect({ code, sick }).toEqual({ code: 13, sick: ['tls: fail'] });
      expect(first?.says).toMatch(says);
      expect(server.log()).toEqual([]);
    },
  );

  it('through a proxy: looks at the proxy, and asks through it', async () => {
    const server = await scriptedServer([{ status: 200, body: '[]' }], { tls: sound(['pets.example']) });
    const proxy = await startProxy({ route: () => ({ host: '127.0.0.1', port: server.port }) });
    const { code, stdout } = await runPetstore(['--json', 'doctor'], {
      env: { ...staging('https://pets.example/v1'), NODE_EXTRA_CA_CERTS: caFile(), HTTPS_PROXY: proxy.url },
    });
    expect({ code, log: proxy.log }).toEqual({ code: 0, log: ['CONNECT pets.example:443'] });
    expect(read(stdout).found.find(({ check }) => check === 'proxy')?.says).toContain(proxy.url);
  });

  describe.skipIf(!hasRedis)('takes a step on a shared ledger', () => {
    /** What doctor says of the server, and how healthy that is. */
    async function checked(ledger: string, requests: 0 | 1) {
      const server = await scriptedServer(requests === 1 ? [{ status: 200, body: '[]' }] : []);
      const env = { ...staging(server.baseUrl), PETSTORE_LEDGER: ledger };
      const { found } = read((await runPetstore(['--json', 'doctor'], { env })).stdout);
      return found.find(({ check }) => check === 'shared-ledger');
    }
    const documented = /^user petstore on >PASSWORD (.+)$/m.exec(readFileSync('docs/scale.md', 'utf8'))?.[1] ?? '';

    it.each([
      ['ok', 'with the rights that docs/scale.md names', documented, /answers, and allows what petstore needs/],
      [
        'fail',
        'without the right to lock pets',
        documented.replace('~petstore:*', '~petstore:{*'),
        /cannot be used: .+/,
      ],
      [
        'fail',
        'without the right to write',
        documented.replace(' +set', ''),
        /cannot be used: ERR The user executing the script can't run this command or subcommand\.$/,
      ],
      ['fail', 'without the right to run scripts', documented.replace('+eval ', ''), /cannot be used: NOPERM .+'eval'/],
    ])('%s %s', async (health, _what, rights, says) => {
      const { port } = await startRedis({ settings: [`user petstore on >secret ${rights}`] });
      const found = await checked(`redis://petstore:secret@127.0.0.1:${port}`, health === 'ok' ? 1 : 0);
      expect(found).toMatchObject({ health, says: expect.stringMatching(says) as string });
      expect(JSON.stringify(found)).not.toContain('secret');
    });

    it('where nothing is, with what is to be done', async () => {
      expect(await checked(`redis://127.0.0.1:${await freePort()}/0`, 0)).toMatchObject({
        health: 'fail',
        says: expect.stringMatching(/^Redis has not worked since \d\d:\d\d:\d\d \(ECONNREFUSED\); next try /) as string,
        fix: 'Start it, fix the address, or solve the problem that it names.',
      });
    });

    it('where the server answers with an error, with that', async () => {
      const { url } = await startRedis({ settings: ['maxmemory 1'] });
      expect(await checked(url, 0)).toMatchObject({
        health: 'fail',
        says: expect.stringMatching(/^Redis has not worked since \S+ \(OOM command .*'maxmemory'\); /) as string,
        fix: 'Start it, fix the address, or solve the problem that it names.',
      });
    });
  });
});

it('a message of the service makes no line of its own', async () => {
  const server = await scriptedServer([error(500, 'x', 'no\nok: service')]);
  const { stdout } = await runPetstore(['doctor'], { env: staging(server.baseUrl) });
  expect(stdout).toContain('FAIL  service');
  expect(stdout).not.toMatch(/^ *ok: service/m);
});

it('at a narrow terminal nothing is left of the progress, and no sentence is broken in a word', async () => {
  const size = { cols: 40, rows: 60 };
  const pty = startPty(['--env', 'staging', 'doctor', '--offline'], { ...size, home: createHome() });
  expect((await pty.exited).code).toBe(13);
  const lines = await screenOf(pty.output, size);
  expect(lines[0]).toMatch(/^ok {4}version {6}petstore/);
  expect(lines.join('\n')).not.toContain('Checked ');
  const words = lines.join(' ').split(/\s+/).join(' ');
  expect(words).toContain('No API key is set for staging. Fix: Log in with: petstore --env staging login');
});

describe('doctor, its options', () => {
  it.each([
    ['--domain shop.example.com', '--domain needs --target'],
    ['--target stores.example.com', '--target needs --domain'],
    ['--target x.example --domain 192.0.2.1', '--domain must be a domain name'],
    ['--target x.example --domain https://shop.example.com', 'must be a domain name'],
    ['--target x.example --domain *.example.com', 'must be a domain name'],
    ['--target x.example --domain a.example --ca letsencrypt', '--ca must be'],
    ['--target x.example --domain a.example --redirect from=a.example', '--redirect must be'],
    ['--target x.example --domain a.example --redirect from=a.example,to=b.example,status=200', 'must be'],
    ['--target x.example --domain a.example --dns-server ns1.example', '--dns-server must be'],
    ['--target x.example --domain a.example --dns-server 010.0.0.1', '--dns-server must be'],
    ['--target x.example --domain a.example --dns-server 1:', '--dns-server must be'],
    ['--target x.example --domain a.example --connect a.example', '--connect must be'],
    ['--target x.example --domain a.example --offline', '--offline'],
  ])('%s: exit 2', async (options, says) => {
    const { code, stdout, stderr } = await runIn(createTestContext(), 'doctor', ...options.split(' '));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(says);
  });

  it('takes a domain of any script, in capitals, with a final dot', async () => {
    const asked: string[] = [];
    const context = createTestContext({
      network: way({
        resolver: () => (_type, name) => {
          asked.push(name);
          return Promise.resolve([]);
        },
      }),
    });
    await runIn(context, 'doctor', '--domain', 'Zoo.BÜCHER.example.', '--target', 'x.example');
    expect(asked).toEqual(['zoo.xn--bcher-kva.example', 'xn--bcher-kva.example']);
  });
});
