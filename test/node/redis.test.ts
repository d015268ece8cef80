/** The Redis port on real servers: errors of configuration, errors that it survives, and following the master. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { openRedis } from '../../src/node/redis.ts';
import type { Redis, RedisFailure } from '../../src/ports.ts';
import { listenOnLoopback, onCleanup } from '../support/cleanup.ts';
import { freePort } from '../support/free-port.ts';
import { createHome } from '../support/home.ts';
import { hasRedis, redisCli, type RedisServer, startCluster, startRedis, startSentinel } from '../support/redis.ts';
import { caFile, type Identity, tlsIdentities } from '../support/tls.ts';

/** Counts its runs under the key. */
const COUNT = "return tostring(redis.call('INCR', KEYS[1]))";
/** Writes, and tells which server it is. */
const WHO = "redis.call('SET', KEYS[1], 'x') return redis.call('INFO', 'server'):match('tcp_port:(%d+)')";
const SOON = { timeoutMs: 150 };
/** For what the servers do among themselves. */
const SLOW = { interval: 20 };

function open(url: string): Redis {
  const redis = openRedis(url);
  onCleanup(() => redis.close());
  return redis;
}

/** What a run leads to: its reply, or the kind of its failure and what is said of it. */
async function outcome(redis: Redis, script = COUNT, options = {}): Promise<string> {
  try {
    return await redis.run(script, 'k', [], options);
  } catch (error) {
    const { kind, message } = error as RedisFailure;
    return `${kind}: ${message}`;
  }
}

const outcomeAt = (url: string, script?: string): Promise<string> => outcome(open(url), script);

/** A server that answers everything with these bytes; undefined: hangs up at once. */
async function answering(bytes: string | undefined): Promise<{ readonly url: string; readonly times: () => number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => undefined);
    if (bytes === undefined) socket.destroy();
    else socket.on('data', () => socket.write(bytes));
  });
  const port = await listenOnLoopback(server);
  return { url: `redis://127.0.0.1:${port}`, times: () => connections };
}

/** Its options in an address. */
function filesOf({ cert, key }: Identity): string {
  const folder = createHome().path;
  const paths = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  writeFileSync(paths.cert, cert);
  writeFileSync(paths.key, key);
  return new URLSearchParams(paths).toString();
}

