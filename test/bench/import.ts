/**
 * Compares petstore with `xargs -P curl`, without and with curl's own --retry, in a stocktake on one key, against the
 * sandbox with the Business plan and a shortened minute. Counts how often each got a 429, and how often it returned
 * before the time that the 429 had named. Prints Markdown on stdout.
 *
 *   npm run bench -- import [--rows 2500] [--minute 15s] [--assert]
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment } from '../support/binary.ts';
import { withCleanup } from '../support/cleanup.ts';
import { createHome } from '../support/home.ts';
import { serveSandbox } from '../support/served.ts';
import { jsonLines, staging } from '../support/staging.ts';
import { markdownTable, readOptions } from './report.ts';
import { PETSTORE } from './service.ts';

const values = readOptions({ rows: '2500', minute: '15s' });
const count = Number(values.rows);

interface Measured {
  readonly seconds: number;
  readonly done: number;
  readonly refused: number;
  readonly early: number;
}

type Client = (at: { baseUrl: string; env: NodeJS.ProcessEnv; csv: string }) => void;

const importing: Client = ({ env, csv }) => {
  const run = [PETSTORE, 'inventory', 'import', csv, '--wait', '--yes', '--quiet'];
  const { status, stderr } = spawnSync(process.execPath, run, { env, timeout: 600_000 });
  if (status !== 0) throw new Error(stderr.toString());
};

const curling =
  (retry: string): Client =>
  ({ baseUrl, csv }) => {
    const curl = `curl -s -o /dev/null ${retry} -X PATCH -H 'Authorization: Bearer sandbox' -H 'Content-Type: application/json'`;
    const one = `${curl} -d '{"quantity":'"\${1#*,}"'}' ${baseUrl}/inventory/\${1%,*}`;
    spawnSync('sh', ['-c', `tail -n +2 '${csv}' | xargs -P 8 -n 1 sh -c '${one.replaceAll("'", `'\\''`)}' sh`], {
      timeout: 600_000,
    });
  };

function measure(client: Client): Promise<Measured> {
  return withCleanup(async () => {
    const home = createHome();
    const [log, csv] = [join(home.path, 'requests.ndjson'), join(home.path, 'stock.csv')];
    const args = ['--log', log, '--seed', String(count + 25), '--plan', 'business', '--minute', values.minute];
    const server = await serveSandbox([...args, '--ban-after', '0'], { home, killAfterMs: 900_000 });
    const rows = Array.from({ length: count }, (_, i) => `${i + 24},${500 + (i % 9)}`);
    writeFileSync(csv, ['petId,quantity', ...rows].join('\n'));
    const { baseUrl, apiKey } = server;
    const env = cleanEnvironment(home, staging(baseUrl, apiKey));
    const from = process.hrtime.bigint();
    client({ baseUrl, env, csv });
    const seconds = Number(process.hrtime.bigint() - from) / 1e9;
    server.kill('SIGTERM');
    await server.exited;
    return { seconds, ...judged(log) };
  });
}

/** From the sandbox's own log. */
function judged(log: string): Pick<Measured, 'done' | 'refused' | 'early'> {
  interface Logged {
    readonly at: string;
    readonly method: string;
    readonly target: string;
    readonly status: number;
    readonly retryAfter?: number;
  }
  const requests = jsonLines<Logged>(readFileSync(log, 'utf8'));
  const done = new Set<string>();
  let [refused, early, until] = [0, 0, 0];
  for (const { at, method, target, status, retryAfter } of requests) {
    const now = Date.parse(at);
    if (now < until) early++;
    if (status === 200 && method === 'PATCH') done.add(target);
    if (status !== 429) continue;
    refused++;
    // Rounded up to whole seconds by the service: a second less is still before the window's end.
    until = Math.max(until, now + ((retryAfter ?? 1) - 1) * 1_000);
  }
  return { done: done.size, refused, early };
}

const CLIENTS: readonly (readonly [string, Client])[] = [
  ['petstore inventory import', importing],
  ['xargs -P 8 curl', curling('')],
  ['xargs -P 8 curl --retry 5', curling('--retry 5')],
];
const results: [string, Measured][] = [];
for (const [name, client] of CLIENTS) results.push([name, await measure(client)]);
const pace = ({ done, seconds }: Measured): number => done / seconds;
const ours = results[0]![1];
console.log(
  markdownTable(
    ['client', 'rows done', '429s', 'sent too early after one', 'seconds', "rows a second, times petstore's"],
    results.map(([name, measured]) => [
      name,
      measured.done.toLocaleString('en'),
      measured.refused.toLocaleString('en'),
      measured.early.toLocaleString('en'),
      measured.seconds.toFixed(1),
      (pace(measured) / pace(ours)).toFixed(2),
    ]),
  ),
);
console.log(
  `\n${count.toLocaleString('en')} rows on one key of 1,000 requests per window of ${values.minute}, once each.`,
);
if (values.assert && (ours.refused > 0 || ours.done !== count)) process.exitCode = 1;
