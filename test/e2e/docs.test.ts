/** Every line of shell, recipe, link and anchor in README.md and docs/ works as written. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { EXIT } from '../../src/errors.ts';
import { PLANS } from '../../src/sandbox/plans.ts';
import { optionsAt, pathsOf } from '../../src/cli/help/tree.ts';
import { buildTree } from '../../src/commands/command-tree.ts';
import { seedItems } from '../../src/sandbox/seed.ts';
import { petstoreCommand, runPetstore, startPetstore } from '../support/binary.ts';
import { createHome, fileIn, type Home } from '../support/home.ts';
import { runIn } from '../support/in-process.ts';
import { type RealSandbox, realSandbox } from '../support/real-sandbox.ts';
import { patch, type Served, serveSandbox } from '../support/served.ts';
import { freePort, isListening } from '../support/free-port.ts';
import { createTestContext } from '../support/test-context.ts';
import { caFile, tlsIdentities } from '../support/tls.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Path below the root -> its text. */
const DOCUMENTS = new Map(
  ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/**/*.md', { cwd: ROOT })].map((path) => [
    path,
    readFileSync(join(ROOT, path), 'utf8'),
  ]),
);
const ALL = [...DOCUMENTS.values()].join('\n');

/** Returns the code between two markers. */
function code(name: string): string {
  const marked = ALL.split(`<!-- ${name}: begin -->`)[1]?.split(`<!-- ${name}: end -->`)[0];
  const found = /```\w+\n([^]*?)```/.exec(marked ?? '')?.[1];
  if (found === undefined) throw new Error(`no document has the code ${name}`);
  return found;
}

/** A PATH on which `petstore` is the one under test. */
function pathIn(home: Home): string {
  fileIn(home, 'petstore', `#!/bin/sh\nexec ${petstoreCommand().join(' ')} "$@"\n`, 0o755);
  return `${home.path}:${process.env.PATH ?? ''}`;
}

/** Runs lines of shell as a user does, with `petstore` on the PATH. */
function runShell(home: Home, lines: string) {
  const env = { PATH: pathIn(home) };
  return runPetstore(['-e', '-c', lines], { command: ['sh'], home, cwd: home.path, env });
}