describe.skipIf(!hasRedis)('a mistake in the settings', () => {
  const at = (server: RedisServer, user: string, database = 0): string =>
    server.url.replace('//', `//${user}@`).replace('/0', `/${database}`);
  const withPassword = async (password: string): Promise<string> =>
    at(await startRedis({ password: 'canary' }), password);
  const withRights = async (rights: string, database?: number): Promise<string> =>
    at(await startRedis({ settings: [`user a on >canary ${rights}`] }), 'a:canary', database);
  const withTls = async (which: 'good' | 'selfSigned' | 'expired' | 'wrongHost', query: string): Promise<string> =>
    `${(await startRedis({ identity: tlsIdentities()[which] })).url}?${query}`;
  const trusting = `ca=${caFile()}`;
  const RIGHTS = '+evalsha +eval +incr';

  it.each<readonly [string, string, () => Promise<string>]>([
    ['no password', 'NOAUTH', async () => (await startRedis({ password: 'canary' })).url],
    ['a wrong password', 'WRONGPASS', () => withPassword(':canary-too')],
    ['a password too much', 'ERR AUTH', async () => at(await startRedis(), ':canary')],
    ['a user without the right to the command', 'NOPERM', () => withRights('~* +get')],
    ['without the right to what the script does', 'ERR The user executing', () => withRights('~* +evalsha +eval')],
    ['without the right to the key', 'NOPERM', () => withRights(`~other:* ${RIGHTS}`)],
    ['without the right to the database', 'NOPERM', () => withRights(`~* ${RIGHTS}`, 1)],
    ['a database that is not there', 'ERR DB index', async () => (await startRedis()).url.replace('/0', '/99')],
    [
      'AUTH that the server does not know',
      'ERR unknown command',
      async () => at(await startRedis({ settings: ['rename-command AUTH ""'] }), ':canary'),
    ],
    ['a certificate of an unknown authority', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', () => withTls('good', '')],
    ['a certificate that signs itself', 'DEPTH_ZERO_SELF_SIGNED_CERT', () => withTls('selfSigned', trusting)],
    ['a certificate of the past', 'CERT_HAS_EXPIRED', () => withTls('expired', trusting)],
    ["another server's certificate", 'ERR_TLS_CERT_ALTNAME_INVALID', () => withTls('wrongHost', trusting)],
    ['a file that is not there', '/nowhere.pem cannot be read: ENOENT', () => withTls('good', 'ca=/nowhere.pem')],
    ['a file that is not PEM', 'ERR_OSSL', () => withTls('good', 'cert=/etc/passwd&key=/etc/passwd')],
    [
      "a Sentinel's address",
      "ERR unknown command 'EVALSHA'",
      async () => (await startSentinel(await startRedis())).url.replace('+sentinel', '').replace('/petshop', ''),
    ],
    [
      'a server in place of a Sentinel',
      "ERR unknown command 'SENTINEL'",
      async () => (await startRedis()).url.replace('redis', 'redis+sentinel').replace('/0', '/petshop'),
    ],
    [
      'a master that the Sentinel does not know',
      'the Sentinel knows no master pets',
      async () => (await startSentinel(await startRedis())).url.replace('petshop', 'pets'),
    ],
    [
      'a replica',
      'READONLY',
      async () => (await startRedis({ settings: [`replicaof 127.0.0.1 ${await freePort()}`] })).url,
    ],
    [
      'another protocol',
      'what answers is not a Redis server',
      async () => (await answering('HTTP/1.1 400\r\n\r\n')).url,
    ],
  ])('%s is told from a loss', async (_name, message, address) => {
    const url = await address();
    let result = await outcomeAt(url);
    // A busy machine may take longer than one question may: what is late tells nothing yet.
    while (/no (answer|TLS connection) within/.test(result)) result = await outcomeAt(url);
    expect(result).toMatch(`settings: ${message}`);
    expect(result).not.toContain('canary');
  });

  it('a node of a cluster is told from a loss, even if it has answered for another key', async () => {
    const { nodes } = await startCluster();
    const redis = open(nodes[0].url);
    expect(await redis.run(COUNT, 'bar', [])).toBe('1');
    await expect(redis.run(COUNT, 'foo', [])).rejects.toMatchObject({ kind: 'settings' });
  });

  it.skipIf(process.geteuid?.() === 0)('a socket that this user may not open is told from a loss', async () => {
    const path = join(createHome().path, 'redis.sock');
    await startRedis({ settings: [`unixsocket ${path}`, 'unixsocketperm 000'] });
    expect(await outcomeAt(`unix://${path}`)).toBe('settings: EACCES');
  });
});

describe.skipIf(!hasRedis)('what may pass is a loss', () => {
  const withSettings = async (...settings: string[]): Promise<string> => (await startRedis({ settings })).url;
  const sending = async (bytes?: string): Promise<string> => (await answering(bytes)).url;

  it.each<readonly [string, string, () => Promise<string>]>([
    ['no program listens', 'ECONNREFUSED', async () => `redis://127.0.0.1:${await freePort()}`],
    ['no such name', 'E', async () => 'redis://redis.invalid'],
    ['no socket', 'ENOENT', async () => `unix://${createHome().path}/redis.sock`],
    ['every Sentinel is gone', 'ECONNREFUSED', async () => `redis+sentinel://[::1]:${await freePort()}/petshop`],
    ['memory is full', 'OOM', () => withSettings('maxmemory 1')],
    ['too few replicas', 'NOREPLICAS', () => withSettings('min-replicas-to-write 1')],
    [
      'the master of a replica is gone',
      'MASTERDOWN',
      async () => withSettings(`replicaof 127.0.0.1 ${await freePort()}`, 'replica-serve-stale-data no'),
    ],
    [
      'a cluster without its slots',
      'CLUSTERDOWN',
      async () => {
        const url = await withSettings('cluster-enabled yes', `cluster-port ${await freePort()}`);
        return url.replace('redis:', 'redis+cluster:');
      },
    ],
    [
      'a port with TLS without it',
      'the server may require TLS (rediss://)',
      async () => (await startRedis({ identity: tlsIdentities().good })).url.replace('rediss', 'redis'),
    ],
    ['it hangs up', 'before any answer: the server may require TLS', () => sending()],
    ['it answers a number', 'the answer is not text', () => sending(':1\r\n')],
    ['it answers nothing', 'the answer is not text', () => sending('$-1\r\n')],
    ['it answers a list', 'the answer is not text', () => sending('*1\r\n+a\r\n')],
  ])('%s', async (_name, message, address) => {
    const result = await outcomeAt(await address());
    expect(result.slice(0, 6)).toBe('lost: ');
    expect(result).toContain(message);
  });

  it('TLS to a port without it', async () => {
    const redis = open((await startRedis()).url.replace('redis', 'rediss'));
    expect(await outcome(redis, COUNT, SOON)).toBe('lost: no TLS connection within 150 ms');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onCleanup(() => void vi.useRealTimers());
    const patient = outcome(redis);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await patient).toBe('lost: no TLS connection within 2000 ms');
  });

  it.each([
    [
      '-MISCONF It is unable to persist to disk. Commands that modify the data set are disabled.',
      'MISCONF It is unable to persist to disk',
    ],
    [
      "-ERR user_script:3: attempt to index local 'o' script: 1f, on @user_script:3.",
      "ERR user_script:3: attempt to index local 'o'",
    ],
    ['-WRONGTYPE Operation against a key.', 'WRONGTYPE Operation against a key'],
  ])('%j is shown as one sentence', async (answer, shown) => {
    expect(await outcomeAt(await sending(`${answer}\r\n`))).toBe(`lost: ${shown}`);
  });

  it('a password in an answer is not shown, whatever is in it', async () => {
    const url = await sending('-ERR unknown: can.ary. sec\r\n');
    expect(await outcomeAt(url.replace('//', '//:can.ary.%20sec@'))).toBe('lost: ERR unknown: …');
  });

  it('answers that were not asked for', async () => {
    const server = await answering('+a\r\n+b\r\n-c\r\n');
    const redis = open(server.url);
    expect(await redis.run(COUNT, 'k', [])).toBe('a');
    await expect.poll(() => outcome(redis)).toBe('a');
    expect(server.times()).toBeGreaterThan(1);
  });
});

