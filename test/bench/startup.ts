/**
 * Measures how long the program takes to start, as a ratio to a bare `node -e 0` on the same Node in the same run.
 * The commands alternate, so that a machine that slows down affects all of them. Prints Markdown on stdout.
 *
 *   npm run bench -- startup [--runs 25] [--assert]
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createHome } from '../support/home.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { alternate, isThere, markdownTable, median, readOptions, spread, STANDALONE } from './report.ts';
import { PETSTORE, withService } from './service.ts';

const COMPLETIONS = fileURLToPath(new URL('../../completions/petstore.bash', import.meta.url));
const GH = '`gh --version`';

interface Contender {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Highest ratio that --assert accepts. */
  readonly most?: number;
  /** It is to be quicker than `gh --version`. */
  readonly beatsGh?: boolean;
}

const values = readOptions({ runs: '25' });

process.exitCode = await withService(async ({ baseUrl, env }) => {
  const redis = hasRedis ? (await startRedis()).url : undefined;
  const contenders = listContenders(baseUrl, redis).filter(({ command: [program] }) =>
    (program === 'sh' ? ['curl', 'jq'] : [program]).every(isThere),
  );
  // A command's second run is the first that finds its compiled code.
  for (const each of contenders) timeOf(each, env);
  return report(await alternate(contenders, values.runs, (each) => timeOf(each, env))) && values.assert ? 1 : 0;
});

function listContenders(baseUrl: string, redis?: string): Contender[] {
  const node = process.execPath;
  const list = ['--env', 'staging', 'inventory', 'list'];
  return [
    { name: '`node -e 0`', command: [node, '-e', '0'] },
    { name: '`petstore --version`', command: [node, PETSTORE, '--version'], most: 1.3 },
    { name: '`petstore --help`', command: [node, PETSTORE, '--help'], most: 1.5 },
    { name: '`petstore --env staging inventory list`, 20 rows', command: [node, PETSTORE, ...list], most: 2.8 },
    ...(redis === undefined
      ? []
      : [
          {
            name: 'the same, with `PETSTORE_LEDGER`',
            // A home of its own: the code that was compiled for a command is kept once.
            command: ['env', `PETSTORE_LEDGER=${redis}`, `HOME=${createHome().path}`, node, PETSTORE, ...list] as const,
            most: 3.5,
          },
        ]),
    {
      name: '`petstore --env sandbox inventory list`',
      command: [node, PETSTORE, '--env', 'sandbox', 'inventory', 'list'],
      most: 2.4,
    },
    { name: 'standalone: `petstore --version`', command: [STANDALONE, '--version'], beatsGh: true },
    {
      name: 'standalone: `petstore inventory list`, 20 rows',
      command: [STANDALONE, ...list],
      most: 1.7,
      beatsGh: true,
    },
    { name: 'TAB for a command (bash)', command: tab('inv'), most: 2.5 },
    { name: 'TAB for a pet (bash)', command: tab('inventory set '), most: 2.5 },
    { name: GH, command: ['gh', '--version'] },
    { name: '`curl --version`', command: ['curl', '--version'] },
    { name: '`curl | jq`, the same 20 rows', command: ['sh', '-c', `curl -s ${baseUrl}/inventory | jq -c '.[]'`] },
    { name: '`http` (httpie), the same 20 rows', command: ['http', '--ignore-stdin', `${baseUrl}/inventory`] },
  ];
}

/** What bash does when TAB is pressed, in a bash of its own. */
function tab(line: string): [string, ...string[]] {
  const script = `source ${COMPLETIONS}; petstore() { ${process.execPath} ${PETSTORE} "$@"; }
    COMP_LINE="petstore $*"; COMP_WORDS=(petstore "$@"); COMP_CWORD=$#; _petstore; ((\${#COMPREPLY[@]}))`;
  return ['bash', '--norc', '-c', script, 'bash', ...line.split(' ')];
}

/** Wall time of a run, ms. */
function timeOf({ name, command: [program, ...args] }: Contender, env: NodeJS.ProcessEnv): number {
  const started = process.hrtime.bigint();
  const { status, stderr } = spawnSync(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  // The sandbox keeps the limits of its plan, here as everywhere: a run that meets them does not count.
  if (status !== 0) throw new Error(`${name} failed: ${stderr.toString()}`);
  return Number(process.hrtime.bigint() - started) / 1e6;
}

/** Prints the table; true where a ratio is too high. */
function report(times: ReadonlyMap<Contender, readonly number[]>): boolean {
  const all = [...times];
  const base = median(all[0]![1]);
  const gh = median(all.find(([{ name }]) => name === GH)?.[1] ?? []);
  let tooSlow = false;
  const rows = all.map(([{ name, most, beatsGh }, mine]) => {
    const ratio = median(mine) / base;
    if ((most !== undefined && ratio > most) || (beatsGh === true && median(mine) >= gh)) tooSlow = true;
    const bounds = [
      ...(most === undefined ? [] : [`at most ${most}`]),
      ...(beatsGh === true ? ["less than gh's"] : []),
    ];
    const bound = bounds.length === 0 ? '' : ` (${bounds.join(', ')})`;
    return [name, `${ratio.toFixed(2)}${bound}`, median(mine).toFixed(1), spread(mine, 1)];
  });
  console.log(markdownTable(['command', 'ratio to `node -e 0`', 'median, ms', 'fastest – slowest, ms'], rows));
  return tooSlow;
}