it('curl alone walks through every status of the service', async () => {
  const home = createHome();
  const port = await freePort();
  const walk = code('walk').replaceAll('4010', String(port)).replace('sandbox serve', `sandbox serve --port ${port}`);
  const expected = [...walk.matchAll(/^ask .*# (\d+.*)$/gm)].map(([, answer = '']) => answer);
  const ran = await runShell(home, walk);
  // On a slow machine a part of the window has passed.
  const answers = ran.stdout.split('\n').filter((line) => /^\d{3}\b/.test(line));
  expect([ran.code, answers.map((line) => line.trim().replace(/^429 [1-5]?\d$/, '429 60'))]).toEqual([0, expected]);
  expect(new Set(expected.map((line) => line.slice(0, 3)))).toEqual(
    new Set(['200', '400', '401', '404', '429', '403']),
  );
});

describe('the blocks that run as a whole', () => {
  it.each([
    ['tour-script', 'exit 13: something is sold out'],
    ['tour-catalog', 'Goldfish'],
    ['tour-low', '30'],
    ['tour-charts', '█'],
    ['tour-causes', 'died,sandbox,1,0,2,-2'],
    ['fixture', '9223372036854775807'],
  ])('%s: every line does what it says', async (name, shown) => {
    const { code: exit, stdout, stderr } = await runShell(createHome(), code(name));
    expect([exit, stderr.match(/^error:.*/gm)]).toEqual([0, null]);
    expect(stdout).toContain(shown);
  });
});

describe('the clients of the proxy', () => {
  const run = (home: Home, token: string, command: readonly [string, ...string[]], text: string) =>
    runPetstore([text], { command, home, env: { PATH: process.env.PATH, TOKEN: token } });

  it('work as they are', async () => {
    const home = createHome();
    const proxy = startPetstore(['proxy', '--env', 'sandbox', '--port', '0', '--json'], { home });
    await proxy.waitFor(/\n/, 'stdout');
    const { baseUrl, token } = JSON.parse(proxy.stdout) as { baseUrl: string; token: string };
    const client = (name: string): string => code(name).replaceAll('http://127.0.0.1:4011/v1', baseUrl);
    const listed = await run(home, token, ['sh', '-c'], client('recipe-proxy-curl'));
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining('9223372036854775807')]);
    const sold = await run(home, token, ['sh', '-c'], client('recipe-proxy-condition'));
    expect([sold.code, sold.stdout]).toEqual([0, expect.stringContaining('"quantity":9')]);
    const refused = await run(home, token, ['sh', '-c'], client('recipe-proxy-condition'));
    expect([refused.code, refused.stdout]).toEqual([22, expect.stringContaining('"code":"precondition_failed"')]);
    const module = ['--input-type=module', '-e'] as const;
    const changed = await run(home, token, [process.execPath, ...module], client('recipe-proxy-node'));
    expect([changed.code, changed.stderr, changed.stdout]).toEqual([0, '', expect.stringContaining('"quantity":12')]);
    const script = client('recipe-proxy-python');
    const hasRequests = (await run(home, token, ['python3', '-c'], 'import requests')).code === 0;
    // Python's own client does the same where requests is not installed: only its syntax is checked then.
    const read = await run(
      home,
      token,
      ['python3', '-c'],
      hasRequests ? script : `compile(${JSON.stringify(script)}, '', 'exec')`,
    );
    expect([read.code, read.stderr, read.stdout]).toEqual([0, '', hasRequests ? '25 pets\n' : '']);
    const history = await runPetstore(['inventory', 'history', '--env', 'sandbox', '--json'], { home });
    expect(history.stdout).toContain('stock-page');
    proxy.kill('SIGTERM');
    expect((await proxy.exited).code).toBe(0);
  });

  it('are served by the systemd unit', async () => {
    const home = createHome();
    const shop = await serveSandbox([], { home });
    const words = (/^ExecStart=petstore (.*)$/m.exec(code('recipe-proxy-unit'))?.[1] ?? '').replaceAll('%h', home.path);
    mkdirSync(join(home.path, '.config'), { recursive: true });
    mkdirSync(join(home.path, '.local/state'), { recursive: true });
    const env = { PETSTORE_BASE_URL: shop.baseUrl, PETSTORE_API_KEY: shop.apiKey };
    const proxy = startPetstore([...words.split(' '), '--port', '0'], { home, env });
    await proxy.waitFor(/Press Ctrl-C/, 'stdout');
    expect(proxy.stdout).toContain('petstore-proxy-token');
    proxy.kill('SIGTERM');
    expect((await proxy.exited).code).toBe(0);
  });
});