describe.skipIf(!hasRedis)('an address', () => {
  it('with a host name, IPv6, a database, a prefix', async () => {
    const { url, port } = await startRedis();
    expect(await outcomeAt(url.replace('redis', 'valkey').replace('127.0.0.1', 'localhost'))).toBe('1');
    expect(await outcomeAt(url.replace('127.0.0.1', '[::1]'))).toBe('2');
    expect(await outcomeAt(url.replace('/0', '/1'))).toBe('1');
    expect(await outcomeAt(`${url}?prefix=shop:`)).toBe('1');
    expect(await redisCli(port, 'GET', 'shop:k')).toBe('1');
  });

  it('of a socket', async () => {
    const path = join(createHome().path, 'redis.sock');
    const { port } = await startRedis({ password: 'p', settings: [`unixsocket ${path}`] });
    expect(await outcomeAt(`unix://:p@${path}?db=2`)).toBe('1');
    expect(await redisCli(port, '--no-auth-warning', '-a', 'p', '-n', '2', 'GET', 'k')).toBe('1');
  });

  it('with a user who has no rights but to the script and what it does', async () => {
    const { url } = await startRedis({ settings: ['user a on >p ~shop:* +evalsha +eval +incr'] });
    expect(await outcomeAt(`${url.replace('//', '//a:p@')}?prefix=shop:`)).toBe('1');
  });

  it('with an authority, and a client certificate that is demanded', async () => {
    const { ca, good } = tlsIdentities();
    const { url } = await startRedis({ identity: good, clientCa: ca });
    const trusting = `${url.replace('127.0.0.1', 'localhost')}?ca=${caFile()}`;
    expect(await outcomeAt(`${trusting}&${filesOf(good)}`)).toBe('1');
    // The server hangs up, and its reason may or may not arrive before that.
    expect(await outcomeAt(trusting)).toMatch(/ALERT_CERTIFICATE_REQUIRED|may require a client certificate/);
  });
});

