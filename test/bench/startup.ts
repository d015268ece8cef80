/**
 * How long the program takes to start, as a ratio to a bare `node -e 0` on the same Node in the same run.
 * The commands take turns, so that a machine that slows down slows all of them. Markdown on stdout.
 *
 *   npm run bench:startup [-- --runs 30] [-- --assert] [-- --readme]
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { median, PETSTORE, readArguments, withService } from './service.ts';

const WARM_UPS = 2;
const [BEGIN, END] = ['<!-- performance: begin -->', '<!-- performance: end -->'];
const COMPLETIONS = fileURLToPath(new URL('../../completions/petstore.bash', import.meta.url));

interface Contender {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Highest ratio that --assert accepts. */
  readonly most?: number;
}

const { runs, assert, readme } = readArguments(process.argv.slice(2), 25);
process.exitCode = await withService(({ baseUrl, env }) => {
  const contenders = listContenders(baseUrl).filter(({ command }) => isThere(command[0]));
  return report(contenders, measure(contenders, env)) && assert ? 1 : 0;
});

function listContenders(baseUrl: string): Contender[] {
  const node = process.execPath;
  return [
    { name: '`node -e 0`', command: [node, '-e', '0'] },
    { name: '`petstore --version`', command: [node, PETSTORE, '--version'], most: 1.3 },
    { name: '`petstore --help`', command: [node, PETSTORE, '--help'], most: 1.5 },
    {
      name: '`petstore --env staging inventory list`, 20 rows',
      command: [node, PETSTORE, '--env', 'staging', 'inventory', 'list'],
      most: 3,
    },
    {
      name: '`petstore --env sandbox inventory list`',
      command: [node, PETSTORE, '--env', 'sandbox', 'inventory', 'list'],
    },
    { name: 'TAB for a command (bash)', command: tab('inv'), most: 2.5 },
    { name: 'TAB for a pet (bash)', command: tab('inventory set '), most: 2.5 },
    { name: '`gh --version`', command: ['gh', '--version'] },
    { name: '`curl … | jq`, the same 20 rows', command: ['sh', '-c', `curl -s ${baseUrl}/inventory | jq -c '.[]'`] },
  ];
}

/** What bash does when TAB is pressed, in a bash of its own. */
function tab(line: string): [string, ...string[]] {
  const script = `source ${COMPLETIONS}; petstore() { ${process.execPath} ${PETSTORE} "$@"; }
    COMP_WORDS=(petstore "$@"); COMP_CWORD=$#; _petstore; ((\${#COMPREPLY[@]}))`;
  return ['bash', '--norc', '-c', script, 'bash', ...line.split(' ')];
}

function isThere(program: string): boolean {
  const needed = program === 'sh' ? ['curl', 'jq'] : [program];
  return needed.every((each) => spawnSync(each, ['--version'], { stdio: 'ignore' }).error === undefined);
}

/** Wall time of each run, ms, in the order of the contenders. */
function measure(contenders: readonly Contender[], env: NodeJS.ProcessEnv): number[][] {
  const times: number[][] = contenders.map(() => []);
  for (let run = -WARM_UPS; run < runs; run++) {
    for (const [i, { name, command }] of contenders.entries()) {
      const started = process.hrtime.bigint();
      const { status, stderr } = spawnSync(command[0], command.slice(1), { env, stdio: ['ignore', 'ignore', 'pipe'] });
      const ms = Number(process.hrtime.bigint() - started) / 1e6;
      // The sandbox keeps the limits of its plan, here as everywhere: a run that meets them does not count.
      if (status !== 0) throw new Error(`${name} failed: ${stderr.toString()}`);
      if (run >= 0) times[i]?.push(ms);
    }
  }
  return times;
}

/** Prints the table, into README.md too where it is asked for; true where a ratio is too high. */
function report(contenders: readonly Contender[], times: readonly number[][]): boolean {
  const base = median(times[0] ?? []);
  const cpu = cpus();
  const lines = [
    `Node ${process.versions.node}, ${cpu.length} × ${cpu[0]?.model ?? 'unknown'}, ${runs} runs in turn`,
    '',
    '| command | ratio to `node -e 0` | median, ms | fastest – slowest, ms |',
    '| --- | --- | --- | --- |',
  ];
  let tooSlow = false;
  for (const [i, { name, most }] of contenders.entries()) {
    const mine = times[i] ?? [];
    const ratio = median(mine) / base;
    const bound = most === undefined ? '' : ` (at most ${most})`;
    if (most !== undefined && ratio > most) tooSlow = true;
    const spread = `${Math.min(...mine).toFixed(1)} – ${Math.max(...mine).toFixed(1)}`;
    lines.push(`| ${name} | ${ratio.toFixed(2)}${bound} | ${median(mine).toFixed(1)} | ${spread} |`);
  }
  console.log(lines.join('\n'));
  if (readme) writeIntoReadme(lines.join('\n'));
  return tooSlow;
}

function writeIntoReadme(table: string): void {
  const path = fileURLToPath(new URL('../../README.md', import.meta.url));
  const text = readFileSync(path, 'utf8');
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`README.md lacks ${BEGIN} and ${END}`);
  writeFileSync(path, `${text.slice(0, from)}${BEGIN}\n\n${table}\n\n${text.slice(to)}`);
}
