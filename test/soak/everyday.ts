/**
 * `npm run soak`: does everyday work against a sandbox with faults, for as long as you like. Measures the memory and
 * open handles of long-running programs, and the size of the state. Fails if one of them exceeds its bound (growth.ts)
 * after the warm-up, or if a command ends with an exit code that no fault explains.
 */
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { residentOf } from '../bench/report.ts';
import { NEVER_MS, type Running, runPetstore, startPetstore } from '../support/binary.ts';
import { withCleanup } from '../support/cleanup.ts';
import { createHome } from '../support/home.ts';
import { serveProxy, serveSandbox } from '../support/served.ts';
import { staging } from '../support/staging.ts';
import { type Sample, type Soaked, WORK } from './growth.ts';

const FAULTS = ['reset,after,method=PATCH,p=0.02', 'status=503,p=0.02', 'delay=300ms,p=0.02', 'truncate=40,p=0.01'];
/** What a fault may lead to: network, service, unknown outcome, rows that were not done. */
const EXPECTED: readonly (number | null)[] = [0, 6, 7, 8, 9, 11, 13];
/** The sandbox gives the last few of them large ids. */
const SEEDED = 500;
const PETS = 490;

export async function soakEveryday(lengthMs: number): Promise<Soaked> {
  const home = createHome();
  const state = join(home.state, 'petstore');
  const codes = new Map<string, number>();
  const problems: string[] = [];
  let isOver = false;

  /** Notes how a program that is to stay until the end has ended, if it does. */
  const stays = (name: string, running: Running): Running => {
    void running.exited.then(({ code, stderr }) => {
      if (!isOver) problems.push(`${name} ended with ${code}: ${stderr.slice(-500)}`);
    });
    return running;
  };
  const data = ['--data', join(home.path, 'shop.db')];
  await runPetstore(['sandbox', 'seed', '--pets', String(SEEDED), ...data], { home });
  const limits = ['--per-minute', '2000', '--per-day', '1000000', '--minute', '10s'];
  const faults = FAULTS.flatMap((rule) => ['--fault', rule]);
  const lasting = { home, killAfterMs: NEVER_MS };
  const shop = await serveSandbox([...data, ...limits, ...faults], lasting);
  const env = staging(shop.baseUrl, shop.apiKey);
  const proxy = await serveProxy(env, ['--log', '/dev/null'], lasting);

  const run = async (...args: string[]): Promise<void> => {
    const options = { home, env, killAfterMs: 600_000 };
    const { code, stderr } = await withCleanup(() => runPetstore(args, options));
    const name = `${args.slice(0, 2).join(' ')}: ${code}`;
    codes.set(name, (codes.get(name) ?? 0) + 1);
    if (!EXPECTED.includes(code)) problems.push(`petstore ${args.join(' ')} ended with ${code}: ${stderr.slice(-500)}`);
  };
  const importFile = (turn: number): string => {
    const rows = Array.from({ length: 50 }, (_, i) => `${((turn * 7 + i) % PETS) + 1},${(turn + i) % 200}`);
    const file = join(home.path, `delivery-${turn % 3}.csv`);
    writeFileSync(file, `petId,quantity\n${rows.join('\n')}\n`);
    return file;
  };
  const throughProxy = async (turn: number): Promise<void> => {
    const headers = { 'content-type': 'application/json', 'user-agent': `till-${turn % 5}` };
    const body = JSON.stringify({ quantity: turn % 100 });
    await proxy.ask(`/inventory/${(turn % PETS) + 1}`, { method: 'PATCH', headers, body });
    await proxy.ask('/inventory', { headers });
  };
  /** Does the work again and again until the time is over. */
  const again = async (work: (turn: number) => Promise<void>): Promise<void> => {
    for (let turn = 1; !isOver; turn++) await work(turn);
  };

  // The first import makes the folder of the reports.
  await run('inventory', 'import', importFile(0), '--yes');
  const watch = startPetstore(['inventory', 'list', '--watch', '1s', '-o', 'ndjson'], { ...lasting, env });
  const stayed = Object.entries({ sandbox: shop, proxy, watch }).map(
    ([name, each]) => [name, stays(name, each)] as const,
  );
  const sizeOf = (path: string): number => statSync(join(state, path), { throwIfNoEntry: false })?.size ?? 0;
  const look = (at: number): Sample => {
    const found: Record<string, number> = {};
    for (const [name, { pid }] of stayed) {
      found[`${name}: memory`] = (residentOf(pid) ?? Number.NaN) * 2 ** 20;
      found[`${name}: handles`] = readdirSync(`/proc/${pid}/fd`).length;
    }
    using database = new DatabaseSync(join(state, 'state.db'), { readOnly: true });
    found[WORK] = Number(database.prepare('SELECT count(*) AS n FROM change').get()?.n);
    found['state.db'] = sizeOf('state.db');
    found['log of state.db'] = sizeOf('state.db-wal');
    found.reports = readdirSync(join(state, 'reports')).reduce((sum, name) => sum + sizeOf(join('reports', name)), 0);
    return { at, values: found };
  };
  const work = [
    again((turn) => run('inventory', 'import', importFile(turn), '--yes')),
    again(async (turn) => {
      await run('inventory', 'set', String((turn % PETS) + 1), String(turn % 50));
      await run('inventory', 'list', '--max', '2', '--fail-if-any', '-o', 'ndjson');
      await run('inventory', 'history', '--limit', '20', '--json');
    }),
    again(throughProxy),
  ];
  const samples: Sample[] = [];
  const begun = performance.now();
  const sampling = setInterval(
    () => {
      samples.push(look(performance.now() - begun));
    },
    Math.min(10_000, lengthMs / 60),
  );
  const time = new Promise((resolve) => setTimeout(resolve, lengthMs));
  await Promise.race([time, Promise.all(work)]);
  clearInterval(sampling);
  isOver = true;
  await Promise.allSettled(work);
  const lines = [...codes].toSorted().map(([name, count]) => `${name}, ${count} times`);
  return { samples, problems, lines: [`${samples.at(-1)?.values[WORK]} changes.`, ...lines] };
}
