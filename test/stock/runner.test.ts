import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import type { Store } from '../../src/sandbox/sandbox-store.ts';
import { generatedPets } from '../../src/sandbox/seed.ts';
import { DatabaseFailure } from '../../src/ports.ts';
import { item, json } from '../support/replies.ts';
import { httpReply } from '../support/test-ports.ts';
import { runIn, STAGING_ENV, withReplies } from '../support/in-process.ts';
import { answerFrom, newStore } from '../support/sandbox.ts';
import { scaled } from '../support/scale.ts';
import { createTestContext, type TestContext } from '../support/test-context.ts';

it('rows that add to the stock: exactly, and never below zero unless that is meant', async () => {
  const stock = json([item(1, 10), item(2, 6), item(3, 6), item(4, 8), item(5, 10), item(6, -3)]);
  const text = 'petId,delta,current\n1,3,\n2,0,\n3,-7,\n4,1,9\n9,1,\n5,9223372036854775807,\n6,-1,\n';
  const context = withReplies([stock, stock], { stdin: { text } });
  const planned = ['inventory', 'import', '-', '--dry-run', '-o', 'csv'];
  expect((await runIn(context, ...planned)).stdout.split('\n').slice(1, -1)).toEqual([
    '1,10,13,3,',
    '5,10,9223372036854775817,9223372036854775807,',
    '3,6,-1,-7,"not enough: 6 in stock, 7 to take away"',
    '4,8,9,1,"the file expects 9, but there are 8"',
    '9,,1,,the service does not have this pet',
    '6,-3,-4,-1,"not enough: -3 in stock, 1 to take away"',
  ]);
  expect((await runIn(context, ...planned, '--allow-negative')).stdout).toContain('\n3,6,-1,-7,\n');
});

interface World {
  readonly context: TestContext;
  readonly store: Store;
  /** The status of each update. */
  readonly sent: number[];
}

/** The sandbox's handler on virtual time. */
async function world(perMinute: number, stdin = '', latencyMs = 0): Promise<World> {
  const store = await newStore();
  const sent: World['sent'] = [];
  const context: TestContext = createTestContext({
    env: { ...STAGING_ENV },
    stdin: { text: stdin },
    async http(request) {
      if (latencyMs > 0) await context.clock.sleep(latencyMs);
      const reply = await answerFrom(store, { perMinute, perDay: 1_000_000 }, context, request);
      if (request.method === 'PATCH') sent.push(reply.status);
      return reply;
    },
  });
  return { context, store, sent };
}

const csv = (rows: readonly (readonly [number, number])[]): string =>
  ['petId,quantity', ...rows.map((row) => row.join(','))].join('\n');

it.each([
  ['three thousand rows', 'at once', 3_000, 0],
  ['two thousand rows', 'after 1.2 s each', 2_000, 1_200],
])(
  '%s on the Business plan, answered %s: no 429, every full window used to at least 98 %%',
  { timeout: 240_000 },
  async (_rows, _answered, most, latencyMs) => {
    const count = Math.max(scaled(most), 1_000);
    const rows = Array.from({ length: count }, (_, i) => [i + 24, 500 + (i % 7)] as const);
    const { context, store, sent } = await world(1_000, csv(rows), latencyMs);
    store.replacePets(generatedPets(count + 25));
    const began = context.clock.now();
    const line = ['inventory', 'import', '-', '--wait', '--yes', '--json', '--quiet'];
    const { code, stdout, stderr } = await runIn(context, ...line);
    expect(stderr).toBe('');
    const minutes = (context.clock.now() - began) / 60_000;
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { failed: 0, conflicts: 0, unknown: 0, left: 0 }]);
    expect(sent.filter((status) => status !== 200)).toEqual([]);
    // Windows begin with their first request, and hold the list once each.
    const windows = Math.ceil(minutes);
    expect(sent.length / ((windows - 1) * 1_000)).toBeGreaterThanOrEqual(0.98);
  },
);

