/**
 * Runs all benchmarks: compares each figure with peers, as a ratio with the median and the spread. Prints Markdown on
 * stdout; --write updates the tables of docs/internals/performance.md, whose blocks have the names of the parts.
 *
 *   npm run bench [-- PART...] [--assert] [--write]
 *
 * Passes a part's own options on to it if it is the only one. Omits peers that are not installed; install http-proxy-3
 * with `npm ci --prefix test/conformance --ignore-scripts`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { replacePart } from '../../src/build/docs.ts';
import { answerHelp, versionOf } from './report.ts';

const PAGE = fileURLToPath(new URL('../../docs/internals/performance.md', import.meta.url));
const PARTS: Readonly<Record<string, string>> = {
  startup: 'Start-up',
  sizes: 'Sizes',
  lists: 'Long lists',
  browse: 'A long list on the screen',
  ledger: 'What the shared ledger adds to one list',
  proxy: 'The proxy beside a plain one',
  import: 'A stocktake of many rows on one key',
};
const STANDALONE_TOO: ReadonlySet<string> = new Set(['startup', 'sizes', 'lists']);
const PEERS = ['curl', 'jq', 'gh', 'http', 'bash'];

const args = process.argv.slice(2);
const chosen = args.filter((arg) => arg in PARTS);
answerHelp(chosen.length === 1 ? new URL(`./${chosen[0]}.ts`, import.meta.url).href : import.meta.url);
const parts = chosen.length > 0 ? chosen : Object.keys(PARTS);
const forAll = args.filter((arg) => arg === '--assert');
const own = args.filter((arg) => !(arg in PARTS) && arg !== '--write' && arg !== '--assert');
if (own.length > 0 && parts.length > 1) throw new Error(`${own.join(' ')}: options are of one part; name it`);

// What is not for this system is left out, as other peers are.
if (process.platform === 'linux' && parts.some((part) => STANDALONE_TOO.has(part))) {
  execFileSync('npm', ['run', '--silent', 'build', '--', '--standalone'], { stdio: ['ignore', 'ignore', 'inherit'] });
}
console.log(`${machine()}\n`);
for (const part of parts) {
  const script = fileURLToPath(new URL(`./${part}.ts`, import.meta.url));
  const { status, stdout } = spawnSync(process.execPath, [script, ...own, ...forAll], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  console.log(`## ${PARTS[part]}\n\n${stdout}`);
  if (status !== 0) process.exitCode = 1;
  else if (args.includes('--write')) await writeTable(part, stdout);
}
if (args.includes('--write')) await writeTable('machine', machine());

function machine(): string {
  const cpu = cpus();
  const versions = PEERS.flatMap((name) => {
    const version = versionOf(name);
    return version === undefined ? [] : [`${name === 'http' ? 'httpie' : name} ${version}`];
  });
  const memory = Math.round(totalmem() / 2 ** 30);
  return [
    `Node ${process.versions.node}; ${versions.join(', ')}.`,
    `${type()} ${release()}, ${cpu.length} × ${cpu[0]?.model ?? 'unknown'}, ${memory} GiB.`,
  ].join(' ');
}

async function writeTable(part: string, block: string): Promise<void> {
  const written = replacePart(readFileSync(PAGE, 'utf8'), `bench-${part}`, block.trim());
  writeFileSync(PAGE, await format(written, { ...(await resolveConfig(PAGE)), parser: 'markdown' }));
}
