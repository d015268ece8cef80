import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../src/proxy/lane.ts';
import { mulberry32 } from '../support/test-ports.ts';

function takeAll(queue: FairQueue<string>): string[] {
  const taken = [];
  for (let entry = queue.take(); entry !== undefined; entry = queue.take()) taken.push(entry);
  return taken;
}

function queueOf(...entries: string[]): FairQueue<string> {
  const queue = new FairQueue<string>();
  for (const entry of entries) queue.add(entry[0]!, entry);
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
    expect(queue.take()).toBe('a1');
    queue.add('a', 'a2');
    expect(takeAll(queue)).toEqual(['b1', 'a2', 'b2']);
  });

  it('an entry can leave once, and is not taken', () => {
    const queue = queueOf('a1', 'a2', 'b1');
    expect(queue.remove('a', 'a1')).toBe(true);
    expect(queue.remove('a', 'a1')).toBe(false);
    expect(queue.remove('c', 'c1')).toBe(false);
    expect(queue.size).toBe(2);
    expect(takeAll(queue)).toEqual(['a2', 'b1']);
    expect(queue.size).toBe(0);
  });

  it('after any steps: the order within a client, the size, and how many are ahead are right', () => {
    const random = mulberry32(3);
    const pick = (from: string): string => from[Math.floor(random() * from.length)]!;
    const queue = new FairQueue<string>();
    const waiting: string[] = [];
    const last = new Map<string, number>();
    for (let step = 0; step < 3_000; step++) {
      const client = pick('abcd');
      const dice = random();
      if (dice < 0.5) {
        const number = (last.get(client) ?? 0) + 1;
        last.set(client, number);
        waiting.push(`${client}${number}`);
        queue.add(client, `${client}${number}`);
      } else if (dice < 0.9) {
        const taken = queue.take();
        expect(taken).toBe(waiting.find((each) => each[0] === taken?.[0]));
        if (taken !== undefined) waiting.splice(waiting.indexOf(taken), 1);
      } else if (waiting.length > 0) {
        const entry = waiting.splice(Math.floor(random() * waiting.length), 1)[0]!;
        expect(queue.remove(entry[0]!, entry)).toBe(true);
      }
      expect(queue.size).toBe(waiting.length);
      if (step % 50 === 0) expectAhead(queue, waiting);
    }
  });
});

/** Compares `ahead` with what is taken before the next entry of each client, and puts all of it back in its place. */
function expectAhead(queue: FairQueue<string>, waiting: readonly string[]): void {
  for (const client of 'abcde') {
    const expected = queue.ahead(client);
    queue.add(client, 'next');
    const taken = takeAll(queue);
    expect(taken.indexOf('next')).toBe(expected);
    for (const entry of taken) if (entry !== 'next') queue.add(entry[0]!, entry);
    expect(queue.size).toBe(waiting.length);
  }
}
