/**
 * Long runs outside CI, against a sandbox. They fail if something grows that must not. They need Linux and the build.
 *
 *   npm run soak -- [--minutes 60]                                    everyday work, with faults: everyday.ts
 *   npm run soak -- gateway [--clients 1000] [--for 10m] [--every 10s]   a chain of shops on one gateway: gateway.ts
 */
import { parseArgs } from 'node:util';
import { parseDuration } from '../../src/duration.ts';
import compileCache from '../support/compile-cache.ts';
import { withCleanup } from '../support/cleanup.ts';
import { soakGateway } from './gateway.ts';
import { judge, warmUpOf } from './growth.ts';

if (process.argv[2] === 'gateway') await gateway(process.argv.slice(3));
else await import('./everyday.ts');

async function gateway(args: string[]): Promise<void> {
  const options = {
    clients: { type: 'string', default: '1000' },
    for: { type: 'string', default: '10m' },
    every: { type: 'string', default: '10s' },
  } as const;
  const { values } = parseArgs({ args, options });
  const clients = Number(values.clients);
  const [forMs, everyMs] = [values.for, values.every].map((text) => parseDuration(text) ?? Number.NaN);
  if (!(clients >= 1 && everyMs! >= 1 && forMs! >= 3 * everyMs!))
    throw new Error('--for: three times --every at least');
  const endCache = compileCache();
  const load = { clients, turns: Math.floor(forMs! / everyMs!), everyMs: everyMs!, hurriedTurns: 3 };
  const { lines, problems, samples } = await withCleanup(() => soakGateway(load, forMs! / 60));
  endCache();
  const growth = judge(samples, warmUpOf(forMs!));
  problems.push(...growth.problems);
  for (const line of [...lines, ...growth.lines, ...problems.map((each) => `FAIL ${each}`)])
    process.stdout.write(`${line}\n`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