describe.skipIf(!hasRedis)('a connection', () => {
  it('is made by the first run, and made anew after it was cut and after the server was away', async () => {
    const first = await startRedis();
    const redis = open(first.url);
    expect(await redisCli(first.port, 'INFO', 'stats')).toContain('total_connections_received:1\r');
    expect(await outcome(redis)).toBe('1');
    expect(redis.lostAt).toBe(Number.NEGATIVE_INFINITY);
    await redisCli(first.port, 'CLIENT', 'KILL', 'TYPE', 'normal');
    await expect.poll(() => outcome(redis)).toBe('2');
    const { lostAt } = redis;
    expect(lostAt).toBeGreaterThan(0);
    await first.kill('SIGKILL');
    await expect.poll(() => outcome(redis)).toBe('lost: ECONNREFUSED');
    expect(redis.lostAt).toBeGreaterThan(lostAt!);
    await startRedis({ port: first.port });
    expect(await outcome(redis)).toBe('1');
  });

  it("to a server that hangs: no answer in time, and its late answer is nobody's", async () => {
    const server = await startRedis();
    const redis = open(server.url);
    const echo = (text: string, options = {}) => redis.run('return ARGV[1]', 'k', [text], options);
    expect(await echo('a')).toBe('a');
    await server.kill('SIGSTOP');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onCleanup(() => void vi.useRealTimers());
    const patient = echo('patient');
    for (const text of ['b', 'c']) {
      const late = expect(echo(text, SOON)).rejects;
      const failure = late.toMatchObject({ kind: 'lost', message: 'no answer within 150 ms' });
      await vi.advanceTimersByTimeAsync(150);
      await failure;
    }
    await server.kill('SIGCONT');
    expect(await echo('d')).toBe('d');
    expect(await patient).toBe('patient');
  });

  it('ends a run with its signal', async () => {
    const server = await startRedis();
    const redis = open(server.url);
    await server.kill('SIGSTOP');
    const aborted = new AbortController();
    const run = redis.run(COUNT, 'k', [], { signal: aborted.signal });
    aborted.abort(new Error('no more'));
    await expect(run).rejects.toThrow('no more');
    await expect(redis.run(COUNT, 'k', [], { signal: aborted.signal })).rejects.toThrow('no more');
    await server.kill('SIGCONT');
    expect(await outcome(redis)).toBe('1');
  });

  it('runs a script again that the server has forgotten, and sends it once', async () => {
    const { url, port } = await startRedis();
    const redis = open(url);
    for (const count of ['1', '2']) expect(await outcome(redis)).toBe(count);
    expect(await redisCli(port, 'INFO', 'commandstats')).toMatch(/cmdstat_eval:calls=1,/);
    await redisCli(port, 'SCRIPT', 'FLUSH');
    expect(await outcome(redis)).toBe('3');
  });

  it('does not keep a process alive', async () => {
    const server = await startRedis();
    const urls = [server.url.replace('127.0.0.1', 'localhost'), (await startSentinel(server)).url];
    const program = `
      const { openRedis } = await import(${JSON.stringify(new URL('../../src/node/redis.ts', import.meta.url))});
      for (const url of ${JSON.stringify(urls)}) console.log(await openRedis(url).run('return ARGV[1]', 'k', ['here']));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    expect(stdout).toBe('here\nhere\n');
  });

  it('is a loss where the server was well before and has been demoted', async () => {
    const server = await startRedis();
    const redis = open(server.url);
    expect(await outcome(redis)).toBe('1');
    await redisCli(server.port, 'REPLICAOF', '127.0.0.1', `${await freePort()}`);
    expect(await outcome(redis)).toMatch('lost: READONLY');
    expect(await outcomeAt(server.url)).toMatch('settings: READONLY');
    await redisCli(server.port, 'REPLICAOF', 'NO', 'ONE');
    expect(await outcome(redis)).toBe('2');
  });
});

describe.skipIf(!hasRedis)('Sentinels', () => {
  it('lead to the master, and to its replica after a failover', async () => {
    const settings = ['repl-diskless-sync-delay 0'];
    const masters = [await startRedis({ settings }), await startRedis({ settings })] as const;
    await redisCli(masters[1].port, 'REPLICAOF', '127.0.0.1', `${masters[0].port}`);
    await synced(masters[1]);
    const sentinel = await startSentinel(masters[0]);
    const redis = open(sentinel.url);
    expect(await outcome(redis, WHO)).toBe(`${masters[0].port}`);
    // A sentinel promotes a replica only once it has heard from it: NOGOODSLAVE until then.
    await expect.poll(() => redisCli(sentinel.port, 'SENTINEL', 'FAILOVER', 'petshop'), SLOW).toBe('OK');
    const met = new Set<string>();
    const run = async (): Promise<string> => {
      const result = await outcome(redis, WHO);
      met.add(result.split(':')[0]!);
      return result;
    };
    await expect.poll(run, SLOW).toBe(`${masters[1].port}`);
    expect([...met].filter((result) => !/^(lost|[0-9]+)$/.test(result))).toEqual([]);
  });

  it('are passed over where they are gone or hang, and may want the password that the server wants', async () => {
    const server = await startRedis({ password: 'p' });
    const settings = ['sentinel auth-pass petshop p'];
    const hanging = await startSentinel(server, { settings });
    const open1 = await startSentinel(server, { settings });
    const closed = await startSentinel(server, { settings, password: 'p' });
    await hanging.kill('SIGSTOP');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onCleanup(() => void vi.useRealTimers());
    const places = (port: number) => `127.0.0.1:${hanging.port},127.0.0.1:1,127.0.0.1:${port}`;
    for (const [i, { port }] of [open1, closed].entries()) {
      const result = outcome(open(`redis+sentinel://:p@${places(port)}/petshop`));
      // The third of the time that the hanging one gets, and no more.
      await vi.advanceTimersByTimeAsync(700);
      expect(await result).toBe(`${i + 1}`);
    }
    expect(await outcomeAt(`redis+sentinel://:q@127.0.0.1:${closed.port}/petshop`)).toMatch('settings: WRONGPASS');
    const dead = await freePort();
    expect(await outcomeAt(`redis+sentinel://127.0.0.1:${closed.port},127.0.0.1:${dead}/petshop`)).toMatch(
      'settings: NOAUTH',
    );
  });
});

