/** npm run simulate:writes: runs many seeds, and prints broken promises with their seeds, which can be replayed. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type { Violation } from './promises.ts';
import { type Result, simulateWrites, warmUp } from './simulate.ts';

const HELP = `Usage: npm run simulate:writes -- [options]

  --seeds N     how many seeds, from 1 (default 1000); prints what is broken, and how often the world was hard, as JSON
  --seed S      this seed alone: every command, what the service saw, and what is broken
`;

/** What many seeds have shown. */
interface Findings {
  readonly broken: Broken[];
  /** How often the world was hard. */
  readonly seen: Seen;
}

type Broken = Violation & { readonly seed: number };
type Seen = Record<'killed' | 'stopped' | 'asked' | 'lost' | 'applied' | 'foreign', number>;

async function findingsOf(seeds: readonly number[]): Promise<Findings> {
  const findings: Findings = {
    broken: [],
    seen: { killed: 0, stopped: 0, asked: 0, lost: 0, applied: 0, foreign: 0 },
  };
  await warmUp();
  for (const seed of seeds) {
    const result = await simulateWrites(seed);
    findings.broken.push(...result.violations.map((each) => ({ seed, ...each })));
    count(findings.seen, result);
  }
  return findings;
}

function count(seen: Seen, { reports, service }: Result): void {
  const versions = [...service.versions.values()].flat();
  seen.killed += reports.filter(({ code }) => code === undefined).length;
  seen.stopped += reports.filter(({ stoppedAt }) => stoppedAt !== undefined).length;
  seen.asked += reports.filter(({ answered }) => answered.length > 0).length;
  seen.lost += service.writes.filter(({ answer, isApplied }) => isApplied && answer === undefined).length;
  seen.applied += service.writes.filter(({ answer }) => answer?.isSound === true).length;
  seen.foreign += versions.filter(({ by }) => by === 'foreign').length;
}

function inWorker(seeds: readonly number[]): Promise<Findings> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: seeds });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

async function trace(seed: number): Promise<number> {
  const { scenario, reports, service, violations } = await simulateWrites(seed);
  const ms = (at: number): string => `${(at / 1_000).toFixed(3)} s`;
  console.log(scenario);
  const events = [
    ...reports.map(({ process, startedAt, endedAt, args, code, stdout, stderr }) => ({
      at: endedAt,
      text: `process ${process} (since ${ms(startedAt)}) ${args.join(' ')}: ${code ?? 'killed'}\n${stdout}${stderr}`,
    })),
    ...service.writes.flatMap(({ process, pet, quantity, sentAt, answer }) => [
      { at: sentAt, text: `process ${process} sends pet ${pet} = ${quantity}` },
      ...(answer === undefined
        ? []
        : [{ at: answer.at, text: `process ${process} has ${answer.status} for pet ${pet}` }]),
    ]),
    ...[...service.versions].flatMap(([pet, versions]) =>
      versions.map(({ at, quantity, by }) => ({
        at,
        text: `pet ${pet} is ${quantity}, ${by === 'foreign' ? 'by another client' : `by process ${by.process}`}`,
      })),
    ),
    ...service.readings.map(({ shownAt, process, pet, version, producedAt }) => ({
      at: shownAt,
      text: `process ${process} reads pet ${pet} = ${service.versions.get(pet)![version]!.quantity}, as of ${ms(producedAt)}`,
    })),
  ];
  for (const { at, text } of events.toSorted((a, b) => a.at - b.at)) console.log(`${ms(at)} ${text}`);
  for (const { rule, text } of violations) console.log(`BROKEN (${rule}) ${text}`);
  return violations.length;
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const help = { type: 'boolean', short: 'h', default: false } as const;
  const { values } = parseArgs({ options: { seeds: text, seed: text, help } });
  if (values.help) return console.log(HELP);
  if (values.seed !== undefined) {
    await warmUp();
    process.exitCode = Number((await trace(Number(values.seed))) > 0);
    return;
  }
  const seeds = Number(values.seeds ?? 1_000);
  const threads = Math.max(1, Math.min(seeds, availableParallelism()));
  const shares = Array.from({ length: threads }, (_, at) =>
    Array.from({ length: Math.ceil((seeds - at) / threads) }, (_each, i) => 1 + at + i * threads),
  );
  const all = await Promise.all(shares.map(inWorker));
  const broken = all.flatMap((each) => each.broken).toSorted((a, b) => a.seed - b.seed);
  const seen = all.map((each) => each.seen).reduce(sum);
  console.log(JSON.stringify({ broken: broken.slice(0, MOST_SHOWN), seen }, undefined, 2));
  process.exitCode = Number(broken.length > 0);
}

function sum(a: Seen, b: Seen): Seen {
  return Object.fromEntries(Object.entries(a).map(([what, times]) => [what, times + b[what as keyof Seen]])) as Seen;
}

const MOST_SHOWN = 200;

if (isMainThread) await main();
else parentPort!.postMessage(await findingsOf(workerData as number[]));
