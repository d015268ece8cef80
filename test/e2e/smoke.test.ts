import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Finished, runPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';
import { control, type Served, serveSandbox } from '../support/served.ts';
import { HttpFailure, type HttpFailureFacts, type HttpRequest } from '../../src/ports.ts';
import { ALL } from '../../src/smoke/suite.ts';
import { runIn, STAGING_ENV, STAGING_KEY } from '../support/in-process.ts';
import type { PlainReply } from '../support/replies.ts';
import { jsonLines, staging, takeApart } from '../support/staging.ts';
import { createTestContext } from '../support/test-context.ts';
import { httpReply } from '../support/test-ports.ts';

type Kind = 'list' | 'refused' | 'unknown';
type Spoil = (reply: PlainReply, kind: Kind, request: HttpRequest) => PlainReply;

const ROWS = [
  { petId: 7, quantity: 12, status: 'available' },
  { petId: 8, quantity: 0, status: 'sold' },
];

const refusal = (status: number, code: string): PlainReply => ({
  status,
  body: JSON.stringify({ code, message: 'no', status }),
});

const IDS = ALL.map(({ id }) => id);

const SOUND: Readonly<Record<Kind, PlainReply>> = {
  list: { status: 200, body: JSON.stringify(ROWS) },
  refused: refusal(401, 'unauthorized'),
  unknown: refusal(404, 'not_found'),
};

function kindOf({ headers, url }: HttpRequest): Kind {
  if (headers.authorization !== `Bearer ${STAGING_KEY}`) return 'refused';
  return url.pathname === '/v1/inventory' ? 'list' : 'unknown';
}

/** A service that keeps its contract, but for what `spoil` does to it. */
function against(spoil: Spoil = (reply) => reply, args: readonly string[] = []) {
  const context = createTestContext({
    // Empty, as a step that wants no summary sets it.
    env: { ...STAGING_ENV, GITHUB_STEP_SUMMARY: '' },
    http(request) {
      const now = context.clock.now();
      const kind = kindOf(request);
      const headers = {
        'content-type': 'application/json',
        date: new Date(now).toUTCString(),
        'x-ratelimit-limit': '60',
        'x-ratelimit-remaining': '59',
        'x-ratelimit-reset': String(Math.ceil(now / 1_000) + 60),
        server: 'not told',
      };
      return httpReply(spoil({ ...SOUND[kind], headers, limits: false }, kind, request), now);
    },
  });
  return { context, run: () => runIn(context, 'smoke', '--format', 'json', ...args) };
}

const checksIn = (stdout: string) => (JSON.parse(stdout) as { checks: { id: string; verdict: string }[] }).checks;

/** The exit code, and the ids of the checks that failed in a report as JSON. */
function failedIn({ code, stdout }: Pick<Finished, 'code' | 'stdout'>): [number | null, string[]] {
  return [code, checksIn(stdout).flatMap(({ id, verdict }) => (verdict === 'fail' ? [id] : []))];
}

async function failing(spoil: Spoil, args?: readonly string[]): Promise<[number | null, string[]]> {
  return failedIn(await against(spoil, args).run());
}

/** The environment in which a sandbox's server is staging. */
const envOf = ({ baseUrl, apiKey }: Served) => staging(baseUrl, apiKey);

const header =
  (name: string, value: string | undefined): Spoil =>
  (reply, kind) => {
    if (kind !== 'list') return reply;
    const { [name]: _gone, ...headers } = reply.headers as Record<string, string>;
    return { ...reply, headers: { ...headers, ...(value !== undefined && { [name]: value }) } };
  };

const list =
  (change: Partial<PlainReply>): Spoil =>
  (reply, kind) =>
    kind === 'list' ? { ...reply, ...change } : reply;
const row = (change: object): Spoil => list({ body: JSON.stringify([ROWS[0], { ...ROWS[1], ...change }]) });
const refused =
  (change: Partial<PlainReply>, keyless: boolean): Spoil =>
  (reply, kind, { headers }) =>
    kind === 'refused' && (headers.authorization === undefined) === keyless ? { ...reply, ...change } : reply;

it('a service that keeps its contract passes, with four requests', async () => {
  const { context, run } = against();
  const { code, stdout, stderr } = await run();
  const report = JSON.parse(stdout) as { checks: [{ headers: object }] };
  expect([code, report]).toMatchObject([0, { passed: 16, failed: 0, skipped: 1 }]);
  expect(Object.keys(report.checks[0].headers).join()).toMatch(/^content-type,date(,x-ratelimit-[a-z]+){3}$/);
  expect(stderr).toBe('Smoke test of staging: 4 requests, read-only.\n');
  expect(context.sent.map(({ method, url, headers }) => [method, url.pathname, headers.authorization])).toEqual([
    ['GET', '/v1/inventory', `Bearer ${STAGING_KEY}`],
    ['GET', '/v1/inventory', undefined],
    ['GET', '/v1/inventory', 'Bearer petstore-smoke-wrong-key'],
    ['GET', '/v1/petstore-smoke-no-such-path', `Bearer ${STAGING_KEY}`],
  ]);
});