describe('the gateway', () => {
  /** A home with a certificate and tokens in place of the paths of the documents. */
  async function gateway() {
    const home = createHome();
    const shop = await serveSandbox([], { home });
    const { cert, key } = tlsIdentities().good;
    writeFileSync(join(home.path, 'gateway.crt'), cert);
    writeFileSync(join(home.path, 'gateway.key'), key);
    writeFileSync(join(home.path, 'gateway.pem'), `${cert}${key}`);
    const added = await runShell(home, code('recipe-gateway-tokens'));
    const [token = ''] = added.stdout.split('\n');
    const here = (text: string): string =>
      text.replace(/\/(?:etc\/petstore|etc\/ssl|var\/lib\/petstore|gateway)\//g, `${home.path}/`);
    const start = async (line: string, more: readonly string[] = ['--host', '127.0.0.1', '--port', '0']) => {
      const [, ...words] = here(line).trim().split(/\s+/);
      const env = { PETSTORE_BASE_URL: shop.baseUrl, PETSTORE_API_KEY: shop.apiKey };
      const proxy = startPetstore([...words, ...more], { home, env, cwd: home.path });
      await proxy.waitFor(/Press Ctrl-C/, 'stdout');
      return { proxy, baseUrl: /https?:\S+/.exec(proxy.stdout)?.[0] ?? '' };
    };
    const till = (baseUrl: string) =>
      runPetstore(['inventory', 'get', '7', '--json'], {
        env: {
          PETSTORE_ENV: 'staging',
          PETSTORE_BASE_URL: baseUrl,
          PETSTORE_API_KEY: token,
          NODE_EXTRA_CA_CERTS: caFile(),
        },
      });
    return { home, here, start, till };
  }

  const units = (): string => /^ExecStart=(.*)$/m.exec(code('recipe-gateway-unit'))?.[1] ?? '';
  const container = (): string => /^ {2}(petstore proxy .*)$/m.exec(code('recipe-gateway-container'))?.[1] ?? '';

  it.each([
    ['a line', () => code('recipe-gateway')],
    ['the unit', units],
    ['the container', container],
  ])('works as %s', async (_name, line) => {
    const { start, till } = await gateway();
    const { proxy, baseUrl } = await start(line());
    const read = await till(baseUrl);
    expect([read.code, read.stderr]).toEqual([0, '']);
    proxy.kill('SIGTERM');
    expect((await proxy.exited).code).toBe(0);
  });

  /** What each server behind which the gateway may be is given to read, and how it is started. */
  const balancers = {
    nginx: (folder: string, port: number, gateway: URL) => {
      const site = code('recipe-gateway-nginx')
        .replace('listen 443', `listen 127.0.0.1:${port}`)
        .replace('http://127.0.0.1:4011', gateway.origin);
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${folder}/${name};`)
        .join(' ');
      const start = `daemon off; pid ${folder}/pid; error_log stderr; events {}`;
      return { config: `${start} http { access_log off; ${temporary} ${site} }`, flags: ['-e', 'stderr', '-c'] };
    },
    haproxy: (_folder: string, port: number, gateway: URL) => {
      const config = code('recipe-gateway-haproxy')
        .replace('bind :443', `bind 127.0.0.1:${port}`)
        .replace('127.0.0.1:4011', gateway.host);
      return { config, flags: ['-f'] };
    },
  };

  it.each(Object.entries(balancers).filter(([name]) => existsSync(`/usr/sbin/${name}`)))(
    'works behind %s',
    async (name, configure) => {
      const { home, here, start, till } = await gateway();
      const { baseUrl } = await start('petstore proxy --env production --tokens tokens --allow-host localhost');
      const port = await freePort();
      const { config, flags } = configure(home.path, port, new URL(baseUrl));
      const file = fileIn(home, 'balancer.conf', here(config));
      const balancer = startPetstore([...flags, file], { command: [`/usr/sbin/${name}`], home });
      while (!(await isListening(port))) continue;
      const read = await till(`https://localhost:${port}/v1`);
      expect([read.code, read.stderr]).toEqual([0, '']);
      balancer.kill('SIGTERM');
      await balancer.exited;
      expect(balancer.stderr).not.toContain('is DOWN');
    },
  );
});

/** Returns every line of shell that is not run as a whole elsewhere, without duplicates. */
function lines(): string[] {
  const rest = ALL.replace(/<!-- (walk|fixture|recipe-[\w-]+|tour-\w+): begin -->[^]*?<!-- \1: end -->/g, '');
  const blocks = [...rest.matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) => block);
  const found = blocks.flatMap((block) => block.split('\n')).map((line) => line.replace(/\s{2,}#.*$/, '').trim());
  return [...new Set(found.filter(Boolean))];
}

/** A home with the files that the documents name, and a service. */
async function prepared(): Promise<{ home: Home; shop: RealSandbox }> {
  const home = createHome();
  const shop = await realSandbox(PLANS.free);
  writeFileSync(join(home.path, 'key.txt'), 'sandbox\n');
  writeFileSync(join(home.path, 'stock.csv'), 'petId,quantity\n7,12\n');
  writeFileSync(join(home.path, 'delivery.csv'), 'petId,delta\n7,3\n');
  writeFileSync(join(home.path, 'order.csv'), 'Article;Pieces\n7;3\n');
  // In place of the password manager of the examples.
  writeFileSync(join(home.path, 'pass'), `#!/bin/sh\necho '${shop.apiKey}'\n`, { mode: 0o755 });
  return { home, shop };
}

/** No terminal for a prompt, no earlier run to stop or undo, and the domain of the example has no such record. */
function expectUnderstood(
  line: string,
  { code: exit, stderr }: { readonly code: number | null; readonly stderr: string },
) {
  const expected =
    /^petstore login( --profile \w+)?$|inventory edit|inventory browse|import (?!.*--(yes|dry-run))|inventory count|runs \w+|undo|redo/.test(
      line,
    )
      ? [2, 130]
      : /wait/.test(line)
        ? [0, 13, 130]
        : [0, 3, 13, 130];
  expect([line, exit, stderr]).toEqual([line, expect.toBeOneOf(expected), stderr]);
  expect(stderr).not.toMatch(/Unknown (option|command)|[Mm]issing| must be .*, not "|bug in petstore/);
}

describe('each other line of shell', () => {
  /** Commands that run until they are stopped, and the output that shows that they work. */
  const ENDLESS = /sandbox serve|--watch|^petstore (wait|proxy)|inventory count/;
  /** Words that no shell changes; what asks the network itself has none here. */
  const isPlain = (line: string): boolean =>
    /^petstore [\w ./:,=-]*$/.test(line) && !ENDLESS.test(line) && line !== 'petstore doctor';

  it.each(lines().filter(isPlain))('%s', async (line) => {
    const { home, shop } = await prepared();
    const context = createTestContext({ home, env: shop.env });
    const words = line.split(' ').map((word) => (/^\w+\.(csv|xml)$/.test(word) ? join(home.path, word) : word));
    expectUnderstood(line, await runIn(context, ...words.slice(1)));
  });

  it.each(lines().filter((line) => !isPlain(line)))('%s', async (line) => {
    if (/^npm/.test(line)) {
      const scripts = Object.keys(
        (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object }).scripts,
      );
      const named = [...line.matchAll(/npm run ([\w:]+)/g)].map(([, script = '']) => script);
      expect(named.filter((script) => !scripts.includes(script))).toEqual([]);
      return;
    }
    const { home, shop } = await prepared();
    const real = line
      .replaceAll('https://staging.example.com/v1', shop.baseUrl)
      .replaceAll('http://127.0.0.1:4010', shop.baseUrl.replace('/v1', ''))
      .replace(/(sandbox serve|petstore proxy)( --port \d+)?/, '$1 --port 0');
    const running = startPetstore(['-c', real.replace(/^petstore/, 'exec petstore')], {
      command: ['sh'],
      home,
      cwd: home.path,
      stdin: null,
      env: { PATH: pathIn(home), ...shop.env },
    });
    if (ENDLESS.test(line)) {
      await running.waitFor(/\S/).catch(() => undefined);
      running.kill('SIGINT');
    }
    expectUnderstood(line, await running.exited);
  });
});

interface Job {
  readonly env?: Readonly<Record<string, string>>;
  readonly variables?: Readonly<Record<string, string>>;
  readonly before_script?: readonly string[];
  readonly script?: readonly string[];
  readonly retry?: { readonly exit_codes: readonly number[] };
  readonly steps?: readonly { readonly run?: string; readonly uses?: string }[];
}

describe('the recipes for CI, from the install to the report', () => {
  const INSTALL = 'npm install --prefix ~/petstore "$PACKAGE_OF_PETSTORE"';

  /** What a runner does with the lines: one shell, which ends with the first that fails. */
  const inShell = (home: Home, lines: readonly string[], env: Readonly<Record<string, string | undefined>>) =>
    runPetstore(['-e', '-c', lines.join('\n')], {
      command: ['sh'],
      home,
      cwd: home.path,
      env: { GITHUB_PATH: '/dev/null', PATH: process.env.PATH, ...env },
    });

  /** Where a package is after the line that installs it. */
  let installed: string;
  beforeAll(async () => {
    installed = mkdtempSync(join(tmpdir(), 'petstore-recipes-'));
    // Scripts stay off: the build is there already.
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', installed];
    const packed = JSON.parse(
      execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    ) as { filename: string }[];
    const env = { PACKAGE_OF_PETSTORE: join(installed, packed[0]!.filename), HOME: installed };
    expect(await inShell(createHome(), [INSTALL], env)).toMatchObject({ code: 0 });
  });
  afterAll(() => {
    rmSync(installed, { recursive: true, force: true });
  });

  /** Runs the lines after the install. */
  async function run(lines: readonly string[], env: Readonly<Record<string, string>>, fault: readonly string[] = []) {
    expect(lines[0]).toMatch(/^npm install --prefix ~\/petstore "\$PACKAGE_OF_PETSTORE"(\necho .*)?\n?$/);
    const home = createHome();
    symlinkSync(join(installed, 'petstore'), join(home.path, 'petstore'));
    const staging = await serveSandbox(fault, { home });
    const finished = await inShell(home, lines.slice(1), {
      PATH: `${join(home.path, 'petstore/node_modules/.bin')}:${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
      PETSTORE_BASE_URL: staging.baseUrl,
      PETSTORE_API_KEY: staging.apiKey,
      ...env,
    });
    return { ...finished, report: readFileSync(join(home.path, 'report.xml'), 'utf8') };
  }

  function literal(env: Job['env'] = {}): Record<string, string> {
    return Object.fromEntries(Object.entries(env).filter(([, value]) => !value.includes('${{')));
  }

  const github = (): Job => (parse(code('recipe-github')) as { jobs: { smoke: Job } }).jobs.smoke;
  const gitlab = (): Job => (parse(code('recipe-gitlab')) as Record<string, Job>)['petstore-contract']!;
  interface Action {
    readonly inputs: Readonly<Record<string, { readonly default?: string }>>;
    readonly runs: { readonly steps: NonNullable<Job['steps']> };
  }
  const action = (): Action => parse(readFileSync(join(ROOT, '.github/actions/smoke/action.yml'), 'utf8')) as Action;
  const githubLines = (): string[] => action().runs.steps.flatMap(({ run: line }) => line ?? []);
  const githubEnv = (): Record<string, string> => ({
    ...literal(github().env),
    SMOKE_ARGUMENTS: action().inputs.arguments!.default!,
    SMOKE_REPORT: action().inputs.report!.default!,
  });
  const gitlabLines = (): string[] => [...gitlab().before_script!, ...gitlab().script!];

  it('installs a git address, whose build needs devDependencies', async () => {
    const home = createHome();
    const repository = join(home.path, 'repository');
    mkdirSync(join(repository, 'tool'), { recursive: true });
    writeFileSync(join(repository, 'tool/package.json'), '{"name":"tool","version":"1.0.0"}');
    writeFileSync(join(repository, 'shop.js'), '');
    const scripts = { prepare: `node -e "require('tool/package.json')"` };
    const shop = { name: 'shop', version: '1.0.0', bin: 'shop.js', scripts, devDependencies: { tool: 'file:tool' } };
    writeFileSync(join(repository, 'package.json'), JSON.stringify(shop));
    const git = 'git init -q . && git add . && git -c user.name=a -c user.email=a@b.example commit -qm 1';
    execFileSync('sh', ['-c', git], { cwd: repository });
    const env = { PACKAGE_OF_PETSTORE: `git+file://${repository}` };
    const { code: exit, stderr } = await inShell(home, [INSTALL], env);
    const isThere = existsSync(join(home.path, 'petstore/node_modules/.bin/shop'));
    expect([exit, stderr, isThere]).toEqual([0, stderr, true]);
  });

  it('GitHub Actions: passes on a service that keeps its contract, with actions pinned by hash', async () => {
    const { code: exit, stdout, report } = await run(githubLines(), githubEnv());
    expect([exit, stdout.match(/^::error/gm)]).toEqual([0, null]);
    expect(report).toMatch(/<testsuite .* failures="0"/);
    const used = [...github().steps!, ...action().runs.steps].flatMap(({ uses }) => uses ?? []);
    expect(used).toContain('./petstore/.github/actions/smoke');
    expect(used.filter((each) => !/^\.\/|^actions\/[a-z-]+@[0-9a-f]{40}$/.test(each))).toEqual([]);
  });

  it('GitHub Actions: annotates what it finds', async () => {
    const broken = ['--fault', 'no-header=limits'];
    const { code: exit, stdout } = await run(githubLines(), githubEnv(), broken);
    const found = ['limit-headers', 'error-limits'].map((id) => `::error title=petstore smoke staging ${id}::`);
    expect([exit, stdout.match(/^::error title=.*?::/gm)]).toEqual([13, found]);
  });

  it('GitLab CI: leaves its report, whether it passes or not', async () => {
    const good = await run(gitlabLines(), literal(gitlab().variables));
    expect([good.code, /failures="(\d+)"/.exec(good.report)?.[1]]).toEqual([0, '0']);
    const bad = await run(gitlabLines(), literal(gitlab().variables), ['--fault', 'no-header=limits']);
    expect([bad.code, /failures="(\d+)"/.exec(bad.report)?.[1]]).toEqual([13, '2']);
  });

  it('GitLab CI: tries again where the network or the service failed, and leaves its report', async () => {
    const lines = gitlabLines().map((line) => line.replace('--wait-ready 60s', '--wait-ready 1ms'));
    const away = { PETSTORE_BASE_URL: `http://127.0.0.1:${await freePort()}/v1` };
    const network = await run(lines, { ...literal(gitlab().variables), ...away });
    const service = await run(lines, literal(gitlab().variables), ['--fault', 'status=503']);
    expect(gitlab().retry?.exit_codes).toEqual([network.code, service.code]);
    for (const { report } of [network, service]) expect(report).toContain('failures="0" errors="1"');
  });
});

describe('the recipe for cron', () => {
  interface Run {
    readonly subject: string | undefined;
    readonly text: string;
    readonly code: number | null;
  }

  /** The job, as cron starts it, on a machine whose mail goes to a file. */
  async function cron(
    fault: readonly string[] = [],
    recipe = 'recipe-cron',
  ): Promise<{ job: (env?: Record<string, string>) => Promise<Run>; home: Home; shop: Served }> {
    const home = createHome();
    const shop = await serveSandbox(['--ban-after', '1', ...fault], { home });
    pathIn(home);
    writeFileSync(join(home.path, 'mail'), `#!/bin/sh\n{ echo "$*"; cat; } > "$HOME/sent"\n`, { mode: 0o755 });
    const job = async (env = {}): Promise<Run> => {
      rmSync(join(home.path, 'sent'), { force: true });
      const { code: exit } = await runPetstore(['-c', code(recipe).replace('/usr/local/bin', home.path)], {
        command: ['sh'],
        home,
        env: {
          // cron's own.
          PATH: '/usr/bin:/bin',
          MAILTO: 'stock@example.com',
          PETSTORE_ENV: 'production',
          PETSTORE_BASE_URL: shop.baseUrl,
          PETSTORE_API_KEY: shop.apiKey,
          ...env,
        },
      });
      const sent = existsSync(join(home.path, 'sent')) ? readFileSync(join(home.path, 'sent'), 'utf8') : '';
      const [head, ...lines] = sent.split('\n');
      return {
        subject: /^-s petstore: (.*) stock@example\.com$/.exec(head ?? '')?.[1],
        text: lines.join('\n'),
        code: exit,
      };
    };
    return { job, home, shop };
  }

  it('mails low stock, and nothing else that is well', async () => {
    const { job } = await cron();
    const low = await job();
    expect([low.code, low.subject]).toEqual([0, 'low stock']);
    expect(low.text).toContain('9223372036854775807');
    expect(low.text).not.toContain('error:');
  });

  it('mails what to order, and nothing where there is enough', async () => {
    const { job, home, shop } = await cron([], 'recipe-order');
    const env = { PETSTORE_ENV: 'production', PETSTORE_BASE_URL: shop.baseUrl };
    const stdin = 'petId,name,min,target\n2,Guppy,10,30\n7,Goldfish,4,20\n19,Axolotl,1,\n';
    await runPetstore(['catalog', 'import', '-'], { home, env, stdin });
    expect(await job()).toEqual({
      subject: 'order list',
      text: 'petId,name,quantity,order\n19,Axolotl,0,1\n2,Guppy,3,27\n',
      code: 0,
    });
    for (const petId of [2n, 19n]) await patch(shop, petId, 50);
    expect(await job()).toEqual({ subject: undefined, text: '', code: 0 });
  });

  it('mails the same list once, then what changes, and when it is over', async () => {
    const { job, shop } = await cron();
    const subjects = async (): Promise<(string | undefined)[]> => [(await job()).subject, (await job()).subject];
    expect(await subjects()).toEqual(['low stock', undefined]);
    const low = seedItems().filter(({ quantity }) => quantity <= 2n);
    await patch(shop, low.pop()!.petId, 50);
    expect(await subjects()).toEqual(['low stock', undefined]);
    for (const { petId } of low) await patch(shop, petId, 50);
    expect(await subjects()).toEqual(['no low stock', undefined]);
  });

  it('is silent about what passes, and mails when it has lasted for an hour, once', async () => {
    const { job } = await cron();
    const away = { PETSTORE_BASE_URL: `http://127.0.0.1:${await freePort()}/v1` };
    const subjects = [];
    for (let i = 0; i < 5; i++) subjects.push((await job(away)).subject);
    expect(subjects).toEqual([undefined, undefined, undefined, 'failing for an hour', undefined]);
    expect((await job()).subject).toBe('low stock');
    expect((await job(away)).subject).toBeUndefined();
  });

  it('stops for good when the key may be banned, until a person has looked', async () => {
    const { job, home } = await cron(['--fault', 'status=403']);
    expect((await job()).subject).toBe('the key may be banned; low-stock has stopped');
    expect((await job()).subject).toBeUndefined();
    rmSync(join(home.state, 'low-stock', 'stop'));
    // petstore itself sends nothing for an hour after a 403, and says so each time.
    expect((await job()).subject).toBe('the key may be banned; low-stock has stopped');
  });

  it('mails any other failure, with its output', async () => {
    const { job } = await cron();
    const wrong = await job({ PETSTORE_API_KEY: 'nobody' });
    expect([wrong.code, wrong.subject]).toEqual([0, 'exit 4']);
    expect(wrong.text).toContain('refused the API key');
  });

  it('leaves at once while the last one still runs', async () => {
    const { job, home } = await cron();
    const lock = join(home.state, 'low-stock', 'lock');
    mkdirSync(dirname(lock), { recursive: true });
    const holder = startPetstore([lock, '-c', 'echo held; cat'], { command: ['flock'], home, stdin: { open: true } });
    await holder.waitFor(/held/);
    expect(await job()).toEqual({ subject: undefined, text: '', code: 0 });
    holder.endInput();
    await holder.exited;
    expect((await job()).subject).toBe('low stock');
  });
});

/** Returns the commands of a table's column, as they stand in backticks. */
function tableCommands(): string[] {
  const found = [...ALL.matchAll(/^\|.*`(petstore [^`…]+)`/gm)].map(([, command = '']) => command.trim());
  return [...new Set(found)];
}

it.each(tableCommands().map((command) => [command]))(
  'in a table: %s is a call that petstore understands',
  async (command) => {
    const context = createTestContext({ env: { PETSTORE_ENV: 'sandbox' } });
    // What would run until it is stopped is stopped before it begins.
    if (/--watch|^petstore proxy/.test(command)) context.interrupt();
    const [, ...words] = command.replace(/\bID\b/, '7').split(/\s+/);
    const { code: exit, stderr } = await runIn(context, ...words);
    expect(stderr).not.toMatch(/Unknown|[Mm]issing| must be .*, not "/);
    expect(exit).not.toBe(EXIT.bug);
  },
);

describe('links', () => {
  /** Returns the anchors of a document, as they are made from its headings. */
  const anchorsIn = (text: string): string[] =>
    [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replace(/ /g, '-'),
    );

  it.each([...DOCUMENTS.keys(), 'src/README.md', 'standalone/README.md'].map((path) => [path]))(
    'of %s lead somewhere',
    (path) => {
      const text = readFileSync(join(ROOT, path), 'utf8');
      const targets = [...text.matchAll(/(?:\]\(|(?:src|srcset)=")([^)"\s]+)/g)].map(([, target = '']) => target);
      const broken = targets
        .filter((target) => !/^https?:/.test(target))
        .filter((target) => {
          const [file = '', anchor] = target.split('#');
          const found = file === '' ? join(ROOT, path) : join(ROOT, dirname(path), file);
          if (!existsSync(found)) return true;
          return anchor !== undefined && !anchorsIn(readFileSync(found, 'utf8')).includes(anchor);
        });
      expect(broken).toEqual([]);
    },
  );
});

it('commands in sentences have only options that exist', async () => {
  const tree = await buildTree();
  const longestFirst = pathsOf(tree).toSorted((a, b) => b.length - a.length);
  const unknown = [...ALL.matchAll(/`petstore ([^`\n]+)`/g)].flatMap(([, line = '']) => {
    const path = longestFirst.find((each) => ` ${line} `.includes(` ${each} `)) ?? '';
    const names = optionsAt(tree, path).flatMap((option) => option.names);
    const given = [...line.matchAll(/(?<=^| )(?:--[\w-]+|-[a-z])(?=[ =]|$)/g)].map(([name]) => name);
    return given.filter((name) => !names.includes(name)).map((name) => `${line}: ${name}`);
  });
  expect(unknown).toEqual([]);
});

it('README.md is short, and every page of docs/ is linked from it', () => {
  const readme = DOCUMENTS.get('README.md')!;
  expect(readme.split('\n').length).toBeLessThanOrEqual(150);
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(10_240);
  const pages = [...DOCUMENTS.keys()].filter((path) => path.startsWith('docs/'));
  expect(pages.filter((path) => !readme.includes(`(${path})`))).toEqual([]);
});

it.each([
  ['src/README.md', 30],
  ['standalone/README.md', 1],
])('every path that %s names exists', (document, least) => {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const named = [...text.matchAll(/`([\w./-]+(?:\.ts|\.js|\/))`/g)].map(([, path = '']) => path);
  // A file alone is in the folder that was named last.
  let folder = '';
  const missing = named.filter((path) => {
    if (path.endsWith('/')) folder = path;
    return [['src', path], ['src', folder, path], [path]].every((parts) => !existsSync(join(ROOT, ...parts)));
  });
  expect({ named: named.length > least, missing }).toEqual({ named: true, missing: [] });
});
