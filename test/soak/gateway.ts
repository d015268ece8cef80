/**
 * A chain of shops on one gateway: terminals, each with its own HTTPS connection and token, in separate processes. They
 * pause between their turns, as tills do; at the end they all send at once, and again without a pause, more requests
 * than the rate limit allows. The service is a sandbox that bans the key at the first request after a 429.
 */
import { createHash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { SANDBOX_KEY } from '../../src/sandbox/plans.ts';
import { residentOf } from '../bench/report.ts';
import { NEVER_MS, runPetstore } from '../support/binary.ts';
import { onCleanup } from '../support/cleanup.ts';
import { createHome } from '../support/home.ts';
import { counted, realSandbox } from '../support/real-sandbox.ts';
import { serveProxy } from '../support/served.ts';
import { tlsIdentities } from '../support/tls.ts';
import { type Sample, type Soaked, WORK } from './growth.ts';
import type { Done, Load } from './terminals.ts';

const TERMINALS = fileURLToPath(new URL('./terminals.ts', import.meta.url));
/** Of one process: its own time must not be what is measured. */
const MOST_OF_A_PROCESS = 500;
/** Short, so that the end, which needs some of them, takes seconds. */
const WINDOW_MS = 5_000;
const LEAST_LIMIT = 50;
const PETS = 20;
/** How often the service itself is asked, for its share of the times, ms. */
const PROBE_MS = 250;
/** It asks with a key of its own. */
const PROBE_KEY = 'key-of-the-probe';

export interface GatewayLoad extends Pick<Load, 'turns' | 'everyMs' | 'hurriedTurns'> {
  readonly clients: number;
}

export async function soakGateway({ clients, ...load }: GatewayLoad, sampleMs: number): Promise<Soaked> {
  // Twice as much as terminals that rest ask for, and less than those in a hurry.
  const perMinute = Math.max(LEAST_LIMIT, Math.ceil((clients * 2 * 2 * WINDOW_MS) / load.everyMs));
  const plan = { perMinute, perDay: 1e9, minuteMs: WINDOW_MS };
  const { env, log, stock } = await realSandbox(plan, {
    rules: { plan, banAfter: 1 },
    apiKeys: [SANDBOX_KEY, PROBE_KEY],
  });
  const before = await stock();
  const home = createHome();
  const { good, ca } = tlsIdentities();
  const tokens = Array.from({ length: clients }, (_, i) => `token-of-terminal-${i + 1}`);
  const lines = tokens.map((token, i) => `t-${i + 1} ${createHash('sha256').update(token).digest('hex')} write\n`);
  const fileOf = (name: string, content: string): string => {
    writeFileSync(join(home.path, name), content, { mode: 0o600 });
    return join(home.path, name);
  };
  const tls = ['--tls-cert', fileOf('cert.pem', good.cert), '--tls-key', fileOf('key.pem', good.key)];
  const args = [...tls, '--tokens', fileOf('tokens', lines.join('')), '--log', join(home.path, 'log.ndjson')];
  const gateway = await serveProxy(env, args, { home, killAfterMs: NEVER_MS });

  const changesOf = (): number => {
    using database = new DatabaseSync(join(home.state, 'petstore', 'state.db'), { readOnly: true });
    return Number(database.prepare('SELECT count(*) AS n FROM change').get()?.n);
  };
  const samples: Sample[] = [];
  const begun = performance.now();
  const sampling = setInterval(() => {
    const memory = (residentOf(gateway.pid) ?? Number.NaN) * 2 ** 20;
    const handles = readdirSync(`/proc/${gateway.pid}/fd`).length;
    samples.push({
      at: performance.now() - begun,
      values: { 'gateway: memory': memory, 'gateway: handles': handles, [WORK]: changesOf() },
    });
  }, sampleMs);
  const direct: number[] = [];
  const probing = setInterval(() => void probe(env.PETSTORE_BASE_URL!).then((ms) => direct.push(ms)), PROBE_MS);
  onCleanup(() => {
    clearInterval(sampling);
    clearInterval(probing);
  });
  const common = { ...load, baseUrl: gateway.baseUrl, ca, pets: PETS };
  const parts = Array.from({ length: Math.ceil(clients / MOST_OF_A_PROCESS) }, (_, i) =>
    tokens.slice(i * MOST_OF_A_PROCESS, (i + 1) * MOST_OF_A_PROCESS),
  );
  const done = await Promise.all(parts.map((each) => runTerminals({ ...common, tokens: each })));
  clearInterval(sampling);
  clearInterval(probing);
  const after = await stock();
  const recorded = changesOf();
  gateway.kill('SIGTERM');
  const { code, stderr } = await gateway.exited;
  return { samples, ...report() };

  function report() {
    const answers: Record<string, number> = {};
    for (const [what, count] of done.flatMap((each) => Object.entries(each.answers))) {
      answers[what] = (answers[what] ?? 0) + count;
    }
    const changes = done.reduce((sum, each) => sum + each.changes, 0);
    const times = done.flatMap((each) => each.times);
    const sum = (quantities: Record<string, number>): number =>
      Object.values(quantities).reduce((total, quantity) => total + quantity, 0);
    const stored = sum(after) - sum(before);
    const refused = Object.keys(counted(log)).filter((status) => status !== '200');
    const unexpected = Object.keys(answers).filter((what) => what !== '200' && what !== '412');
    return {
      lines: [
        `${clients} terminals in ${parts.length} processes; the answers: ${JSON.stringify(answers)}`,
        `the service answered ${log.length} requests, ${perMinute} in ${WINDOW_MS / 1_000} s at most: ${JSON.stringify(counted(log))}`,
        `${changes} changes were acknowledged, ${stored} are in the stock, ${recorded} in the history`,
        timesLine('a request of a terminal, with a rest between its turns', times),
        timesLine('the service itself', direct),
        `added: p50 ${(at(times, 0.5) - at(direct, 0.5)).toFixed(1)} ms, p99 ${(at(times, 0.99) - at(direct, 0.99)).toFixed(1)} ms`,
      ],
      problems: [
        ...refused.map((status) => `the service answered ${status}`),
        ...unexpected.map((what) => `a terminal got ${what}`),
        ...(changes === stored && changes === recorded ? [] : ['a change was lost, repeated or not recorded']),
        ...(code === 0 ? [] : [`the gateway ended with ${code}: ${stderr.slice(-500)}`]),
      ],
    };
  }
}

async function runTerminals(load: Load): Promise<Done> {
  const options = { command: [process.execPath], stdin: JSON.stringify(load), killAfterMs: NEVER_MS } as const;
  return JSON.parse((await runPetstore([TERMINALS], options)).stdout) as Done;
}

const agent = new Agent({ keepAlive: true });

/** Returns how long the service takes for its list, asked with another key, ms. */
function probe(baseUrl: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const from = performance.now();
    get(`${baseUrl}/inventory`, { agent, headers: { authorization: `Bearer ${PROBE_KEY}` } }, (response) => {
      response.resume().on('end', () => {
        resolve(performance.now() - from);
      });
    }).on('error', reject);
  });
}

function at(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN;
}

function timesLine(what: string, times: readonly number[]): string {
  return `${what}: p50 ${at(times, 0.5).toFixed(1)} ms, p99 ${at(times, 0.99).toFixed(1)} ms (${times.length} requests)`;
}
