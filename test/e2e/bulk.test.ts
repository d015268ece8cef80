/** Provokes faults 12, 20, 83, 85, 92 to 99 and 140 of a bulk run, through the built program. */
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exits, inBash, mayMount, petstoreCommand, runPetstore, startPetstore, withMounts } from '../support/binary.ts';
import { jsonLines, type JsonRun, staging, takeApart } from '../support/staging.ts';
import { createHome, fileIn, type Home } from '../support/home.ts';
import { runIn } from '../support/in-process.ts';
import { realSandbox } from '../support/real-sandbox.ts';
import { ask, control, ruleHasSeen, serveSandbox } from '../support/served.ts';
import { createTestContext } from '../support/test-context.ts';

interface Shop {
  readonly home: Home;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  /** Paths of the PATCHes that the sandbox has answered. */
  sent(): Promise<string[]>;
  /** In this process. */
  run(
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<{ code: number | null; json: unknown; stderr: string; error: JsonRun['error'] }>;
}

async function shop(args: readonly string[] = []): Promise<Shop> {
  const home = createHome();
  const { baseUrl, port } = await serveSandbox(['--data', join(home.path, 'shop.db'), ...args], { home });
  const env = staging(baseUrl, 'sandbox');
  return {
    home,
    port,
    env,
    async sent() {
      const requests = (await control(port, 'GET', '/requests')) as { method: string; target: string }[];
      return requests.filter(({ method }) => method === 'PATCH').map(({ target }) => target.split('/').at(-1) ?? '');
    },
    async run(line, more = {}) {
      const finished = await runIn(createTestContext({ home, env: { ...env, ...more } }), '--json', ...line);
      const { code, stdout, stderr } = finished;
      const json = stdout === '' ? undefined : (JSON.parse(stdout) as unknown);
      return { code, json, stderr, error: takeApart(finished).error };
    },
  };
}

function csv(
  { home }: Pick<Shop, 'home'>,
  rows: readonly (readonly [number | string, number | string])[],
  name = 'stock.csv',
): string {
  return fileIn(home, name, ['petId,quantity', ...rows.map((row) => row.join(','))].join('\n'));
}

const some = (count: number, quantity = 500) => Array.from({ length: count }, (_, i) => [i + 1, quantity + i] as const);

const IMPORT = ['inventory', 'import', '--yes'];
const RUNS = ['inventory', 'runs'];

it('fault 12: offline halfway: stops after three rows, exits 7, and resumes later', async () => {
  const home = createHome();
  const plan = { perMinute: 60, perDay: 10_000 };
  let patches = 0;
  const file = csv({ home }, some(20));
  const sandbox = await realSandbox(plan, {
    onRequest: () => {
      // The list, five updates.
      if (++patches === 6) void sandbox.close(10_000);
    },
  });
  const stopped = await runPetstore(['--json', ...IMPORT, file, '--yes'], { home, env: sandbox.env });
  expect([stopped.code, takeApart(stopped).error]).toMatchObject([7, { kind: 'network', retryable: true }]);
  // Five rows were applied.
  expect(stopped.stderr).not.toContain('"outcome"');
  expect(JSON.parse(stopped.stdout)).toMatchObject({ applied: 5, left: 15, unknown: 0, failed: 0 });
  const status = await runPetstore([...RUNS, '--unfinished', '--json'], { home });
  expect(JSON.parse(status.stdout)).toMatchObject([{ run: 1, kind: 'import', environment: 'staging', source: file }]);
});

it('a service that fails at every update: the outcome of all rows is unknown, and the next step is to resume', async () => {
  const broken = await shop(['--fault', 'status=503,method=PATCH']);
  const { code, error } = await broken.run([...IMPORT, csv(broken, some(3))]);
  expect([code, error]).toMatchObject([9, { kind: 'run-unknown', status: 503, outcome: 'unknown' }]);
  expect(error?.message).toMatch(
    /^The outcome of 3 rows is unknown\. The service failed \(503, .*\) after 2 attempts\.$/,
  );
  expect(error?.hint).toMatch(/^Check and apply what is missing with petstore .* --resume$/);
});

it('fault 20, 98: rows that are refused are recorded, the others carried out: 11', async () => {
  const at = await shop(['--fault', 'status=404,path=/inventory/2', '--fault', 'status=400,path=/inventory/4']);
  const { code, json, stderr, error } = await at.run([...IMPORT, csv(at, [...some(5), [999, 1]])]);
  expect([code, json]).toEqual([
    11,
    {
      run: 1,
      environment: 'staging',
      applied: 3,
      unchanged: 0,
      conflicts: 0,
      failed: 3,
      unknown: 0,
      left: 0,
      report: expect.stringMatching(/\/reports\/import-1\.csv$/) as string,
    },
  ]);
  expect(stderr).toContain('"message":"Pet 4: the service refused the value (400: Fault injected by the sandbox.)."');
  expect(error).toMatchObject({
    kind: 'run-incomplete',
    exitCode: 11,
    message: 'Not everything was applied: 3 failed.',
  });
  const report = readFileSync((json as { report: string }).report, 'utf8')
    .trim()
    .split('\n');
  expect(report).toEqual([
    'line,petId,before,after,state,reason,difference,name',
    '2,1,14,500,applied,,486,',
    '3,2,3,501,failed,the service does not have this pet,498,',
    '4,3,0,502,applied,,502,',
    '5,4,8,503,failed,the service refused the value (400: Fault injected by the sandbox.),495,',
    '6,5,25,504,applied,,479,',
    '7,999,,1,failed,the service does not have this pet,,',
  ]);
});

/** Sends the signal again at once, as systemd and timeout(1) do where an older Node has started petstore. */
const AGAIN = encodeURIComponent("process.once('SIGTERM', () => process.kill(process.pid, 'SIGTERM'))");

describe.each([
  ['83', 'SIGINT', 130, {}],
  ['85, 140', 'SIGTERM', 143, { NODE_OPTIONS: `--import=data:text/javascript,${AGAIN}` }],
  ['85', 'SIGHUP', 129, {}],
] as const)('fault %s: %s with an update in flight', (_fault, signal, exit, env) => {
  it(`is recorded as unknown, ${exit}; resumed, it turns out`, async () => {
    const at = await shop(['--fault', 'delay=1h,after,method=PATCH,nth=3', '--per-minute', '59']);
    const file = csv(at, some(6));
    const why = ['--cause', 'received', '--note', 'truck 7'];
    const running = startPetstore(['--json', ...IMPORT, file, ...why], { home: at.home, env: { ...at.env, ...env } });
    await ruleHasSeen(at, 3);
    const ended = await running.end(signal);
    const { code, stdout, stderr } = ended;
    expect([code, JSON.parse(stdout)]).toMatchObject([exit, { applied: 2, unknown: 1, left: 3 }]);
    const { error } = takeApart(ended);
    expect(error).toMatchObject({ kind: 'interrupted', outcome: 'unknown' });
    expect(error?.message).not.toMatch(/no write was in flight/);
    expect(stderr).toMatch(/Resume it with: petstore --env staging inventory import ('.+'|\S+) --resume\b/);
    expect(stderr).toMatch(/"hint":"Continue: petstore --env staging inventory import ('.+'|\S+) --resume"/);
    await control(at.port, 'PUT', '/faults', []);
    const resumed = await at.run([...RUNS, 'resume']);
    expect([resumed.code, resumed.json]).toMatchObject([0, { applied: 6, unknown: 0, left: 0 }]);
    const rows = (await at.run(['inventory', 'history', '--cause', 'received', '--json'])).json;
    expect(rows).toEqual(Array.from({ length: 6 }, () => expect.objectContaining({ note: 'truck 7' }) as unknown));
    // The third took effect when it was interrupted: it was looked at, not sent again.
    expect((await at.sent()).toSorted()).toEqual(['1', '2', '4', '5', '6']);
  });
});

it.each([
  ['here', '-502', true, { code: 0, json: { applied: 6, conflicts: 0 } }],
  ['on another machine', '-1', false, { code: 11, json: { applied: 5, conflicts: 1 } }],
])(
  'a row that was added without an answer, and whose pet was sold %s since (%s), is not added again',
  async (_where, sale, isHere, done) => {
    const at = await shop(['--fault', 'delay=60s,after,method=PATCH,nth=3', '--per-minute', '1000']);
    const line = [...IMPORT, csv(at, some(6)), '--add', '--resume'];
    const running = startPetstore(line, { home: at.home, env: at.env });
    await ruleHasSeen(at, 3);
    await running.end('SIGKILL');
    await control(at.port, 'PUT', '/faults', []);
    await runPetstore(['inventory', 'adjust', '3', sale], { env: at.env, ...(isHere && { home: at.home }) });
    const sold = (await at.run(['inventory', 'list', '3'])).json;
    const left = (await at.run([...line, '--dry-run'])).json as { petId: number; problem: string | null }[];
    expect(left.filter(({ problem }) => problem === null).map(({ petId }) => petId)).toEqual([4, 5, 6]);
    expect(await at.run(line)).toMatchObject(done);
    expect((await at.run([...RUNS, 'resume', '1'])).stderr).toContain('Run 1 is done; nothing was sent.');
    expect(await at.run(line)).toMatchObject(exits(2, '--again'));
    expect((await at.run(['inventory', 'list', '3'])).json).toEqual(sold);
    expect(
      (await at.run(['inventory', 'history', '--by', 'cause'])).stderr.includes('1 change of unknown outcome'),
    ).toBe(!isHere);
  },
);

it.skipIf(!mayMount()).each([
  ['', 'list'],
  [' while the database has no log', 'runs'],
])('fault 92: a disk that is full%s stops it beforehand, with nothing sent', async (_, last) => {
  const at = await shop();
  const file = csv(at, some(3));
  const state = join(at.home.path, 'full');
  // In a mount namespace of its own: the state folder becomes a disk of 200 KiB that is full but for a few bytes.
  const script = `mkdir '${state}' && mount -t tmpfs -o size=200k tmpfs '${state}' &&
      XDG_STATE_HOME='${state}' "$@" inventory list >/dev/null 2>&1;
      XDG_STATE_HOME='${state}' "$@" inventory ${last} >/dev/null 2>&1; (cat /dev/zero > '${state}/ballast' 2>/dev/null || true);
      XDG_STATE_HOME='${state}' "$@" --json inventory import --yes '${file}'`;
  const { code, stderr } = await runPetstore([], {
    home: at.home,
    env: at.env,
    command: withMounts(script),
  });
  expect([code, JSON.parse(stderr.trim().split('\n').at(-1) ?? '')]).toMatchObject([
    3,
    { error: { exitCode: 3, message: expect.stringContaining('the disk is full') as string } },
  ]);
  expect(await at.sent()).toEqual([]);
});

describe('a run that was stopped', () => {
  /** Two of six rows are done; then the service asks for an hour's rest. */
  async function stopped(): Promise<{ at: Shop; file: string; stderr: string }> {
    const at = await shop(['--fault', 'status=429,retry-after=3600,method=PATCH,nth=3']);
    const file = csv(at, some(6));
    const { code, json, stderr, error } = await at.run([...IMPORT, file]);
    expect([code, json]).toMatchObject([6, { applied: 2, left: 4 }]);
    // Its error has the same next step as its warning.
    expect(stderr).toMatch(/Resume it with: petstore --env staging inventory import ('.+'|\S+) --resume\b/);
    expect(error?.hint).toMatch(
      /^After .*\d\d:\d\d:\d\d: petstore --env staging inventory import ('.+'|\S+) --resume$/,
    );
    return { at, file, stderr };
  }

  it('fault 94, 99: beyond --max-wait: 6, and nothing is sent to another environment or address, or where its file has changed; then resumed without its file', async () => {
    const { at, file } = await stopped();
    const sent = await at.sent();
    const refusal = async (line: readonly string[], env?: Readonly<Record<string, string>>) => {
      const { code, error } = await at.run(line, env);
      return [code, error?.message];
    };
    // It waits no longer than any command.
    expect((await at.run([...RUNS, 'resume'])).code).toBe(6);
    expect(await refusal(['--env', 'sandbox', ...RUNS, 'resume'])).toEqual([
      2,
      expect.stringContaining('Run 1 is for staging, and the environment is sandbox'),
    ]);
    for (const line of [
      [...RUNS, 'resume'],
      ['inventory', 'undo', '--run', '1', '--yes'],
    ]) {
      expect(await refusal(line, { PETSTORE_BASE_URL: 'http://127.0.0.1:9/v1' })).toEqual([
        2,
        expect.stringMatching(/ is for http:\/\/127\.0\.0\.1:\d+, and staging is at http:\/\/127\.0\.0\.1:9 now; /),
      ]);
    }
    appendFileSync(file, '\n7,9');
    const changed = `${file} has changed since run 1 began; nothing was sent.`;
    expect(await refusal([...RUNS, 'resume'])).toEqual([2, changed]);
    expect((await at.run(['inventory', 'history', '--json'])).json).toMatchObject([
      { petId: 2, outcome: 'applied' },
      { petId: 1, outcome: 'applied' },
    ]);
    expect(await at.sent()).toEqual(sent);
    rmSync(file);
    await at.run(['limits', '--clear-block', '--yes']);
    const { code, json } = await at.run([...RUNS, 'resume', '1']);
    expect([code, json]).toMatchObject([0, { run: 1, applied: 6, left: 0 }]);
    expect(await at.sent()).toEqual(['1', '2', '3', '3', '4', '5', '6']);
    expect((await at.run([...RUNS, 'resume', '1'])).code).toBe(2);
    expect((await at.run([...RUNS, '--unfinished'])).json).toEqual([]);
  });

  it('is resumed by the command that is printed, from a shell whose environment is another', async () => {
    const { at, stderr } = await stopped();
    await at.run(['limits', '--clear-block', '--yes']);
    const { notes } = takeApart({ code: 0, stdout: '', stderr });
    const printed = /Resume it with: petstore (.*)$/m.exec(notes.join('\n'))?.[1] ?? '';
    const { PETSTORE_ENV: _staging, ...env } = at.env;
    const shell = ['/bin/sh', '-c', `"$@" ${printed}`, 'sh', ...petstoreCommand()] as const;
    const { code, stdout } = await runPetstore([], { home: at.home, env, command: shell });
    expect([code, stdout]).toEqual([0, 'Run 1 (import) in staging: 6 applied.\n']);
  });

  it('resumes from a pipe with what was in its file', async () => {
    const { at, file } = await stopped();
    await at.run(['limits', '--clear-block', '--yes']);
    const options = { home: at.home, env: at.env, command: inBash(`"$@" <(cat '${file}')`) };
    const { stdout, stderr } = await runPetstore([...IMPORT, '--resume'], options);
    expect([stdout, stderr]).toEqual(['Run 1 (import) in staging: 6 applied.\n', expect.stringContaining('Report: ')]);
  });
});

it('fault 93: a disk that fills up when rows are under way: what was sent is looked up, not sent again', async (test) => {
  if (!mayMount()) return test.skip();
  const home = createHome();
  const [state, kept] = [join(home.path, 'state'), join(home.path, 'kept')];
  const file = csv({ home }, some(6));
  let pid = 0;
  let updates = 0;
  const sandbox = await realSandbox(
    { perMinute: 59, perDay: 10_000 },
    {
      onRequest: () => {
        // The list, two updates; the answer to the third meets a disk without room to note it.
        if (++updates === 4) fill(`/proc/${pid}/root${state}/ballast`);
      },
    },
  );
  const script = `mkdir '${state}' '${kept}' && mount -t tmpfs -o size=1m tmpfs '${state}' &&
    XDG_STATE_HOME='${state}' "$@"; code=$?; rm '${state}/ballast'; cp -r '${state}/.' '${kept}'; exit $code`;
  const running = startPetstore(['--json', ...IMPORT, file], { home, env: sandbox.env, command: withMounts(script) });
  pid = running.pid;
  const { code, stderr } = await running.exited;
  expect([code, stderr]).toEqual([3, expect.stringContaining('the disk is full') as string]);
  const env = { ...sandbox.env, XDG_STATE_HOME: kept };
  const resumed = await runPetstore(['--json', ...RUNS, 'resume'], { home, env });
  expect([resumed.code, JSON.parse(resumed.stdout)]).toMatchObject([0, { failed: 0, unknown: 0, left: 0 }]);
  const sent = sandbox.log.filter(({ method }) => method === 'PATCH').map(({ target }) => target.split('/').at(-1));
  expect(sent).toEqual(['1', '2', '3', '4', '5', '6']);
});

/** Fills the disk to the last byte. */
function fill(path: string): void {
  const zeros = Buffer.alloc(4_096);
  try {
    for (;;) appendFileSync(path, zeros);
  } catch {
    // Full.
  }
}

describe('fault 95: two imports at once', () => {
  async function held(): Promise<{ at: Shop; first: ReturnType<typeof startPetstore> }> {
    const at = await shop(['--fault', 'delay=60s,method=PATCH,nth=1']);
    const first = startPetstore([...IMPORT, csv(at, some(3))], { home: at.home, env: at.env });
    await ruleHasSeen(at, 1);
    return { at, first };
  }

  it('the second waits no longer than --max-wait: 6', async () => {
    const { at, first } = await held();
    const second = await at.run([...IMPORT, csv(at, [[9, 9]], 'other.csv'), '--no-wait']);
    expect([second.code, second.error]).toMatchObject([
      6,
      {
        kind: 'run-locked',
        message: `Another petstore import (process ${first.pid}) is still running; nothing was sent.`,
        retryable: true,
        outcome: 'not-sent',
      },
    ]);
    await first.end('SIGKILL');
  });

  it('the second waits its turn, and says for whom; a killed holder frees the lock', async () => {
    const { at, first } = await held();
    const second = startPetstore([...IMPORT, csv(at, [[9, 9]], 'other.csv')], { home: at.home, env: at.env });
    await second.waitFor(new RegExp(`Waiting for another petstore import \\(process ${first.pid}\\);`), 'stderr');
    await first.end('SIGKILL');
    const { code, stdout, stderr } = await second.exited;
    expect([code, stdout, stderr.match(/Waiting for/g)?.length]).toEqual([
      0,
      'Run 2 (import) in staging: 1 applied.\n',
      1,
    ]);
  });

  it('a stocktake that is open locks nothing but itself', async () => {
    const at = await shop();
    const counting = startPetstore(['inventory', 'count', '--yes'], {
      home: at.home,
      env: at.env,
      stdin: { open: true },
    });
    counting.write('7 12\n');
    await counting.waitFor(/pet 7: 12 counted/, 'stderr');
    expect(await at.run([...IMPORT, csv(at, [[9, 9]])])).toMatchObject({ code: 0, json: { applied: 1 } });
    expect(await at.run(['inventory', 'undo', '--yes'])).toMatchObject({ code: 0, json: { applied: 1 } });
    for (const command of [
      ['inventory', 'count', '--resume', '1', '--yes'],
      ['inventory', 'runs', 'discard', '1', '--yes'],
    ]) {
      expect(await at.run(command)).toMatchObject(exits(6, 'run-locked'));
    }
    counting.write('done\n');
    expect(await counting.exited).toMatchObject({ code: 0, stdout: 'Run 1 (count) in staging: 1 applied.\n' });
  });
});

it('events: an object for each row, and one at the end', async () => {
  const at = await shop();
  const { stdout } = await runPetstore(
    [
      ...IMPORT,
      csv(at, [
        [7, 1],
        [8, 6],
        [999, 1],
      ]),
      '--events',
    ],
    { home: at.home, env: at.env },
  );
  expect(jsonLines(stdout)).toEqual([
    expect.objectContaining({
      event: 'row',
      line: 4,
      petId: 999,
      state: 'failed',
      reason: expect.any(String) as string,
    }),
    { event: 'row', line: 2, petId: 7, before: 10, after: 1, state: 'applied', reason: null },
    expect.objectContaining({ event: 'end', applied: 1, unchanged: 1, failed: 1 }),
  ]);
  expect((await ask(at.port, '/')).status).toBe(200);
});

it.each([
  ['goes away', '"$@" | head -n 1', 6, 0, []],
  [
    'cannot be written',
    '"$@" >/dev/full',
    6,
    3,
    ['hint: The command has taken effect: do not run it again for its output.'],
  ],
  ['cannot be written and a row has failed', '"$@" >/dev/full', 5, 3, ['error: The output could not be written']],
])('events: a run is done to its end where its reader %s', async (_name, script, done, exit, said) => {
  const at = await shop(['--per-minute', '1000']);
  const rows = done === 6 ? some(6) : [...some(done), [999, 1] as const];
  const line = [...petstoreCommand(), ...IMPORT, csv(at, rows), '--events'];
  const run = await runPetstore(['-c', script, 'sh', ...line], { command: ['sh'], home: at.home, env: at.env });
  expect(run.code).toBe(exit);
  for (const hint of said) expect(run.stderr).toContain(hint);
  expect((await at.run(RUNS)).json).toMatchObject([{ state: 'finished', done, left: 0 }]);
});
