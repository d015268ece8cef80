/** The nightly jobs and alerts of docs/cron.md, with real processes. The test decides how long an hour is. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { petstoreCommand, runPetstore, startPetstore, type PetstoreOptions } from '../support/binary.ts';
import { listenOnLoopback } from '../support/cleanup.ts';
import { freePort } from '../support/free-port.ts';
import { createHome, fileIn, type Home } from '../support/home.ts';
import { type Served, serveSandbox } from '../support/served.ts';
import { jsonLines } from '../support/staging.ts';

const DOCUMENT = readFileSync(new URL('../../docs/cron.md', import.meta.url), 'utf8');

/** Returns the code between two markers. */
function code(name: string): string {
  const marked = DOCUMENT.split(`<!-- ${name}: begin -->`)[1]?.split(`<!-- ${name}: end -->`)[0];
  return /```\w+\n([^]*?)```/.exec(marked ?? '')?.[1] ?? '';
}

type Place = Pick<Served, 'baseUrl' | 'apiKey'>;

/** A machine with the script and the crontab of the document, whose mails are files. */
class Machine {
  readonly home: Home = createHome();
  readonly lines: readonly string[];
  private readonly env: Record<string, string> = {};

  constructor() {
    const bin = (name: string, text: string): void => {
      writeFileSync(join(this.home.path, name), text, { mode: 0o755 });
    };
    bin('petstore', `#!/bin/sh\nexec ${petstoreCommand().join(' ')} "$@"\n`);
    bin('mail', `#!/bin/sh\n{ echo "$*"; cat; echo; } >> "$HOME/mails"\n`);
    bin('nightly', code('recipe-nightly').replaceAll('/usr/local/bin', `'${this.home.path}'`));
    const crontab = code('recipe-nightly-crontab').trim().split('\n');
    for (const line of crontab) {
      const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(line) ?? [];
      if (name !== undefined) this.env[name] = value ?? '';
    }
    const jobs = crontab.filter((line) => /^\d/.test(line)).map((line) => line.split(' ').slice(5).join(' '));
    this.lines = jobs.map((line) => line.replace('/usr/local/bin', `'${this.home.path}'`));
  }

  stock(text: string): void {
    writeFileSync(join(this.home.path, 'stock.csv'), text);
  }

  options({ baseUrl, apiKey }: Place): PetstoreOptions {
    const env = { PATH: '/usr/bin:/bin', ...this.env, PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: apiKey };
    return { command: ['sh'], home: this.home, env };
  }

  /** Runs the line of a job as cron does. */
  async run(shop: Place, job: 'import' | 'list', retryFor = '0s', more = ''): Promise<number> {
    const line = this.lines.find((each) => each.includes(`nightly ${job} `)) ?? '';
    expect(line).toContain('--retry-for 50m');
    const scaled = `${line.replace('--retry-for 50m', `--retry-for ${retryFor}`)} ${more}`;
    const { code: exit, stdout, stderr } = await runPetstore(['-c', scaled], this.options(shop));
    // What cron would mail.
    if (stdout + stderr !== '') throw new Error(stdout + stderr);
    return exit ?? -1;
  }

