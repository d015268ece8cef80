/**
 * Runs a fleet outside CI: eight machines (separate home folders) import 20 rows with one key, whose ledger is on a
 * real Redis server, and that server has a fault in the middle of a burst. A strike is a request that arrives during a
 * wait that the service named. Fails if a promise is broken. Needs redis-server and the build.
 *
 *   npm run fleet -- [--fault NAME]... [--tries 3]
 */
import { parseArgs } from 'node:util';
import { markdownTable } from '../bench/report.ts';
import compileCache from '../support/compile-cache.ts';
import { FAULTS, GONE, type Fault } from './faults.ts';
import { FLEET, type Fleet, type Seen, tryFault } from './fleet.ts';

const { values } = parseArgs({
  options: { fault: { type: 'string', multiple: true }, tries: { type: 'string', default: '3' } },
});
/** How many fleets at once: most of their processes wait. */
const AT_ONCE = 2;

interface Row {
  readonly fault: Fault;
  readonly fleet: Fleet;
  readonly seen: Seen[];
}

const rows: readonly Row[] = [
  ...FAULTS.map((fault) => ({ fault, fleet: FLEET, seen: [] })),
  { fault: { ...GONE, name: `${GONE.name}, share` }, fleet: { ...FLEET, lost: 'share' }, seen: [] },
];
const { fault: names } = values;
const chosen = rows.filter(({ fault }) => names === undefined || names.includes(fault.name));
if (chosen.length === 0) throw new Error(`--fault is one of: ${rows.map(({ fault }) => fault.name).join('; ')}.`);

/** What is told of each try. */
const COLUMNS: Readonly<Record<string, (seen: Seen) => string>> = {
  '429s': ({ refused }) => String(refused),
  strikes: ({ strikes }) => String(strikes),
  'of the refused machine': ({ ownStrikes }) => String(ownStrikes),
  banned: ({ isBanned }) => (isBanned ? 'yes' : 'no'),
  exits: ({ ended }) => {
    const codes = ended.map((one) => (one === undefined ? 'busy' : String(one.code)));
    return [...new Set(codes)].map((code) => `${codes.filter((one) => one === code).length} × ${code}`).join(' ');
  },
  rows: ({ rows: done }) => String(done),
  seconds: ({ seconds }) => seconds.toFixed(0),
  'all send again, s': ({ againS }) => (againS === Infinity ? 'never' : againS.toFixed(1)),
  broken: ({ broken }) => broken.join(' + ') || 'nothing',
};

async function work(queue: Row[]): Promise<void> {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const seen = await tryFault(next.fault, next.fleet);
    next.seen.push(seen);
    const facts = Object.entries(COLUMNS).map(([name, of]) => `${name} ${of(seen)}`);
    process.stderr.write(`${next.fault.name}: ${facts.join('; ')}\n`);
    if (seen.broken.length > 0)
      for (const one of seen.ended) process.stderr.write(`  ${one?.stderr ?? 'still busy'}\n`);
  }
}

const endCompileCache = compileCache();
process.once('exit', endCompileCache);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const queue = Array.from({ length: Number(values.tries) }, () => chosen).flat();
await Promise.all(Array.from({ length: AT_ONCE }, () => work(queue)));

/** One for all tries where they do not differ. */
const cell = (texts: readonly string[]): string => (new Set(texts).size === 1 ? texts[0]! : texts.join(', '));
const table = chosen.map(({ fault, seen }) => [fault.name, ...Object.values(COLUMNS).map((of) => cell(seen.map(of)))]);
process.stdout.write(`${markdownTable(['fault', ...Object.keys(COLUMNS)], table)}\n`);
process.exitCode = chosen.every(({ seen }) => seen.every(({ broken }) => broken.length === 0)) ? 0 : 1;
