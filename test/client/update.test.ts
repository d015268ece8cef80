/** What becomes of a write whose answer is lost: the list shows that it was applied, it is sent again, or stays unknown. */
import { describe, expect, it } from 'vitest';
import type { Service } from '../../src/client/service.ts';
import { checkCondition, isOutdated, type Update, updateInventory } from '../../src/client/update.ts';
import { Failure, isFailure } from '../../src/errors.ts';
import { HttpFailure, type HttpReply } from '../../src/ports.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { failure, reply, scriptedService, type Send } from './scripted-service.ts';

const HOST = 'pets.example';

/**
 * `lost`: no answer. A status. `late`: two seconds pass before the first byte, and more
 * than one makes the list too old. `list N`: the quantity in the list, or none. `mistake`: an error of the program.
 */
type Step = 'lost' | 'stored' | 'late' | 'mistake' | number | `list ${string}`;

const stored = (petId: number, quantity: number | string): string =>
  `{"petId":${petId},"quantity":${quantity},"status":"available"}`;

function sendOf(step: Step, clock: VirtualClock): Send {
  return async (_request, maySend) => {
    if (step === 'late') await clock.sleep(2_000);
    if (!maySend()) throw HttpFailure.withdrawn(HOST);
    if (step === 'mistake') throw new TypeError('a mistake');
    if (step === 'lost') throw failure('reset', true);
    if (typeof step === 'number') return reply(step);
    if (step === 'stored' || step === 'late') return reply(200, stored(7, 12));
    const quantity = step.slice('list '.length);
    return reply(200, quantity === 'none' ? '[]' : `[${stored(7, quantity)}]`);
  };
}

/** Sends the update 10 → 12, and returns what came of it, with the methods that were sent. */
async function run(steps: readonly Step[], { retryForMs = 0, ...update }: Partial<Update> & { retryForMs?: number }) {
  const clock = new VirtualClock({ autoAdvance: true });
  const sends = steps.map((step) => sendOf(step, clock));
  const { service } = scriptedService(sends, { clock, maxWaitMs: 60_000, maxBodyBytes: 1 << 20, retryForMs });
  return updateInventory(service, { petId: 7n, quantity: 12n, before: 10n, ...update }).then(
    ({ quantity }) => `has ${quantity}`,
    (error: unknown) => {
      if (!isFailure(error)) return String(error);
      if (isOutdated(error)) return 'outdated';
      if (!error.is('outcome-unknown') || !('looked' in error.details)) return error.kind;
      const { because, found, looked } = error.details;
      const seen = looked ? `looked${found === undefined ? '' : `, found ${found}`}` : 'not looked';
      const attempts = because.is('network') ? because.details.attempts : 0;
      return `unknown: ${seen}, ${because.kind} after ${attempts}`;
    },
  );
}

describe('a write whose answer is lost', () => {
  it.each<[title: string, steps: Step[], expected: string, options?: Parameters<typeof run>[1]]>([
    ['was applied', ['lost', 'list 12'], 'has 12'],
    ['was applied, says a list that fails at first', [503, 503, 'list 12'], 'has 12'],
    ['was not applied, and is sent again', ['lost', 'list 10', 'stored'], 'has 12'],
    ['is lost twice, and applied the second time', ['lost', 'list 10', 'lost', 'list 12'], 'has 12'],
    ['is not sent a third time', ['lost', 'list 10', 'lost', 'list 10'], 'unknown: looked, network after 2'],
    ['is lost twice, as is the list in the end', ['lost', 'list 10', 'lost', 'lost', 'lost', 'lost'], 'unknown: not looked, network after 3'],
    ['is sent as long as --retry-for lasts', [500, 'list 10', 500, 'list 10', 500, 'list 10', 'stored'], 'has 12', { retryForMs: 60_000 }],
    ['met another change', ['lost', 'list 11'], 'unknown: looked, found 11, network after 1'],
    ['met another change when it was lost again', ['lost', 'list 10', 'lost', 'list 11'], 'unknown: looked, found 11, network after 2'],
    ['is of a pet that is gone', ['lost', 'list none'], 'unknown: looked, network after 1'],
    ['overwrote an unknown quantity, and is sent again over the same one', ['lost', 'list 4', 'stored'], 'has 12', { before: undefined }],
    ['is refused when it is sent again: the first may still come', ['lost', 'list 10', 400], 'unknown: looked, rejected after 0'],
    ['cannot be looked for', ['lost', 401], 'unknown: not looked, unauthorized after 0'],
    ['cannot be looked for, nor any list be read', ['lost', 'lost', 'lost', 'lost'], 'unknown: not looked, network after 3'],
    ['meets a mistake of the program when it is sent again', ['lost', 'list 10', 'mistake'], 'TypeError: a mistake'],
  ])('%s', async (_title, steps, expected, options = {}) => {
    expect(await run(steps, options)).toBe(expected);
  }); // prettier-ignore

  it('is not sent again after a list that is too old by then: the list is read again, at most three times', async () => {
    expect(await run(['lost', 'list 10', 'late', 'list 10', 'stored'], {})).toBe('has 12');
    expect(await run(['lost', 'list 10', 'late', 'list 12'], {})).toBe('has 12');
    expect(await run(['lost', 'list 10', 'late', 'list 10', 'late', 'list 10', 'late'], {})).toBe(
      'unknown: looked, network after 1',
    );
  });

  it('is not sent where its lock is gone', async () => {
    let isHeld = true;
    const lock = { isHeld: () => isHeld };
    expect(await run(['lost', 'list 10', 'stored'], { lock })).toBe('has 12');
    const confirm = (): Promise<void> => {
      isHeld = false;
      return Promise.resolve();
    };
    expect(await run(['stored'], { lock: { ...lock, confirm } })).toBe('outdated');
  });
});

/** Runs `use` with a service that answers once. */
const answering = <T>(answer: HttpReply, use: (service: Service) => Promise<T>) =>
  use(scriptedService([() => Promise.resolve(answer)], { maxBodyBytes: 1 << 22 }).service);

describe('a signal while a write is under way', () => {
  /** `step`: what the service answers once the signal has come. */
  async function interrupted(step: Step): Promise<unknown> {
    const clock = new VirtualClock({ autoAdvance: true });
    const send: Send = (request, maySend, ...rest) => {
      const isSent = maySend();
      stop.abort(new Failure('interrupted', { signal: 'SIGTERM' }));
      return sendOf(step, clock)(request, () => isSent, ...rest);
    };
    const { service, stop } = scriptedService([send], { clock, maxBodyBytes: 1 << 20 });
    return updateInventory(service, { petId: 7n, quantity: 12n }).catch((error: unknown) => error);
  }

  it('that is refused does not hide the refusal', async () => {
    expect(await interrupted(400)).toMatchObject({ kind: 'rejected' });
  });
});

describe('If-Match of an update', () => {
  it.each([
    [' "10" ', 10n],
    ['"-3"', -3n],
  ])('%j is compared with the list', async (text, quantity) => {
    const list = reply(200, `[${stored(7, String(quantity))}]`);
    expect(await answering(list, (service) => checkCondition(service, 7n, text))).toBe(quantity);
  });

  it.each(['10', '"011"', '"1e1"', '""', 'W/"10"', '"10", "11"'])(
    '%s is refused before anything is sent',
    async (text) => {
      await expect(checkCondition(scriptedService([]).service, 7n, text)).rejects.toMatchObject({ kind: 'usage' });
    },
  );
});