  file(job: string, name: string): string {
    const path = join(this.home.state, 'nightly', job, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  /** Subjects, oldest first. */
  mails(): string[] {
    const path = join(this.home.path, 'mails');
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    return [...text.matchAll(/^-s petstore: (.*) stock@example\.com$/gm)].map(([, subject = '']) => subject);
  }

  /** The exit code of petstore itself, from its log. */
  lastExit(job: string): number | undefined {
    return (JSON.parse(this.file(job, 'log').trim().split('\n').at(-1) ?? '{}') as { exitCode?: number }).exitCode;
  }
}

/** An update whose answer is lost, and no answer to any list after the first. */
const AFTER_FIRST = Array.from({ length: 20 }, (_, i) => ['--fault', `status=500,method=GET,nth=${i + 2}`]);
const LOST = ['--fault', 'reset,after,method=PATCH', ...AFTER_FIRST.flat()];
const ROW = 'petId,quantity\n7,12\n';

describe('nightly, with each exit code made to happen', () => {
  it('0: does its work once a day, and keeps the output', async () => {
    const machine = new Machine();
    const shop = await serveSandbox([], { home: machine.home });
    machine.stock(ROW);
    expect([await machine.run(shop, 'import'), await machine.run(shop, 'list')]).toEqual([0, 0]);
    expect(machine.file('list', 'out')).toContain('\n7,12,available\n');
    const sent = machine.file('import', 'log');
    expect(await machine.run(shop, 'import')).toBe(0);
    expect([machine.file('import', 'log'), machine.mails()]).toEqual([sent, []]);
  });

  it.each([
    [2, 'petId,amount\n7,12\n', [], {}, 'import: exit 2'],
    // The file is not there.
    [3, undefined, [], {}, 'import: exit 3'],
    [4, ROW, [], { apiKey: 'unknown' }, 'import: exit 4'],
    [11, 'petId,quantity\n7,12\n999,1\n', [], {}, 'import: some rows were not applied'],
    [12, ROW, ['--fault', 'status=403'], {}, 'import: the key may be banned; nightly has stopped'],
  ])('%i: mails once a day', async (exit, stock, fault, other, subject) => {
    const machine = new Machine();
    const shop = await serveSandbox(fault, { home: machine.home });
    if (stock !== undefined) machine.stock(stock);
    for (let i = 0; i < 2; i++) await machine.run({ ...shop, ...other }, 'import');
    expect([machine.lastExit('import'), machine.mails()]).toEqual([exit, [subject]]);
    const isStopped = existsSync(join(machine.home.state, 'nightly/import/stop'));
    expect([machine.file('import', 'done') !== '', isStopped]).toEqual([exit === 11, exit === 12]);
  });

  it.each([
    [6, ['--fault', 'status=429,retry-after=600'], '--no-wait'],
    [8, ['--fault', 'status=500'], ''],
    [9, LOST, ''],
  ])('%i: is silent, and continues with the next run', async (exit, faults, more) => {
    const machine = new Machine();
    const shop = await serveSandbox(faults, { home: machine.home });
    machine.stock(ROW);
    await machine.run(shop, 'import', '0s', more);
    expect([machine.lastExit('import'), machine.file('import', 'tries'), machine.mails()]).toEqual([
      exit,
      `${exit}\n`,
      [],
    ]);
  });

  it('7: is silent three times, and mails the fourth', async () => {
    const machine = new Machine();
    machine.stock(ROW);
    const away = { baseUrl: `http://127.0.0.1:${await freePort()}/v1`, apiKey: 'sandbox' };
    const mails = [];
    for (let i = 0; i < 5; i++) {
      await machine.run(away, 'import');
      mails.push(machine.mails().length);
    }
    expect([mails, machine.mails()]).toEqual([[0, 0, 0, 1, 1], ['import: exit 7, four times']]);
    // Done, with rows that were not applied: the failures of the next night are counted from one.
    machine.stock(`${ROW}999,1\n`);
    await machine.run(await serveSandbox([], { home: machine.home }), 'import');
    expect([machine.lastExit('import'), machine.file('import', 'tries')]).toEqual([11, '']);
  });

  it('143: the next run continues; and only one runs at a time', async () => {
    const machine = new Machine();
    const shop = await serveSandbox(['--fault', 'delay=90s,method=GET,times=1'], { home: machine.home });
    machine.stock(ROW);
    const line = machine.lines[0]!.replace(' petstore ', () => ` sh -c 'echo $$ >pid; exec petstore "$@"' petstore `);
    const first = startPetstore(['-c', line], machine.options(shop));
    await expect.poll(() => machine.file('import', 'log')).toContain('"start"');
    // The second leaves at once.
    expect([await machine.run(shop, 'import'), machine.file('import', 'tries')]).toEqual([0, '']);
    process.kill(Number(machine.file('import', 'pid')), 'SIGTERM');
    await first.exited;
    expect([machine.lastExit('import'), machine.file('import', 'tries'), machine.mails()]).toEqual([143, '143\n', []]);
    await machine.run(shop, 'import');
    expect([machine.lastExit('import'), machine.file('import', 'tries')]).toEqual([0, '']);
  });
});

it('a night: the service goes down for more than an hour, answers 429, loses answers, and comes back', async () => {
  const machine = new Machine();
  const log = join(machine.home.path, 'service.log');
  const port = await freePort();
  const faults = ['reset,after,method=PATCH,p=0.1', 'status=429,retry-after=3,method=PATCH,nth=20'];
  // The first import is held before its end.
  const hold = 'delay=90s,nth=60';
  const options = ['--port', `${port}`, '--minute', '2s', '--log', log];
  const serve = (rules: readonly string[], ...more: string[]): Promise<Served> =>
    serveSandbox([...options, ...rules.flatMap((rule) => ['--fault', rule]), ...more], { home: machine.home });
  let shop = await serve([...faults, hold], '--seed', '150');
  const columns = ['--columns', 'petId,quantity', '-o', 'csv', '--no-header'];
  /** The quantity of each pet, whose id keeps its digits. */
  const stock = async (): Promise<Map<string, number>> => {
    const sandbox = { home: machine.home, env: { PETSTORE_ENV: 'sandbox' } };
    const { stdout } = await runPetstore(['inventory', 'list', ...columns], sandbox);
    const rows = stdout.trim().split('\n').map((row) => row.split(',')); // prettier-ignore
    return new Map(rows.map(([petId = '', quantity]) => [petId, Number(quantity)]));
  };
  const wanted = new Map([...(await stock())].map(([petId, quantity]) => [petId, quantity + 1]));
  // A delivery, which must not be begun a second time.
  machine.stock(`petId,delta\n${[...wanted.keys()].map((petId) => `${petId},1\n`).join('')}`);
  const answered = () => jsonLines<{ status: number }>(readFileSync(log, 'utf8'));

  // Hour 1, an hour being 4 s: the service goes down in the middle of the import, for longer than --retry-for.
  const first = machine.run(shop, 'import', '2s');
  await expect.poll(() => answered().length).toBeGreaterThan(40);
  shop.kill('SIGKILL');
  await shop.exited;
  expect(await first).toBe(0);
  // 9: it went away with updates on their way.
  expect(machine.file('import', 'tries')).toMatch(/^[79]\n$/);
  // Hour 2: it is still away.
  await machine.run(shop, 'list', '1s');
  await machine.run(shop, 'import', '1s');
  expect([machine.lastExit('list'), machine.lastExit('import')]).toEqual([7, 7]);
  // Hour 3: it comes back while the import already tries.
  const third = machine.run(shop, 'import', '30s');
  await expect.poll(() => machine.file('import', 'log').match(/"start"/g)?.length).toBe(3);
  shop = await serve(faults);
  expect(await third).toBe(0);
  // The rest of the night.
  for (let hour = 4; hour <= 6; hour++)
    for (const job of ['import', 'list'] as const) await machine.run(shop, job, '2s');

  expect([machine.lastExit('import'), machine.lastExit('list'), machine.mails()]).toEqual([0, 0, []]);
  expect(machine.file('list', 'out')).toMatch(/^petId,quantity,status\n1,/);
  expect(await stock()).toEqual(wanted);
  // No strike: after a 429 nothing comes before its time.
  expect(answered().filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  const keys = await runPetstore(['sandbox', 'keys', '--json'], { home: machine.home });
  expect((JSON.parse(keys.stdout) as { early: number }[]).map(({ early }) => early)).toEqual([0]);
});

describe('the recipes of alerts', () => {
  it('mail, Slack and a webhook get the pet', async () => {
    const machine = new Machine();
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (piece: string) => bodies.push(piece));
      request.on('end', () => response.end('ok'));
    });
    const address = `http://127.0.0.1:${await listenOnLoopback(server)}/`;
    for (const name of ['mail', 'slack', 'webhook']) {
      const path = fileIn(machine.home, 'alert', code(`recipe-alert-${name}`), 0o755);
      const { code: exit, stderr } = await runPetstore(['wait', '--pet', '7', '--min', '0', '--exec', `'${path}'`], {
        home: machine.home,
        env: {
          PETSTORE_ENV: 'sandbox',
          PATH: `${machine.home.path}:/usr/bin:/bin`,
          SLACK_WEBHOOK: address,
          WEBHOOK: address,
        },
      });
      expect([exit, stderr]).toEqual([0, '']);
    }
    const pet = [{ petId: 7, quantity: 10, status: 'available' }];
    expect(readFileSync(join(machine.home.path, 'mails'), 'utf8')).toContain(JSON.stringify(pet));
    const [slack, webhook] = bodies.map((body) => JSON.parse(body) as { text: string });
    expect([JSON.parse(slack?.text ?? ''), webhook]).toEqual([pet, pet]);
  });
});
