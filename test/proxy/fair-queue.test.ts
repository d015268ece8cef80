import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../src/proxy/fair-queue.ts';
import { mulberry32 } from '../support/test-ports.ts';

interface Asked {
  readonly client: string;
  readonly name: string;
}

function take(queue: FairQueue<Asked>): string | undefined {
  const [first] = queue.first(1);
  if (first !== undefined) queue.remove(first, true);
  return first?.name;
}

function takeAll(queue: FairQueue<Asked>): string[] {
  const taken = [];
  for (let name = take(queue); name !== undefined; name = take(queue)) taken.push(name);
  return taken;
}

const asked = (name: string): Asked => ({ client: name[0]!, name });

function queueOf(...names: readonly string[]): FairQueue<Asked> {
  const queue = new FairQueue<Asked>();
  for (const name of names) queue.add(asked(name));
  return queue;
}

describe('FairQueue', () => {
  it.each([
    [[], []],
    [
      ['a1', 'a2', 'a3'],
      ['a1', 'a2', 'a3'],
    ],
    [
      ['a1', 'a2', 'a3', 'b1'],
      ['a1', 'b1', 'a2', 'a3'],
    ],
    [
      ['a1', 'b1', 'a2', 'c1', 'b2', 'a3'],
      ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'],
    ],
  ])('%j are taken as %j', (added, taken) => {
    expect(takeAll(queueOf(...added))).toEqual(taken);
  });

  it('a client that comes back does not get ahead of one that waits', () => {
    const queue = queueOf('a1', 'b1', 'b2');
    expect(take(queue)).toBe('a1');
    queue.add(asked('a2'));
    expect(takeAll(queue)).toEqual(['b1', 'b2', 'a2']);
  });

  it('a client that always comes back does not starve one that waits', () => {
    const queue = queueOf('a1', 'b1', 'b2', 'b3');
    const taken: (string | undefined)[] = [];
    for (let i = 2; i < 8; i++) {
      taken.push(take(queue));
      queue.add(asked(`a${i}`));
    }
    expect(taken.filter((name) => name?.startsWith('b'))).toEqual(['b1', 'b2', 'b3']);
  });

  it('a request that leaves costs its client no turn', () => {
    const queue = queueOf('b1', 'b2');
    for (let i = 0; i < 10; i++) {
      const gone = asked('a');
      queue.add(gone);
      queue.remove(gone, false);
      queue.remove(gone, true);
    }
    queue.add(asked('a1'));
    expect(queue.size).toBe(3);
    expect(takeAll(queue)).toEqual(['b1', 'a1', 'b2']);
  });

  it('after any steps: the order within a client, the size, how many are ahead, and no client twice in a round', () => {
    const random = mulberry32(3);
    const pick = (from: string): string => from[Math.floor(random() * from.length)]!;
    const queue = new FairQueue<Asked>();
    const waiting: Asked[] = [];
    let count = 0;
    for (let step = 0; step < 3_000; step++) {
      const dice = random();
      if (dice < 0.5) {
        const one = asked(`${pick('abcd')}${++count}`);
        const ahead = queue.ahead(one.client);
        queue.add(one);
        waiting.push(one);
        expect(queue.first(count).indexOf(one)).toBe(ahead);
      } else if (dice < 0.9) {
        const taken = take(queue);
        const first = waiting.find(({ client }) => client === taken?.[0]);
        expect(taken).toBe(first?.name);
        if (first !== undefined) waiting.splice(waiting.indexOf(first), 1);
      } else if (waiting.length > 0) {
        const [gone] = waiting.splice(Math.floor(random() * waiting.length), 1);
        queue.remove(gone!, false);
      }
      expect(queue.size).toBe(waiting.length);
    }
    // With nobody coming, those who still wait alternate.
    const clients = new Set(waiting.map(({ client }) => client));
    const order = takeAll(queue).map((name) => name[0]!);
    expect(new Set(order.slice(0, clients.size + 1)).size).toBeGreaterThanOrEqual(Math.min(2, clients.size));
  });
});
