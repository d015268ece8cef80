/**
 * The standalone executable: dist/ and a Node in one file, for people without Node. Made on Linux, by the Node that is
 * in it, which is installed in standalone/node_modules. Needs the build.
 *
 *   npm run build -- --standalone [OUTPUT]
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from './package.ts';

const NODE = join(ROOT, `standalone/node_modules/node-linux-${process.arch}/bin/node`);
const START = join(ROOT, 'bin/start.js');
const DIST = join(ROOT, 'dist');

/** What V8 compiles of these is in the executable; other commands compile the rest when they need it. */
const COMMANDS: readonly string[] = [
  '--version',
  '--help',
  'inventory list',
  'inventory list --json',
  'inventory get 7',
  'inventory set 7 12',
];

const output = resolve(ROOT, process.argv[2] ?? 'standalone/petstore');
execFileSync('npm', ['ci', '--prefix', 'standalone', '--ignore-scripts', '--no-audit', '--no-fund'], {
  cwd: ROOT,
  stdio: ['ignore', 'ignore', 'inherit'],
});
const folder = mkdtempSync(join(tmpdir(), 'petstore-standalone-'));
try {
  const code = await compile();
  const modules = readdirSync(DIST).filter((name) => name.endsWith('.cjs'));
  const config = {
    main: join(ROOT, 'standalone/start.js'),
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    // NODE_OPTIONS is for people who have a Node.
    execArgvExtension: 'none',
    assets: Object.fromEntries([...modules.map((name) => [`./${name}`, join(DIST, name)] as const), ...code]),
  };
  const file = join(folder, 'sea.json');
  writeFileSync(file, JSON.stringify(config));
  mkdirSync(join(output, '..'), { recursive: true });
  execFileSync(NODE, ['--build-sea', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  console.log(`${relative(ROOT, output)}: ${Math.round(statSync(output).size / 1e6)} MB`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Returns the name and file of the code of each module that bin/start.js keeps when the commands are run. */
async function compile(): Promise<(readonly [name: string, file: string])[]> {
  const env = { HOME: folder, XDG_CACHE_HOME: join(folder, 'cache') };
  const server = spawn(NODE, [START, 'sandbox', 'serve', '--port', '0'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const baseUrl = await lineWith(/http:\S+\/v1$/, server.stdout);
    const service = { ...env, PETSTORE_ENV: 'staging', PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: 'sandbox' };
    for (const each of [{ ...env, PETSTORE_ENV: 'sandbox' }, service]) {
      for (const command of COMMANDS) {
        execFileSync(NODE, [START, ...command.split(' ')], { env: each, stdio: ['ignore', 'ignore', 'inherit'] });
      }
    }
  } finally {
    const ended = once(server, 'exit');
    server.kill();
    await ended;
  }
  const [kept = ''] = readdirSync(join(env.XDG_CACHE_HOME, 'petstore'));
  const cache = join(env.XDG_CACHE_HOME, 'petstore', kept);
  return readdirSync(cache).map((name) => {
    // A line, then the code twice.
    const content = readFileSync(join(cache, name));
    const start = content.indexOf(10) + 1;
    const file = join(folder, name);
    writeFileSync(file, content.subarray(start, (start + content.length) / 2));
    return [`./${name}.code`, file] as const;
  });
}

async function lineWith(pattern: RegExp, stream: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(stream)) {
    const [found] = pattern.exec(line) ?? [];
    if (found !== undefined) return found;
  }
  throw new Error('the sandbox has not started');
}
