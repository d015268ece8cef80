/** What becomes of a run's requests that wait when it ends. */
import { expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import type { Connection } from '../../src/ports.ts';
import type { Session } from '../../src/session/connect.ts';
import { Pace } from '../../src/stock/concurrency.ts';
import { scriptedService } from '../client/scripted-service.ts';

const CONNECTION: Connection = { isOpen: true, release: () => undefined, send: () => Promise.reject(new Error()) };

it('a request that was refused for the answer of another one is not sent once the run has ended', async () => {
  const { service, clock, events } = scriptedService([]);
  let isAsking = false;
  const enter: typeof service.gate.enter = (...call) => {
    if (!isAsking) return service.gate.enter(...call);
    isAsking = false;
    return Promise.reject(new Failure('rate-limited', { why: 'asking', retryAt: 0, waitMs: 1, maxWaitMs: 0 }));
  };
  const session: Pick<Session, 'isAlone' | 'service'> = {
    isAlone: () => false,
    service: { ...service, gate: { enter } },
  };
  const pace = new Pace(session as Session);
  const request = () => pace.service.gate.enter('PATCH /inventory/{id}', () => Promise.resolve(CONNECTION));
  for (let i = 0; i < 100 && pace.concurrency < 2; i++) await (await request()).ticket.answered(200, new Map(), 0);
  expect(pace.concurrency).toBe(2);
  await request();
  events.length = 0;
  isAsking = true;
  const refused = request();
  await clock.turn();
  pace.end();
  await expect(refused).rejects.toBeInstanceOf(Failure);
  expect(events).toEqual([]);
});
