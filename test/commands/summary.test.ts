/** `petstore inventory summary` in this process: one request, exact sums, bars only for people. */
import { describe, expect, it } from 'vitest';
import { runIn as run, withReplies, type Ran } from '../support/in-process.ts';
import { item, json } from '../support/replies.ts';
import type { TestContextOptions } from '../support/test-context.ts';

const STOCK = [
  item(1, 5),
  item(2, 0),
  item(3, -2),
  item(4, 2n ** 53n),
  item(5, 2n ** 53n + 1n),
  item(6, 1, 'sold'),
  item(7, 0, 'sold'),
  item(8, 10n ** 30n, 'pending'),
];

function summary(args: readonly string[], options: TestContextOptions = {}, stock: unknown = STOCK): Promise<Ran> {
  return run(withReplies([json(stock)], options), 'inventory', 'summary', ...args);
}

describe('inventory summary', () => {
  it('has shares, bars and the total in its table', async () => {
    expect(await summary([])).toEqual({
      code: 0,
      stdout: [
        'Status     Pets  Share                                               Quantity  Out of stock',
        'available     5   63 %  ████████████▌                       18014398509481988             2',
        'pending       1   13 %  ██▌                   1000000000000000000000000000000             0',
        'sold          2   25 %  █████                                               1             1',
        'total         8  100 %                        1000000000000018014398509481989             3',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  it.each([
    [
      'csv',
      `status,pets,quantity,outOfStock
available,5,18014398509481988,2
pending,1,1000000000000000000000000000000,0
sold,2,1,1
`,
    ],
    [
      'ndjson',
      `{"status":"available","pets":5,"quantity":18014398509481988,"outOfStock":2}
{"status":"pending","pets":1,"quantity":1000000000000000000000000000000,"outOfStock":0}
{"status":"sold","pets":2,"quantity":1,"outOfStock":1}
`,
    ],
  ])('in %s has the plain numbers, without a total', async (format, stdout) => {
    expect(await summary(['-o', format])).toEqual({ code: 0, stdout, stderr: '' });
  });

  it.each([
    [
      ['--min', '1', '--status', 'sold,available'],
      ['available,3,18014398509481990,0', 'sold,1,1,0'],
    ],
    [
      ['--pet', '6,7'],
      ['available,0,0,0', 'pending,0,0,0', 'sold,2,1,1'],
    ],
  ])('%j filters as the list does', async (args, rows) => {
    const { stdout } = await summary([...args, '-o', 'csv']);
    expect(stdout.trimEnd().split('\n').slice(1)).toEqual(rows);
  });

  it('has a row for each status beyond the contract, and warns as the list does', async () => {
    const stock = [item(1, 1, 'total'), item(2, 2, 'lost'), item(3, 3, 'sold'), item(4, 4, 'lost')];
    const { stdout, stderr } = await summary(['--pet', '1', '2', '3', '4', '99', '-o', 'csv'], {}, stock);
    const rows = ['available,0,0,0', 'pending,0,0,0', 'sold,1,3,0', 'lost,2,6,0', 'total,1,1,0'];
    expect(stdout.trimEnd().split('\n').slice(1)).toEqual(rows);
    expect(stderr).toMatch(/does not list: total, lost\.\n.*: pet 99\.\n$/);
  });

  it('fails as the list does, and prints nothing', async () => {
    const ran = await summary([], {}, [item(1, 5), { petId: 2, quantity: 'many', status: 'sold' }]);
    expect([ran.code, ran.stdout]).toEqual([8, '']);
  });
});
