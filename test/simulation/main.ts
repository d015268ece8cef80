/** npm run simulate: many seeds of one scenario, petstore beside the policies of those who share no ledger. */
import { parseArgs } from 'node:util';
import { LIMIT, type QuotaName, QUOTAS } from './quota.ts';
import { POLICIES, type PolicyName } from './policies.ts';
import { type Result, type Scenario, simulate } from './simulate.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    seed: { type: 'string' },
    clients: { type: 'string', default: '8' },
    updates: { type: 'string', default: '30' },
    server: { type: 'string', default: 'fixed' },
    foreign: { type: 'string', default: '0' },
    skew: { type: 'string', default: '0' },
    crash: { type: 'string', default: '0' },
    policy: { type: 'string', multiple: true, default: [...POLICIES] },
    trace: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const HELP = `Usage: npm run simulate -- [options]

  --seeds N        how many seeds, from 1 (default 100)
  --seed S         this seed alone; with --trace, every request of it
  --clients M      processes that share the key (default 8)
  --updates N      updates of each client, one after another (default 30)
  --server MODEL   ${QUOTAS.join(', ')} (default fixed): ${LIMIT} requests a minute
  --foreign RATE   requests a minute of another client with the same key (default 0)
  --skew S         the machine's clock against the service's, in seconds (default 0)
  --crash P        chance of death at each step, and of an answer's loss (default 0)
  --policy NAME    ${POLICIES.join(', ')} (default all; may be repeated)
`;

function number(name: 'seeds' | 'clients' | 'updates' | 'foreign' | 'skew' | 'crash', isWhole: boolean): number {
  const value = Number(values[name]);
  if (values[name] === '' || !Number.isFinite(value) || value < 0 || (isWhole && !Number.isSafeInteger(value))) {
    throw new RangeError(`--${name} takes a number, not "${values[name]}"`);
  }
  return value;
}

function oneOf<T extends string>(name: string, value: string, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found === undefined) throw new RangeError(`--${name} is one of ${known.join(', ')}, not "${value}"`);
  return found;
}

async function main(): Promise<void> {
  const scenario: Scenario = {
    clients: number('clients', true),
    updates: number('updates', true),
    server: oneOf<QuotaName>('server', values.server, QUOTAS),
    foreign: number('foreign', false),
    skew: number('skew', false),
    crash: number('crash', false),
  };
  const policies = values.policy.map((each) => oneOf<PolicyName>('policy', each, POLICIES));
  const seeds =
    values.seed !== undefined ? [Number(values.seed)] : Array.from({ length: number('seeds', true) }, (_, i) => i + 1);
  const { clients, updates, server, foreign, skew, crash } = scenario;
  console.log(
    `${seeds.length} seeds, ${clients} clients x ${updates} updates, ${server}, ` +
      `${foreign} foreign requests a minute, clock ${skew} s off, ${crash} deaths a step\n`,
  );
  console.log(row(['policy', '429s', 'strikes', 'unknowing', 'lost updates', 'undone', 'least share', 'mean share']));
  for (const policy of policies) {
    const results: (Result & { seed: number })[] = [];
    for (const seed of seeds) results.push({ seed, ...(await simulate(scenario, policy, seed)) });
    console.log(summary(policy, results));
    if (values.trace) for (const { log } of results) for (const each of log) console.log(JSON.stringify(each));
    const struck = results.filter(({ strikes, lost }) => strikes + lost > 0).map(({ seed }) => seed);
    if (policy === 'petstore' && struck.length > 0) {
      console.log(`\nReplay with --policy petstore --trace --seed ${struck[0]} (of ${struck.length} such seeds)`);
      process.exitCode = 1;
    }
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
    percent(shares.reduce((least, each) => Math.min(least, each), 1)),
    percent(shares.reduce((total, each) => total + each, 0) / shares.length),
  ]);
}

function row([first, ...others]: readonly string[]): string {
  return `${first!.padEnd(17)}${others.map((each) => each.padStart(13)).join('')}`;
}

if (values.help) console.log(HELP);
else await main();