describe.skipIf(!hasRedis)('a cluster', () => {
  it('is followed while a slot moves from node to node and back: each run counts once', async () => {
    const cluster = await startCluster();
    const redis = open(cluster.url);
    expect(await outcome(redis)).toBe('1');
    const answers: string[] = [];
    const over = new AbortController();
    const loop = (async () => {
      while (!over.signal.aborted) answers.push(await outcome(redis));
    })();
    const goesOn = (): Promise<void> => {
      const from = answers.length;
      return expect.poll(() => answers.length, SLOW).toBeGreaterThan(from + 2);
    };
    for (let i = 0; i < 2; i++) await cluster.move('k', goesOn);
    over.abort();
    await loop;
    expect(answers).toEqual(answers.map((_, i) => `${i + 2}`));
    expect(await outcomeAt(cluster.url)).toBe(`${answers.length + 2}`);
  });

  it.each(['ip', 'unknown-endpoint'])(
    'is reached through any of its nodes, which name each other by %s',
    async (how) => {
      const { url, nodes } = await startCluster([`cluster-preferred-endpoint-type ${how}`]);
      const dead = await freePort();
      expect(await outcomeAt(url.replace('//', `//127.0.0.1:${dead},`))).toBe('1');
      for (const [i, { port }] of nodes.entries()) {
        expect(await outcomeAt(`redis+cluster://127.0.0.1:${port}`)).toBe(`${i + 2}`);
      }
    },
  );
});

async function synced(replica: RedisServer): Promise<void> {
  await expect.poll(() => redisCli(replica.port, 'INFO', 'replication'), SLOW).toContain('master_link_status:up');
}