const ROW = '{"petId":7,"quantity":1,"status":"sold"}';
/** When the checks begin. */
const NOW_S = Date.UTC(2026, 2, 2, 14, 3, 20) / 1_000;
const PAGE = { headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<!doctype html>' };
const HTML = { headers: { 'content-type': 'text/html' }, body: '<html>' };

describe('each fault fails exactly its check', () => {
  it.each<readonly [string, Spoil, string]>([
    ['the list is a 404', list(refusal(404, 'x')), 'list-status'],
    ['the list has the content type of a text', header('content-type', 'text/plain'), 'list-type'],
    ['the list is a sequence of JSON texts', header('content-type', 'application/json-seq'), 'list-type'],
    ['a petId is beyond int64', list({ body: `[${ROW.replace('7', '9223372036854775808')}]` }), 'list-rows'],
    ['a quantity is a fraction', row({ quantity: 1.5 }), 'list-rows'],
    ['the list is not JSON', list({ body: '[{' }), 'list-rows'],
    [
      'the list is not UTF-8',
      list({ body: Buffer.from(`[${ROW.replace('sold', 'vendu\u00e9')}]`, 'latin1') }),
      'list-rows',
    ],
    ['a pet is listed twice', row({ petId: 7 }), 'list-ids'],
    [
      'a pet with an id beyond 2^53 is listed twice',
      list({ body: `[${[ROW, ROW].join().replaceAll('7', '9007199254740993')}]` }),
      'list-ids',
    ],
    ['a limit header is missing', header('x-ratelimit-limit', undefined), 'limit-headers'],
    ['more is left than there is', header('x-ratelimit-remaining', '61'), 'limit-values'],
    ['what is left is not a number', header('x-ratelimit-remaining', 'many'), 'limit-values'],
    ['fault 35: the reset is past', header('x-ratelimit-reset', '1000000000'), 'limit-reset'],
    ['the reset is 2 s past', header('x-ratelimit-reset', String(NOW_S - 2)), 'limit-reset'],
    [
      'the reset is more than 32 days ahead',
      header('x-ratelimit-reset', String(NOW_S + 32 * 86_400 + 1)),
      'limit-reset',
    ],
    ['fault 35: the reset is in ms', header('x-ratelimit-reset', '1772460260000'), 'limit-reset'],
    ['fault 35: the reset is a number of seconds', header('x-ratelimit-reset', '60'), 'limit-reset'],
    ['the clock is an hour off', header('date', 'Mon, 02 Mar 2026 15:03:20 GMT'), 'limit-reset clock'],
    ['fault 36: the Date cannot be read', header('date', 'yesterday'), 'clock'],
    ['no key is needed', refused({ status: 200, body: '[]' }, true), 'keyless-status'],
    ['without a key it is a 403', refused(refusal(403, 'x'), true), 'keyless-status'],
    ['fault 25: the refusal is a page', refused(HTML, true), 'error-body error-limits'],
    ['fault 24: Error.status is another', refused({ body: refusal(403, 'x').body! }, true), 'error-status'],
    ['any key will do', refused({ status: 200, body: '[]' }, false), 'wrong-status'],
    [
      'the refusal is of another type',
      refused({ headers: { 'content-type': 'text/plain' }, body: refusal(401, 'x').body! }, true),
      'error-body error-limits',
    ],
    ['the refusal of a wrong key is not JSON', refused({ body: 'no' }, false), 'error-body'],
    [
      'every path is the list',
      (reply, kind) => (kind === 'unknown' ? { ...reply, status: 200 } : reply),
      'unknown-status',
    ],
  ])('%s', async (_name, spoil, ids) => {
    expect(await failing(spoil)).toEqual([13, ids.split(' ')]);
  });

  it.each(['list-type', 'list-rows', 'list-ids', 'write-set'])('without a list, %s alone fails', async (only) => {
    const args = ['--only', only, ...(only === 'write-set' ? ['--write', '--pet', '7'] : [])];
    expect(await failing(list(refusal(404, 'x')), args)).toEqual([13, [only]]);
  });

  it('with an object in place of the list, list-ids alone fails', async () => {
    expect(await failing(list({ body: '{}' }), ['--only', 'list-ids'])).toEqual([13, ['list-ids']]);
  });

  it.each(['error-body', 'error-status', 'error-limits'])('without a refusal, %s alone fails', async (only) => {
    expect(await failing(refused({ status: 200, body: '[]' }, true), ['--only', only])).toEqual([13, [only]]);
  });

  it('the row of the pet is not an InventoryItem: not exit 5', async () => {
    const spoil = list({ body: '[{"petId":7,"quantity":"1","status":"sold"}]' });
    expect(await failing(spoil, ['--write', '--pet', '7'])).toEqual([13, ['list-rows']]);
  });
});

it.each<readonly [string, Spoil]>([
  ['a content type with a charset, in upper case', header('content-type', 'Application/JSON ; charset=UTF-8')],
  ['a reset that is 1 s past', header('x-ratelimit-reset', String(NOW_S - 1))],
  ['a reset 32 days ahead', header('x-ratelimit-reset', String(NOW_S + 32 * 86_400))],
])('%s passes', async (_what, spoil) => {
  expect(await failing(spoil)).toEqual([0, []]);
});

it('a 403 without the key is no ban of the key, in the next run either', async () => {
  const { context, run } = against(refused(refusal(403, 'x'), true));
  expect(failedIn(await run())).toEqual([13, ['keyless-status']]);
  expect(failedIn(await run())).toEqual([13, ['keyless-status']]);
  // Still, what the service refused is not sent again.
  expect(context.sent).toHaveLength(7);
});

it('what a gateway refuses is no fault of the service', async () => {
  const headers = { 'content-type': 'application/json', 'petstore-gateway': 'refused' };
  expect(await failing((reply, kind) => (kind === 'refused' ? { ...reply, headers } : reply))).toEqual([0, []]);
});

it('a clock that differs may be that of this machine', async () => {
  const spoil: Spoil = (reply) => ({ ...reply, headers: { ...reply.headers, date: 'Mon, 02 Mar 2026 15:03:20 GMT' } });
  const { stderr } = await against(spoil, ['--only', 'clock']).run();
  expect(stderr).toContain(
    'hint: Check the clock of this machine first; if it is right, tell the owners of the service.',
  );
});

describe('what would end any command ends the checks with the same error', () => {
  const lost =
    (phase: HttpFailureFacts['phase'], code: string): Spoil =>
    () => {
      throw new HttpFailure({ phase, code, peer: 'pets.example', mayHaveBeenSent: false, detail: '' });
    };
  const later =
    (spoil: Spoil): Spoil =>
    (reply, kind, request) =>
      kind === 'refused' ? spoil(reply, kind, request) : reply;
  const asleep = { ...refusal(429, 'x'), headers: { 'retry-after': '3600', 'content-type': 'application/json' } };

  it.each<readonly [string, Spoil, number, string, readonly string[]]>([
    ['a refused key', list(refusal(401, 'x')), 4, 'unauthorized', ['list-status']],
    ['a 429 for longer than allowed', list(asleep), 6, 'rate-limited', ['run']],
    ['no connection', lost('connect', 'ECONNREFUSED'), 7, 'network', ['reachable']],
    ['a certificate that has expired', lost('tls', 'CERT_HAS_EXPIRED'), 7, 'network', ['tls']],
    ['an answer that is not HTTP', lost('protocol', 'HPE_INVALID_CONSTANT'), 8, 'contract', ['reachable']],
    ['a 500', list(refusal(500, 'x')), 8, 'service-failed', ['list-status']],
    ['a redirect', list({ status: 302, body: '' }), 8, 'redirected', ['list-status']],
    ['a login page', (reply) => ({ ...reply, status: 200, ...PAGE }), 8, 'contract', ['list-type']],
    ['a ban', list(refusal(403, 'x')), 12, 'forbidden', ['list-status']],
    ['no connection later on', later(lost('connect', 'ECONNREFUSED')), 7, 'network', ['run']],
    ...[502, 503, 504].map(
      (status) =>
        [
          `a ${status} later on`,
          later(() => refusal(status, 'x')),
          8,
          'service-failed',
          ['keyless-status', 'wrong-status'],
        ] as const,
    ),
  ])('%s', async (_what, spoil, exit, kind, ids) => {
    const context = against(spoil).context;
    const report = join(context.home.path, 'report.xml');
    const ran = await runIn(context, '--json', 'smoke', '--skip', 'error-body', '--out', report);
    expect(failedIn(ran)).toEqual([exit, ids]);
    expect(checksIn(ran.stdout)).toHaveLength(ids.includes('run') ? 17 : 16);
    expect(takeApart(ran).error).toMatchObject({ kind, exitCode: exit });
    expect(readFileSync(report, 'utf8')).toMatch(/tests="1[67]" failures="\d" errors="\d"/);
  });

  it('has the message and hint of inventory list', async () => {
    const spoil = list(refusal(401, 'x'));
    const smoke = await against(spoil).run();
    const plain = await runIn(against(spoil).context, 'inventory', 'list');
    expect(smoke.stderr).toBe(`Smoke test of staging: 4 requests, read-only.\n${plain.stderr}`);
  });

  it('sends nothing more after it, and nothing at all while the key is blocked', async () => {
    const { context, run } = against(list(refusal(403, 'x')));
    expect([(await run()).code, context.sent.length]).toEqual([12, 1]);
    const again = await run();
    expect([again.code, context.sent.length]).toEqual([12, 1]);
    expect(JSON.parse(again.stdout)).toMatchObject({ passed: 0, failed: 1, skipped: 17 });
  });

  it('names the end of a block that lasts longer than the window that is spent', async () => {
    const headers = { ...asleep.headers, 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0' };
    const { context } = against((reply, kind) =>
      kind === 'list' ? { ...asleep, headers: { ...reply.headers, ...headers } } : reply,
    );
    const blocked = async () => {
      const { code, error } = takeApart(await runIn(context, '--json', '--no-wait', 'smoke'));
      const retryAt = Math.round(Date.parse(String(error?.retryAt)) / 1_000);
      return [code, { ...error, retryAt }, context.sent.length];
    };
    const retryAt = Math.round(context.clock.now() / 1_000) + 3_601;
    const refused = [6, { kind: 'rate-limited', retryAt }, 1];
    expect(await blocked()).toMatchObject(refused);
    expect(await blocked()).toMatchObject(refused);
  });

  it('several causes: the first in the order of bulk runs', async () => {
    const { code } = await against((reply, kind, request) => {
      if (kind === 'unknown') return refusal(403, 'x');
      return later(lost('connect', 'ECONNREFUSED'))(reply, kind, request);
    }).run();
    expect(code).toBe(12);
  });

  it('a 429 that passes is waited for, as in every command', async () => {
    let asked = 0;
    const { code } = await against((reply, kind) =>
      kind === 'list' && ++asked === 1 ? { ...asleep, headers: { ...asleep.headers, 'retry-after': '5' } } : reply,
    ).run();
    expect([code, asked]).toEqual([0, 2]);
  });

  it('a request that has to be refused may get a 500: that fails its check alone', async () => {
    const broken: Spoil = (reply, kind) => (kind === 'unknown' ? { ...reply, ...refusal(500, 'x') } : reply);
    expect(await failing(broken)).toEqual([13, ['unknown-status']]);
  });
});

it('a 404 on the list: the base URL may be wrong', async () => {
  const { code, stderr } = await against(list(refusal(404, 'x'))).run();
  expect([code, stderr.trimEnd().split('\n').at(-1)]).toEqual([
    13,
    'hint: Check the base URL first (petstore status); if it is right, tell the owners of the service.',
  ]);
});

it('fault 26: what is deprecated is warned of, once, and fails nothing', async () => {
  const gone = { deprecation: '@1735689600', sunset: 'Fri, 01 Jan 2027 00:00:00 GMT' };
  const spoil: Spoil = (reply) => ({ ...reply, headers: { ...reply.headers, ...gone } });
  const { code, stderr } = await against(spoil, ['--only', 'list-status,list-rows']).run();
  expect([code, stderr.match(/^warning: .*$/gm)]).toEqual([
    0,
    ['warning: The service says that GET /inventory is deprecated as of 2025-01-01 and will be removed on 2027-01-01.'],
  ]);
});

it.each([
  ['http://localhost.evil.example/v1', 'fail'],
  ['http://127.evil.example/v1', 'fail'],
  ['http://shop.localhost/v1', 'skip'],
])('%s unencrypted: %s', async (address, verdict) => {
  const { run } = against(undefined, ['--insecure-http', '--base-url', address, '--only', 'tls']);
  expect(checksIn((await run()).stdout)).toMatchObject([{ id: 'tls', verdict }]);
});

describe('the budget', () => {
  it('waits for the next window, once, where --max-wait allows that', async () => {
    const { context, run } = against((reply) => {
      const left = String(context.clock.now() < Date.UTC(2026, 2, 2, 14, 4, 21) ? 2 : 50);
      return { ...reply, headers: { ...reply.headers, 'x-ratelimit-remaining': left } };
    });
    const { code, stderr } = await run();
    expect(code).toBe(0);
    expect(stderr).toContain('Rate limit reached; continuing at 14:04:21 (1 min 1 s).');
    // The list is read again: others may have changed the stock.
    expect(context.sent).toHaveLength(5);
  });

  it('refuses once the first answer shows that too little is left', async () => {
    const { context, run } = against(header('x-ratelimit-remaining', '2'), ['--no-wait']);
    expect(await run()).toEqual({
      code: 6,
      stdout: expect.stringContaining('"passed":0,"failed":1,"skipped":17') as string,
      stderr:
        'Smoke test of staging: 4 requests, read-only.\n' +
        'error: The checks need 3 requests, but only 2 of 60 are left until 14:04:21; nothing more was sent.\n' +
        'hint: Run the command again then, or run fewer checks with --only.\n',
    });
    expect(context.sent).toHaveLength(1);
    const again = await runIn(context, 'smoke', '--no-wait');
    expect([again.code, context.sent.length]).toEqual([6, 1]);
    expect(again.stderr).toContain('The checks need 4 requests, but only 2 of 60 are left');
    // Without a request or a part of the contract, the check has one line.
    expect(again.stdout).toMatch(/\nFAIL {2}run .*\n0 passed/);
    const { stdout } = await runIn(context, 'smoke', '--no-wait', '--format', 'github');
    expect(stdout).toMatch(/^::error title=petstore smoke staging run::The checks need 4 /);
    expect(again.stderr).toContain('; nothing was sent.');
  });

  it('leaves the reserve to others', async () => {
    const { context, run } = against(header('x-ratelimit-remaining', '9'), ['--reserve', '7', '--no-wait']);
    expect([(await run()).code, context.sent.length]).toEqual([6, 1]);
    // The next window will not have enough either: it is not waited for.
    const never = against(header('x-ratelimit-remaining', '9'), ['--reserve', '58']);
    expect(await never.run()).toMatchObject({ code: 6, stderr: expect.stringContaining('fewer checks') as string });
    expect(never.context.sent).toHaveLength(1);
  });

  it('says when there are never enough', async () => {
    const limits = { 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '2' };
    const few: Spoil = (reply) => ({ ...reply, headers: { ...reply.headers, ...limits } });
    const { context, run } = against(few);
    await run();
    expect(takeApart(await runIn(context, '--json', 'smoke'))).toMatchObject({
      code: 6,
      error: { hint: 'Run fewer checks with --only or --skip.', retryable: false },
    });
  });
});

describe('--provoke-429', () => {
  const served = (args: readonly string[]) => serveSandbox(['--per-minute', '20', ...args]);
  const run = async (sandbox: Served, home = createHome()) =>
    failedIn(await runPetstore(['smoke', '--provoke-429', '--json'], { home, env: envOf(sandbox) }));
  const statuses = async ({ port }: Served) =>
    ((await control(port, 'GET', '/requests')) as { status: number; key: string | null }[]).map(({ status }) => status);

  it('one request beyond the allowance, and the block is kept afterwards', async () => {
    const sandbox = await served([]);
    const home = createHome();
    expect(await run(sandbox, home)).toEqual([0, []]);
    const before = await statuses(sandbox);
    expect(before.filter((status) => status === 429)).toHaveLength(1);
    expect(before.filter((status) => status === 200)).toHaveLength(19);
    const list = await runPetstore(['--no-wait', 'inventory', 'list'], { home, env: envOf(sandbox) });
    expect(list.code).toBe(6);
    expect(await statuses(sandbox)).toEqual(before);
  });

  it.each([
    ['no 429, but a 503', 'status=503,nth=21', 8, ['limit-429']],
    ['a 429 that does not say when to come back', 'no-header=retry-after', 13, ['limit-retry']],
  ])('%s', async (_what, fault, exit, ids) => {
    const sandbox = await served(['--fault', fault]);
    expect(await run(sandbox)).toEqual([exit, ids]);
    expect((await statuses(sandbox)).length).toBeLessThan(30);
  });

  it('is not for production', async () => {
    const context = createTestContext({ env: { ...STAGING_ENV, PETSTORE_ENV: 'production' } });
    const { code, stderr } = await runIn(context, 'smoke', '--provoke-429');
    expect([code, context.sent]).toEqual([2, []]);
    expect(stderr).toContain('--provoke-429 is not for production');
  });
});

describe('--write', () => {
  it('on the sandbox: all pass, and the pet is as it was', async () => {
    const home = createHome();
    const options = { home };
    const smoke = await runPetstore(['--env', 'sandbox', 'smoke', '--write', '--pet', '7', '--json'], options);
    expect([smoke.code, JSON.parse(smoke.stdout)]).toMatchObject([0, { failed: 0, passed: 23 }]);
    const list = await runPetstore(['--env', 'sandbox', 'inventory', 'list', '--pet', '7', '--json'], options);
    expect(JSON.parse(list.stdout)).toMatchObject([{ petId: 7, quantity: 10 }]);
    const runs = await runPetstore(['--env', 'sandbox', 'inventory', 'runs', '--json'], options);
    expect(JSON.parse(runs.stdout)).toMatchObject([{ kind: 'smoke', state: 'finished', failed: 0 }]);
  });

  it.each([
    ['status=500,after,method=PATCH,nth=2', 8, ['write-set']],
    ['reset,after,method=PATCH,nth=2', 7, ['write-set']],
    ['status=500,method=PATCH,nth=5', 13, ['write-no-quantity']],
    ['status=422,method=PATCH,nth=8', 13, ['write-unknown']],
  ])('%s: exactly its check fails, and the pet is put back', async (fault, exit, ids) => {
    const home = createHome();
    const served = await serveSandbox(['--fault', fault, '--data', join(home.path, 'shop.db')], { home });
    const args = ['smoke', '--write', '--pet', '7', '--json'];
    const finished = await runPetstore(args, { home, env: envOf(served) });
    expect(failedIn(finished)).toEqual([exit, ids]);
    // It was, although the answer does not show it.
    expect(finished.stdout).not.toContain('it was not changed');
    const pets = (await control(served.port, 'GET', '/pets')) as unknown[];
    expect(pets[6]).toEqual({ petId: 7, quantity: 10, status: 'available', name: 'Goldfish' });
  });

  /** A service that takes some invalid bodies for a quantity, and answers them with `answer`; valid ones with `valid`. */
  const lenient = (
    stock: { 7: unknown },
    made: Readonly<Record<string, unknown>>,
    answer: (body: string) => Partial<PlainReply>,
    valid: Partial<PlainReply> = {},
  ): Spoil => {
    return (reply, kind, { method, body, url }) => {
      const stored = (): string => JSON.stringify({ ...ROWS[0], quantity: stock[7] });
      if (kind === 'list') return { ...reply, body: `[${stored()}]` };
      if (method !== 'PATCH' || !url.pathname.endsWith('/7')) return reply;
      const [, quantity] = /^\{"quantity":(\d+)\}$/.exec(String(body)) ?? [];
      if (String(body) in made) stock[7] = made[String(body)];
      else if (quantity !== undefined && valid.status === undefined) stock[7] = Number(quantity);
      if (quantity !== undefined) return { ...reply, status: 200, body: stored(), ...valid };
      return { ...reply, ...refusal(400, 'x'), ...(String(body) in made && answer(stored())) };
    };
  };
  const TEXT = '{"quantity":"1"}';
  const cut = (): never => {
    throw new HttpFailure({ phase: 'reset', code: 'ECONNRESET', peer: 'x', mayHaveBeenSent: true, detail: '' });
  };
  const unfinished = async (context: ReturnType<typeof against>['context']): Promise<unknown> =>
    JSON.parse((await runIn(context, 'inventory', 'runs', '--unfinished', '--json')).stdout);

  it.each<readonly [string, number, () => Partial<PlainReply>, number, string]>([
    ['204', 1, () => ({ status: 204, body: '' }), 13, 'expected status 400, got 204'],
    ['202, and as another number', 5, () => ({ status: 202, body: '{}' }), 13, 'expected status 400, got 202'],
    ['200, with what was stored', 1, () => ({ status: 200 }), 13, 'expected status 400, got 200'],
    ['500', 1, () => refusal(500, 'x'), 13, 'expected status 400, got 500'],
    ['302', 5, () => ({ status: 302, body: '' }), 13, 'expected status 400, got 302'],
    ['no answer', 5, cut, 7, 'expected status 400, got no answer (reset: ECONNRESET)'],
    ['422', 1, () => refusal(422, 'x'), 13, 'was refused with 422, but applied: pet 7 has a quantity of 1'],
    ['400', 1, () => refusal(400, 'x'), 13, 'was refused with 400, but applied: pet 7 has a quantity of 1'],
  ])(
    'an invalid body that is applied, and answered with %s: its check fails, and the pet is put back',
    async (...row) => {
      const [, quantity, answer, exit, problem] = row;
      const stock = { 7: 12 };
      const { context, run } = against(lenient(stock, { [TEXT]: quantity }, answer), ['--write', '--pet', '7']);
      const { code, stdout, stderr } = await run();
      expect([failedIn({ code, stdout }), stock, await unfinished(context)]).toEqual([
        [exit, ['write-text']],
        { 7: 12 },
        [],
      ]);
      expect(checksIn(stdout)).toContainEqual(expect.objectContaining({ id: 'write-text', problem }));
      expect(stderr).not.toContain('put back to');
    },
  );

  it('invalid bodies that are applied: each fails its check, and the pet is put back', async () => {
    const stock = { 7: 12 };
    const taken = lenient(stock, { [TEXT]: 1, '{"quantity":2.25}': 2 }, (body) => ({ status: 200, body }));
    expect(await failing(taken, ['--write', '--pet', '7'])).toEqual([13, ['write-text', 'write-fraction']]);
    expect(stock).toEqual({ 7: 12 });
  });

  // A list with such a row cannot be read, so no other command could repair it.
  it('invalid bodies that are stored as they are: each fails its check, and the pet is put back', async () => {
    const stock = { 7: 12 };
    const made = { '{}': null, [TEXT]: '1', '{"quantity":2.25}': 2.25 };
    const { context, run } = against(
      lenient(stock, made, (body) => ({ status: 200, body })),
      ['--write', '--pet', '7'],
    );
    const { code, stdout, stderr } = await run();
    const ids = ['write-no-quantity', 'write-text', 'write-fraction'];
    expect([failedIn({ code, stdout }), stock, await unfinished(context)]).toEqual([[13, ids], { 7: 12 }, []]);
    expect(stderr).not.toContain('put back to');
  });

  it('a broken row of another pet fails its check, and no check of updates', async () => {
    const broken: Spoil = (...args) => {
      const answer = lenient({ 7: 12 }, {}, () => ({}))(...args);
      return args[1] === 'list'
        ? { ...answer, body: String(answer.body).replace(']', ',{"petId":8,"quantity":"0"}]') }
        : answer;
    };
    const { context, run } = against(broken, ['--write', '--pet', '7', '--skip', 'write-set,write-restore']);
    expect([failedIn(await run()), await unfinished(context)]).toEqual([[13, ['list-rows']], []]);
  });

  // Another number may be someone else's: it stays.
  it.each([
    ['nothing is stored', 12],
    ['another number is listed', 5],
  ])('an update whose answer is right, but %s: write-set fails, and the pet is left so', async (_what, quantity) => {
    const stock = { 7: 12 };
    const echo: Spoil = (reply, kind, request) => {
      const answer = lenient(stock, {}, () => ({}))(reply, kind, request);
      if (request.body !== '{"quantity":13}') return answer;
      stock[7] = quantity;
      return { ...answer, body: JSON.stringify({ ...ROWS[0], quantity: 13 }) };
    };
    const { context, run } = against(echo, ['--write', '--pet', '7', '--only', 'write-set,write-restore']);
    const { code, stdout, stderr } = await run();
    expect([failedIn({ code, stdout }), stock]).toEqual([[13, ['write-set']], { 7: quantity }]);
    const problem = `expected pet 7 with a quantity of 13 in the list, got ${quantity}`;
    expect(checksIn(stdout)).toContainEqual(expect.objectContaining({ id: 'write-set', problem }));
    expect(stderr).toContain('Smoke test of staging: 4 requests,');
    const left = 'Pet 7 has 5 in staging, which the smoke test has not set: it is left so.';
    expect(stderr.includes(left)).toBe(quantity === 5);
    expect(context.sent.map(({ method }) => method)).toEqual(['GET', 'PATCH', 'GET', 'GET']);
  });

  it.each([400, 500])('what someone else sets after an invalid body that was not applied stays: %i', async (status) => {
    const stock = { 7: 12 };
    const strict = lenient(stock, {}, () => ({}));
    const spoil: Spoil = (reply, kind, request) => {
      const answer = strict(reply, kind, request);
      if (request.body === '{"quantity":2.25}') stock[7] = 9;
      return request.body === TEXT ? { ...answer, ...refusal(status, 'x') } : answer;
    };
    const { context, run } = against(spoil, ['--write', '--pet', '7']);
    const { stderr } = await run();
    expect([stock, await unfinished(context)]).toEqual([{ 7: 9 }, []]);
    expect(stderr).toContain('Pet 7 has 9 in staging, which the smoke test has not set: it is left so.');
  });

  it('an invalid body that is applied, and cannot be put back: exit 9, and the next smoke test puts it back', async () => {
    const stock = { 7: 12 };
    const only = ['--write', '--pet', '7', '--only', 'write-text'];
    let valid: Partial<PlainReply> = { status: 500 };
    const spoil: Spoil = (...args) => lenient(stock, { [TEXT]: 5 }, () => ({ status: 204, body: '' }), valid)(...args);
    const { context, run } = against(spoil, only);
    const { code, stderr } = await run();
    expect([code, stock]).toEqual([9, { 7: 5 }]);
    expect(stderr).toContain('Pet 7 could not be put back to 12 in staging; check it');
    expect(await unfinished(context)).toHaveLength(1);
    valid = {};
    await runIn(context, 'smoke', '--write', '--pet', '7', '--only', 'write-same');
    expect([stock, await unfinished(context)]).toEqual([{ 7: 12 }, []]);
  });

  it.each([
    ['has no status', {}],
    ['has a status that the contract does not list', { status: 'gone' }],
    ['is of another type', { status: 'sold' }, 'text/html'],
  ])('an entry that %s fails its check', async (_what, fields, type = 'application/json') => {
    const entry: Spoil = (reply, _kind, { method }) =>
      method === 'PATCH'
        ? {
            ...reply,
            status: 200,
            headers: { ...reply.headers, 'content-type': type },
            body: JSON.stringify({ petId: 7, quantity: 12, ...fields }),
          }
        : reply;
    expect(await failing(entry, ['--write', '--pet', '7', '--only', 'write-same'])).toEqual([13, ['write-same']]);
  });

  it.each([
    [500, 9, 'unknown', 12, '12'],
    [429, 6, 'applied', 12, '12'],
    [429, 6, 'applied', -4, '-4 --allow-negative'],
  ])('a pet that cannot be put back is named, with the command that does: %i', async (...row) => {
    const [status, exitCode, outcome, quantity, set] = row;
    let isSet = false;
    const stuck: Spoil = (reply, _kind, { method, body }) => {
      const rows = [{ ...ROWS[0], quantity: isSet ? quantity + 1 : quantity }, ROWS[1]];
      if (method !== 'PATCH') return { ...reply, body: JSON.stringify(rows) };
      if (body === `{"quantity":${quantity}}`) return { ...reply, status, body: '' };
      isSet = true;
      return { ...reply, status: 200 };
    };
    const { context } = against(stuck);
    const line = ['smoke', '--json', '--write', '--pet', '7', '--only', 'write-restore'];
    const { code, stderr } = await runIn(context, ...line);
    expect(code).toBe(exitCode);
    const says = `Pet 7 could not be put back to ${quantity} in staging; check it, then run petstore --env staging inventory set 7 ${set}`;
    const error = expect.objectContaining({ exitCode, outcome }) as unknown;
    expect(jsonLines(stderr)).toEqual(expect.arrayContaining([{ warning: { message: says } }, { error }]));
  });

  it.each([
    [403, []],
    [500, [{ outcome: 'discarded' }]],
  ])('a pet that no request has changed needs no putting back: %i to the update', async (status, changes) => {
    const { context } = against((reply, _kind, { method }) => (method === 'PATCH' ? { ...reply, status } : reply));
    const { stderr } = await runIn(context, 'smoke', '--write', '--pet', '7', '--only', 'write-restore');
    expect(stderr).not.toContain('could not be put back');
    const { stdout } = await runIn(context, 'inventory', 'history', '--json');
    expect(JSON.parse(stdout)).toMatchObject(changes);
  });

  it('writes nothing by a list that a cache in front of the service has kept', async () => {
    const { context, run } = against(header('age', '12'), ['--write', '--pet', '7', '--only', 'write-set']);
    const { code, stdout } = await run();
    expect([code, context.sent.map(({ method }) => method)]).toEqual([8, ['GET']]);
    expect(stdout).toContain('the list comes from a cache and is 12 s old');
  });

  it('exits 5 if the service does not have the pet: the checks of updates are skipped', async () => {
    const { code, stdout, stderr } = await runPetstore(['--env', 'sandbox', 'smoke', '--write', '--pet', '999']);
    expect({ code, stdout, stderr }).toEqual({
      code: 5,
      stdout: expect.stringContaining('15 passed, 1 failed, 10 skipped') as string,
      stderr: expect.stringContaining('error: Pet 999 was not found in sandbox.\n') as string,
    });
  });

  it.each([[['--write']], [['--pet', '7']]])('%j alone says too little', async (args) => {
    const { context, run } = against(undefined, args);
    expect([(await run()).code, context.sent.length]).toEqual([2, 0]);
  });
});

describe('what is run, and how it is reported', () => {
  const broken = header('content-type', 'text/html');

  it('--only and --skip, and no more requests than they need', async () => {
    expect(await failing(broken, ['--only', 'list-type,clock'])).toEqual([13, ['list-type']]);
    expect(await failing(broken, ['--skip', 'list-type'])).toEqual([0, []]);
    const { context, run } = against(undefined, ['--only', 'unknown-status']);
    expect([checksIn((await run()).stdout).length, context.sent.length]).toEqual([1, 2]);
    expect(await against(undefined, ['--only', 'nosuch']).run()).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: --only must be a check that petstore smoke --list shows, not "nosuch".\n',
    });
    // A stored csv does not stand in the way of a format that was asked for.
    const stored = await runIn(against().context, '-o', 'csv', 'smoke', '--format', 'tap', '--only', 'clock');
    expect([stored.code, stored.stdout]).toEqual([0, expect.stringContaining('ok 1 - clock')]);
    for (const args of [
      '--only clock,write-set',
      '--only limit-429',
      '--only clock --skip clock',
      '--only latency',
      `--skip ${IDS.join(',')}`,
      `--skip ${IDS.filter((id) => id !== 'latency').join(',')}`,
      '--only clock --max-latency 1s',
      '--only clock --write --pet 7',
      '--only clock --provoke-429',
    ]) {
      const idle = against(undefined, args.split(' '));
      expect([await idle.run(), idle.context.sent]).toMatchObject([{ code: 2, stdout: '' }, []]);
    }
  });

  it('a report whose folder is missing stops it before the first request; any other is told after the checks', async () => {
    const { context } = against(broken);
    const { code, stderr } = await runIn(context, 'smoke', '--out', join(context.home.path, 'no', 'r.xml'));
    expect([code, context.sent.length]).toEqual([3, 0]);
    expect(stderr).toContain(`error: Could not find ${join(context.home.path, 'no')}: `);
    const late = await runIn(context, 'smoke', '--only', 'list-type', '--out', `tap=${context.home.path}/`);
    expect([late.code, late.stdout]).toEqual([
      3,
      expect.stringMatching(/^FAIL {2}list-type.*\n(.*\n)*0 passed, 1 failed/),
    ]);
    expect(late.stderr).toContain(`error: Could not write ${context.home.path}/: `);
  });

  it('as text, TAP, JUnit and annotations, into files too', async () => {
    const { context } = against(broken);
    const at = (name: string): string => join(context.home.path, name);
    const only = ['--only', 'list-type,latency,clock'];
    const outs = [at('r.xml'), at('r.tap'), `github=${at('r.log')}`].flatMap((out) => ['--out', out]);
    const { code, stdout, stderr } = await runIn(context, 'smoke', ...only, ...outs);
    expect([code, stdout]).toEqual([
      13,
      'FAIL  list-type  expected application/json, got text/html\n' +
        '      GET /inventory; docs/service.md, part 4.1\n' +
        'ok    clock      the clocks of the service and of this machine agree\n' +
        'skip  latency    not checked: no --max-latency was given\n' +
        '1 passed, 1 failed, 1 skipped\n',
    ]);
    expect(stderr).toContain('error: 1 of 3 checks failed: list-type.\n');
    expect(readFileSync(at('r.tap'), 'utf8').split('\n').slice(0, 4)).toEqual([
      'TAP version 14',
      '1..3',
      'not ok 1 - list-type: the list is application/json',
      '  ---',
    ]);
    expect(readFileSync(at('r.log'), 'utf8')).toMatch(
      /^::error title=petstore smoke staging list-type::GET \/inventory: expected application\/json, got text\/html\n/,
    );
    const junit = readFileSync(at('r.xml'), 'utf8');
    expect(junit).toContain('tests="3" failures="1" errors="0" skipped="1"');
    expect(junit).toContain(
      '<failure message="expected application/json, got text/html" type="contract">docs/service.md, part 4.1',
    );
  });

  it('--list shows the checks and asks nothing', async () => {
    const { context } = against();
    const { code, stdout } = await runIn(context, 'smoke', '--list', '--json');
    expect([code, context.sent]).toEqual([0, []]);
    expect(stdout).toContain('{"id":"reachable","title":"the service answers"}');
  });

  it('reports tell the contract from the key, the network and the limit', async () => {
    const key = against((reply) => ({ ...reply, ...refusal(401, 'unauthorized') }), []);
    const refused = await runIn(key.context, 'smoke', '--format', 'junit');
    expect([refused.code, refused.stdout]).toEqual([4, expect.stringContaining('failures="0" errors="1"')]);
    expect(refused.stdout).toContain('<error message="expected status 200, got 401" type="environment">');
    const unseen = await runIn(key.context, 'smoke', '--only', 'latency', '--max-latency', '1m');
    expect([unseen.code, unseen.stdout]).toEqual([
      4,
      expect.stringMatching(/^FAIL +run .*401.*\n0 passed, 1 failed, 1/m),
    ]);
    const limited = against((reply) => ({ ...reply, status: 429, headers: { 'retry-after': '3600' } }));
    const ended = await runIn(limited.context, 'smoke', '--format', 'junit');
    expect([ended.code, ended.stdout]).toEqual([6, expect.stringContaining('name="run: the checks could be run"')]);
    expect(ended.stdout).toContain('failures="0" errors="1"');
    // No request belongs to a run that ended early.
    const { stdout } = await runIn(limited.context, 'smoke', '--format', 'github');
    expect(stdout).toMatch(/^::error title=petstore smoke staging run::This key is rate limited/);
    expect(stdout).not.toMatch(/^ +$/m);
    const down = against((reply) => ({ ...reply, status: 503 }));
    const late = await runIn(down.context, 'smoke', '--wait-ready', '5s');
    expect([late.code, late.stdout]).toEqual([8, expect.stringContaining('not ready after 5 s: expected status 200')]);
    expect(late.stderr).toContain('Service failed (503); retrying until 14:03:25 (5 s).');
  });

  it.each<readonly [string, Spoil, number]>([
    ['refuses the key', list(refusal(401, 'x')), 4],
    ['fails later', (reply, kind) => (kind === 'refused' ? refusal(503, 'x') : reply), 8],
  ])('--wait-ready: a service that %s was ready', async (_what, spoil, exit) => {
    const { code, stdout } = await against(spoil, ['--wait-ready', '5s']).run();
    expect(code).toBe(exit);
    expect(stdout).toContain('"problem":"expected status');
    expect(stdout).not.toContain('not ready after');
  });

  it('an annotation has the exact text, a percent sign too', async () => {
    const { context } = against(header('content-type', 'text/%0A'));
    const { stdout } = await runIn(context, 'smoke', '--only', 'list-type', '--format', 'github');
    expect(stdout).toMatch(/^::error .*, got text\/%250A\n/);
  });

  it('--show-limits shows those of the key, not of another that was tried', async () => {
    const spoil = refused({ headers: { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '3' } }, false);
    const { stderr } = await against(spoil, ['--show-limits']).run();
    expect(stderr).toContain('59 of 60');
  });

  it('adds a table to the summary of a GitHub job', async () => {
    const home = createHome();
    const path = join(home.path, 'summary.md');
    const { context } = against((reply) => reply);
    const files = { ...context.env, GITHUB_STEP_SUMMARY: path };
    const ran = await runIn({ ...context, env: files }, 'smoke');
    expect(ran.code).toBe(0);
    expect(readFileSync(path, 'utf8')).toMatch(
      /^### petstore smoke staging: \d+ passed, 0 failed, \d+ skipped\n\n\| \| Check/,
    );
  });

  it.each([
    ['/no/such/file', 'ENOENT'],
    ['/dev/full', 'ENOSPC'],
  ])('warns if the summary cannot be written: %s', async (path, errno) => {
    const { context } = against();
    const env = { ...context.env, GITHUB_STEP_SUMMARY: path };
    const { code, stderr } = await runIn({ ...context, env }, 'smoke');
    expect([code, stderr]).toEqual([0, expect.stringContaining(`The summary ${path} cannot be written (${errno}).`)]);
  });

  it('--wait-ready waits politely until there is an answer', async () => {
    let asked = 0;
    const late: Spoil = (reply) => (++asked < 4 ? { ...reply, status: 503 } : reply);
    const { context } = against(late);
    const { code, stderr } = await runIn(context, 'smoke', '--wait-ready', '60s');
    expect([code, stderr]).toEqual([0, expect.stringContaining('The service answers again, after 2 s (4 tries).\n')]);
  });

  it.each([
    ['2m', 0, 'read-only.'],
    ['11m', 8, 'It expects to be available at 14:14:21.'],
  ])('--wait-ready 10m with a 503 whose Retry-After is %s: exit %i', async (wait, exit, words) => {
    let asked = 0;
    const seconds = String(Number.parseInt(wait) * 60);
    const { context } = against((reply) =>
      ++asked === 1 ? { ...reply, status: 503, headers: { ...PAGE.headers, 'retry-after': seconds } } : reply,
    );
    const { code, stderr } = await runIn(context, 'smoke', '--wait-ready', '10m', '--max-wait', '0');
    expect([code, stderr]).toEqual([exit, expect.stringContaining(words)]);
  });

  it('--wait-ready asks a last time at its end', async () => {
    const { context } = against(list({ status: 503, ...PAGE }));
    const { code } = await runIn(context, 'smoke', '--wait-ready', '3s');
    // The last at 3 s.
    expect([code, context.sent.length]).toEqual([8, 4]);
  });
});