it.each([
  [429, 6, 'rate-limited', { applied: 0, failed: 0, left: 1 }],
  [404, 11, 'run-incomplete', { applied: 0, failed: 1, left: 0 }],
  [200, 3, 'unrecorded', { applied: 1, failed: 0, left: 0 }],
])('faults 115, 137: a %i that cannot be recorded is reported as what it is', async (status, exit, kind, counts) => {
  const stock = json([{ petId: 7, quantity: 10, status: 'sold' }]);
  let isFull = false;
  const context = createTestContext({
    env: { ...STAGING_ENV },
    stdin: { text: csv([[7, 12]]) },
    http({ method }) {
      isFull = method === 'PATCH';
      const reply = isFull ? json({ petId: 7, quantity: 12, status: 'sold' }, { status }) : stock;
      return httpReply(reply, context.clock.now());
    },
  });
  const openDatabase: typeof context.openDatabase = async (...file) => {
    const database = await context.openDatabase(...file);
    const exec = (sql: string): void => {
      if (isFull && sql.startsWith('BEGIN')) throw new DatabaseFailure('full', 'the disk is full');
      database.exec(sql);
    };
    return { ...database, exec };
  };
  const args = ['inventory', 'import', '-', '--yes', '--json', '--no-wait'];
  const { code, stdout, stderr } = await runIn({ ...context, openDatabase }, ...args);
  expect([code, JSON.parse(stdout)]).toMatchObject([exit, { ...counts, unknown: 0 }]);
  expect(JSON.parse(stderr.trimEnd().split('\n').at(-1)!)).toMatchObject({ error: { kind } });
});

describe('whatever imports, undos, redos, adjustments and other tills do', () => {
  type Step =
    | { readonly does: 'import'; readonly rows: readonly (readonly [number, number])[] }
    | { readonly does: 'adjust'; readonly pet: number; readonly by: number }
    | { readonly does: 'undo' | 'redo' }
    | { readonly does: 'sell elsewhere'; readonly pet: number; readonly to: number };
  const pet = fc.integer({ min: 1, max: 5 });
  const quantity = fc.nat(20);
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({
      does: fc.constant('import' as const),
      rows: fc.uniqueArray(fc.tuple(pet, quantity), { minLength: 1, maxLength: 5, selector: ([id]) => id }),
    }),
    fc.record({ does: fc.constant('adjust' as const), pet, by: fc.integer({ min: -5, max: 5 }) }),
    fc.record({ does: fc.constantFrom('undo' as const, 'undo' as const, 'redo' as const) }),
    fc.record({ does: fc.constant('sell elsewhere' as const), pet, to: quantity }),
  );

  it('the stock is what a plain model says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
        const { context, store } = await world(1_000_000);
        const present = (): Map<number, number> =>
          new Map(store.page(undefined, 5).map((each) => [Number(each.petId), Number(each.quantity)]));
        const model = present();
        type Command = readonly { readonly pet: number; readonly before: number; readonly after: number }[];
        const commands: Command[] = [];
        // Newest last: what undo takes back, and what redo brings back and how.
        const done = new Set<number>();
        const undone: { readonly of: number; readonly did: Command }[] = [];
        let command: { pet: number; before: number; after: number }[] = [];
        const set = (id: number, after: number): void => {
          const before = model.get(id)!;
          if (before === after) return;
          command.push({ pet: id, before, after });
          model.set(id, after);
        };
        /** Returns whether the command is reversed, and leaves what that did in `command`. */
        const reverse = (changes: Command): boolean => {
          const isConflict = changes.some(({ pet, before, after }) => ![before, after].includes(model.get(pet)!));
          for (const { pet, before, after } of changes) if (model.get(pet) === after) set(pet, before);
          return command.length > 0 || !isConflict;
        };
        for (const each of steps) {
          command = [];
          if (each.does === 'sell elsewhere') {
            store.setQuantity(BigInt(each.pet), BigInt(each.to));
            model.set(each.pet, each.to);
          } else if (each.does === 'adjust') {
            await runIn(context, 'inventory', 'adjust', String(each.pet), String(each.by), '--quiet', '-y');
            if (model.get(each.pet)! + each.by >= 0) set(each.pet, model.get(each.pet)! + each.by);
          } else if (each.does === 'import') {
            const file = `${context.home.path}/rows.csv`;
            const log = await context.files.append(file, () => undefined);
            log.write(csv(each.rows));
            await log.close();
            await runIn(context, 'inventory', 'import', file, '--quiet', '-y');
            await context.files.remove(file);
            for (const [id, after] of each.rows) set(id, after);
          } else {
            await runIn(context, 'inventory', each.does, '--quiet', '-y');
            const newest = each.does === 'undo' ? Math.max(...done) : undone.at(-1)?.of;
            const changes = each.does === 'undo' ? commands[newest!] : undone.at(-1)?.did;
            if (newest === undefined || changes === undefined || !reverse(changes)) continue;
            if (each.does === 'redo') {
              undone.pop();
              done.add(newest);
            } else {
              done.delete(newest);
              if (command.length > 0) undone.push({ of: newest, did: command });
            }
            continue;
          }
          if (command.length === 0) continue;
          done.add(commands.push(command) - 1);
          undone.length = 0;
        }
        expect(present()).toEqual(model);
      }),
      { numRuns: scaled(60) },
    );
  });
});
