/** Whole commands against services that imitate well-known services and gateways. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runIn, STAGING_ENV } from '../support/in-process.ts';
import { item } from '../support/replies.ts';
import { createTestContext } from '../support/test-context.ts';
import { httpReply } from '../support/test-ports.ts';
import { type Dialect, DIALECTS } from './dialects.ts';

const WINDOW_S = 90;
const LIMIT = 3;

/** One window that begins with the first request. @param isSpent another client takes all of it after the first one */
function speaking({ limits, refusal, status = 429 }: Dialect, isSpent: boolean) {
  const statuses: number[] = [];
  let used = 0;
  let end: number | undefined;
  const context = createTestContext({
    env: STAGING_ENV,
    http({ method, url }) {
      const now = context.clock.now() / 1_000;
      end ??= now + WINDOW_S;
      used += isSpent && used === 0 ? LIMIT + 1 : 1;
      const isRefused = used > LIMIT;
      const counted = {
        limit: LIMIT,
        remaining: Math.max(0, LIMIT - used),
        left: Math.ceil(end - now),
        end: Math.ceil(end),
      };
      const pet = item(Number(url.pathname.split('/').at(-1)), 5);
      const reply = {
        status: isRefused ? status : 200,
        headers: { ...limits(counted), ...(isRefused && refusal(counted)) },
        limits: false,
        json: isRefused ? {} : method === 'GET' ? [] : pet,
      } as const;
      statuses.push(reply.status);
      return httpReply(reply, context.clock.now());
    },
  });
  const run = async (...args: string[]) => {
    const { code, stderr } = await runIn(context, '--json', 'inventory', ...args);
    const failed = stderr.split('\n').find((line) => line.startsWith('{"error"')) ?? '{}';
    const { error } = JSON.parse(failed) as { error?: { retryAt?: string } };
    return { code, retryAt: Date.parse(error?.retryAt ?? '') };
  };
  return { context, statuses, run };
}

describe.each(DIALECTS.map((dialect) => ({ ...dialect })))('$name', (dialect) => {
  it('fault 31: a refusal for 90 s: nothing more is sent', async () => {
    const { context, statuses, run } = speaking(dialect, true);
    const file = join(context.home.path, 'stock.csv');
    writeFileSync(file, 'petId,quantity\n1,5\n2,5\n');
    const from = context.clock.now();
    const runs = [
      await run('set', '1', '5', '--max-wait', '1s'),
      await run('list', '--max-wait', '1s'),
      await run('import', file, '--yes', '--no-wait'),
      await run('set', '2', '5', '--max-wait', '1s'),
    ];
    const { status = 429, isNamed } = dialect;
    const code = status === 403 ? 12 : 6;
    expect({ statuses, codes: runs.map((each) => each.code) }).toEqual({
      statuses: [status],
      codes: [code, code, code, code],
    });
    const leastMs = (isNamed ? WINDOW_S : 60) * 1_000 - 5_000;
    for (const { retryAt } of runs.slice(1)) expect(retryAt - from).toBeGreaterThanOrEqual(leastMs);
  });

  it.runIf(dialect.hasLimits)('with the key to itself it is never refused', async () => {
    const { statuses, run } = speaking(dialect, false);
    for (let pet = 1; pet <= LIMIT + 2; pet++) await run('set', `${pet}`, '5', '--max-wait', '3s');
    expect(statuses).toEqual(Array.from({ length: LIMIT }, () => 200));
  });
});

it('without limit headers, an import says so once, not before each row', async () => {
  const context = createTestContext({
    env: STAGING_ENV,
    http: ({ method, url }) => {
      const pets = Array.from({ length: 8 }, (_, i) => item(i + 1, 0));
      const pet = item(Number(url.pathname.split('/').at(-1)), 5);
      return httpReply({ limits: false, json: method === 'GET' ? pets : pet }, context.clock.now());
    },
  });
  const file = join(context.home.path, 'stock.csv');
  writeFileSync(file, `petId,quantity\n${[1, 2, 3, 4, 5, 6, 7, 8].map((pet) => `${pet},5\n`).join('')}`);
  const { code, stderr } = await runIn(context, 'inventory', 'import', file, '--yes', '--wait', '--reserve', '0');
  expect(code).toBe(0);
  const notes = stderr.split('\n').filter((line) => /unknown|pace|one a second/i.test(line));
  expect(notes.length).toBeLessThanOrEqual(2);
});
