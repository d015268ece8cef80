/**
 * Runs many seeds of one scenario, comparing petstore with policies without a shared ledger; or searches every state
 * that the governor can reach within bounds.
 *
 *   npm run simulate -- [options]
 *   npm run simulate -- every-state [--faults N]   what CI searches; each of N faults more makes it 3 to 5 times as large
 *
 *   --seeds N        how many seeds, from 1 (default 100)
 *   --seed S         this seed alone; with --trace, every request of it
 *   --clients M      processes that share the key (default 8)
 *   --updates N      updates of each client, one after another (default 30)
 *   --pause S        how long a client rests between two of them, in seconds in the mean (default 0)
 *   --server MODEL   fixed, sliding or bucket: 60 requests a minute (default fixed);
 *                    short: 20 requests in 3 s;
 *                    per-operation: 100 reads an hour and 6 writes in 3 s;
 *                    two-counters: 60 reads and 60 writes a minute
 *   --foreign RATE   requests a minute of another client with the same key (default 0)
 *   --burst N        how many of those come at once (default 1)
 *   --skew S         the machine's clock against the service's, in seconds (default 0)
 *   --policy NAME    petstore, obey-per-process, undici-retry, local-clock (default all; may be repeated)
 *
 * Chances, from 0 to 1 (default 0):
 *   --crash P        of death at each step, and of an answer's loss
 *   --connect P      that connecting takes up to 30 s; five times that while the service is refusing
 *   --stop P         that a process is stopped at a step for up to 5 minutes, and then resumes
 *   --unwritable P   that a refusal cannot be written to the state database
 *   --flush P        that the ledger which two machines then share is emptied, or gone, at each use of it
 */
import { parseArgs } from 'node:util';
import { answerHelp } from '../bench/report.ts';
import { SCENARIOS, search } from '../rate-limit/every-state.ts';
import { POLICIES } from './policies.ts';
import { SERVERS } from './quota.ts';
import { CALM, isBroken, type Result, type Scenario, simulate } from './simulate.ts';

const CHANCES = ['crash', 'connect', 'stop', 'unwritable', 'flush'] as const;
const NUMBERS = [...CHANCES, 'clients', 'updates', 'pause', 'foreign', 'burst', 'skew'] as const;

answerHelp(import.meta.url);
const text = { type: 'string' } as const;
const numbers = Object.fromEntries(NUMBERS.map((name) => [name, text])) as Record<
  (typeof NUMBERS)[number],
  typeof text
>;
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...numbers,
    seeds: { ...text, default: '100' },
    seed: text,
    server: { ...text, default: CALM.server },
    policy: { ...text, multiple: true, default: [...POLICIES] },
    trace: { type: 'boolean', default: false },
    faults: { ...text, default: '0' },
  },
});

function oneOf<T extends string>(name: string, value: string, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found === undefined) throw new RangeError(`--${name} is one of ${known.join(', ')}, not "${value}"`);
  return found;
}

async function main(): Promise<void> {
  const given = NUMBERS.flatMap((name) =>
    options[name] === undefined ? [] : [[name, Number(options[name])] as const],
  );
  const server = oneOf('server', options.server, SERVERS);
  const scenario: Scenario = { ...CALM, server, ...Object.fromEntries(given) };
  const policies = options.policy.map((each) => oneOf('policy', each, POLICIES));
  const seeds =
    options.seed === undefined
      ? Array.from({ length: Number(options.seeds) }, (_, i) => 1 + i)
      : [Number(options.seed)];
  const { clients, updates, foreign, skew } = scenario;
  const chances = CHANCES.filter((name) => scenario[name] > 0).map((name) => `, ${name} ${scenario[name]}`);
  console.log(
    `${seeds.length} seeds, ${clients} clients x ${updates} updates, ${server}, ` +
      `${foreign} foreign requests a minute, clock ${skew} s off${chances.join('')}\n`,
  );
  const columns = ['429s', 'strikes', 'unknowing', 'lost updates', 'undone', 'stalled', 'least share', 'mean share'];
  console.log(row(['policy', ...columns]));
  for (const policy of policies) {
    const results: Result[] = [];
    const broken: number[] = [];
    for (const seed of seeds) {
      const { log, ...result } = await simulate(scenario, policy, seed);
      if (options.trace) for (const each of log) console.log(JSON.stringify(each));
      results.push({ ...result, log: [] });
      if (policy === 'petstore' && isBroken(scenario, { ...result, log })) broken.push(seed);
    }
    console.log(summary(policy, results));
    if (broken.length === 0) continue;
    const shown = `${broken.slice(0, 20).join(' ')}${broken.length > 20 ? ' ...' : ''}`;
    console.log(`\nNot as promised in ${broken.length} seeds: ${shown}`);
    console.log('Replay one with --policy petstore --trace --seed S');
    process.exitCode = 1;
  }
}

function summary(policy: string, results: readonly Result[]): string {
  const sum = (of: (each: Result) => number): string => `${results.reduce((total, each) => total + of(each), 0)}`;
  const shares = results.flatMap((each) => each.shares);
  const percent = (share: number): string => (shares.length === 0 ? '-' : `${(share * 100).toFixed(1)} %`);
  return row([
    policy,
    sum(({ refused }) => refused),
    sum(({ strikes }) => strikes),
    sum(({ unknowing }) => unknowing),
    sum(({ lost }) => lost),
    sum(({ undone }) => undone),
    sum(({ stalledReads }) => stalledReads),
    percent(shares.reduce((least, each) => Math.min(least, each), 1)),
    percent(shares.reduce((total, each) => total + each, 0) / shares.length),
  ]);
}

function row([first, ...others]: readonly string[]): string {
  return `${first!.padEnd(17)}${others.map((each) => each.padStart(13)).join('')}`;
}

/** Searches each scenario, and prints the way to a violation. */
function everyState(more: number): void {
  const columns = ['states', 'transitions', 'depth'] as const;
  console.log(`${' '.repeat(40)}${row(['', ...columns])}`);
  for (const [name, bounds] of Object.entries(SCENARIOS)) {
    const { violation, ...found } = search({ ...bounds, faults: bounds.faults + more });
    console.log(`${name.padEnd(40)}${row(['', ...columns.map((each) => `${found[each]}`)])}`);
    if (violation === undefined) continue;
    for (const step of violation.path) console.log(`\n${step.name}\n  ${JSON.stringify(step.ledger)}`);
    console.log(`\n${violation.what}\n`);
    process.exitCode = 1;
  }
}

if (positionals[0] === 'every-state') everyState(Number(options.faults));
else await main();
