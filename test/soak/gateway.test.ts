import { expect, it } from 'vitest';
import { soakGateway } from './gateway.ts';

it('terminals with HTTPS connections lose no change on one gateway, and the service refuses nothing', async () => {
  const load = { clients: 20, turns: 3, everyMs: 50, hurriedTurns: 3 };
  const { lines, problems } = await soakGateway(load, 1_000);
  expect(problems).toEqual([]);
  expect(lines[2]).toMatch(/^40 changes were acknowledged, 40 are in the stock, 40 in the history$/);
});
