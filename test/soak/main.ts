/**
 * Long runs outside CI, against a sandbox. They fail if something grows that must not. They need Linux and the build.
 *
 *   npm run soak -- [--minutes 60]                                    everyday work, with faults: everyday.ts
 *   npm run soak -- gateway [--clients 1000] [--for 10m] [--every 10s]   a chain of shops on one gateway: gateway.ts
 */
import { parseArgs } from 'node:util';
import { parseDuration } from '../../src/duration.ts';
import { answerHelp } from '../bench/report.ts';
import compileCache from '../support/compile-cache.ts';
import { withCleanup } from '../support/cleanup.ts';
import { soakEveryday } from './everyday.ts';
import { soakGateway } from './gateway.ts';
import { judge, warmUpOf } from './growth.ts';

answerHelp(import.meta.url);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '60' },
    clients: { type: 'string', default: '1000' },
    for: { type: 'string', default: '10m' },
    every: { type: 'string', default: '10s' },
  },
});
const [everyMs = 0, ofGateway = 0] = [values.every, values.for].map((text) => parseDuration(text) ?? Number.NaN);
const isGateway = positionals[0] === 'gateway';
const lengthMs = isGateway ? ofGateway : Number(values.minutes) * 60_000;
if (!(lengthMs >= 30_000)) throw new Error('Half a minute is the least.');
const load = { clients: Number(values.clients), turns: Math.floor(lengthMs / everyMs), everyMs, hurriedTurns: 3 };
if (isGateway && !(load.clients >= 1 && load.turns >= 3)) throw new Error('--for: three times --every at least');

const endCache = compileCache();
const { lines, problems, samples } = await withCleanup(() =>
  isGateway ? soakGateway(load, lengthMs / 60) : soakEveryday(lengthMs),
);
endCache();
const growth = judge(samples, warmUpOf(lengthMs));
problems.push(...growth.problems);
for (const line of [...lines, ...growth.lines, ...problems.map((each) => `FAIL ${each.trim()}`)])
  process.stdout.write(`${line}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
