/** `inventory list` and `get` in this process: choice of pets, number of rows, columns. */
import { describe, expect, it } from 'vitest';
import { type Ran, runIn, STAGING_ENV, withReplies } from '../support/in-process.ts';
import { error, item, json } from '../support/replies.ts';

const MAX = '9223372036854775807';
const body = `[{"petId":1,"quantity":5,"status":"sold"},{"petId":7,"quantity":2,"status":"available","shelf":"A"},{"petId":${MAX},"quantity":9,"status":"pending"}]`;

const list = (...args: string[]): Promise<Ran> =>
  runIn(withReplies([{ body, headers: { 'Content-Type': 'application/json' } }]), 'inventory', ...args);
/** Of a call that sends nothing. */
const refused = (...args: string[]): Promise<Ran> => runIn(withReplies([]), ...args);

describe('which pets', () => {
  it.each<[string, string[]]>([
    [`list 7 ${MAX}`, ['7', MAX]],
    ['ls 7', ['7']],
    ['list 7 --pet 1', ['1', '7']],
    ['list -n 2', ['1', '7']],
    ['list --limit 2 --sort -quantity', [MAX, '1']],
    ['list --limit 1 --min 3', ['1']],
    ['list -n 7', ['1', '7', MAX]],
    ['list --status SOLD', ['1']],
  ])('%s: %j', async (line, ids) => {
    const { code, stdout } = await list(...line.split(' '), '-o', 'csv', '--columns', 'PETID', '--no-header');
    expect([code, stdout]).toEqual([0, ids.map((id) => `${id}\n`).join('')]);
  });

  it('--limit 0 is refused before anything is sent', async () => {
    const { code, stderr } = await refused('inventory', 'list', '--limit', '0');
    expect([code, stderr]).toEqual([2, 'error: --limit must be a whole number from 1 to 1000000, not "0".\n']);
  });
});

describe('a column', () => {
  it('that a pet has beyond the contract is shown', async () => {
    const { code, stdout } = await list('list', '-o', 'csv', '--columns', 'petId,shelf');
    expect([code, stdout]).toEqual([0, `petId,shelf\n1,\n7,A\n${MAX},\n`]);
  });

  it.each(['csv', 'table'])('of numbers has no prefix, however they are written: %s', async (format) => {
    const reply = { body: body.replace('"A"', '-1.50'), headers: { 'Content-Type': 'application/json' } };
    const { stdout } = await runIn(withReplies([reply]), 'inventory', 'list', '7', '--columns', 'shelf', '-o', format);
    expect(stdout).toBe('shelf\n-1.50\n');
  });

  it.each(['table', 'csv', 'ndjson', 'json'])(
    'that no pet has is refused, and no row is printed: %s',
    async (format) => {
      const { code, stdout, stderr } = await list('list', '-o', format, '--columns', 'id,qty,petId');
      expect([code, stdout.replace(/^\[\n?$/, '')]).toEqual([2, '']);
      expect(stderr).toContain('Unknown column');
      expect(stderr).toContain('the pets have petId, quantity, status, shelf, and name from a catalog.');
    },
  );

  it('cannot be checked in an empty list', async () => {
    const context = withReplies([json([])]);
    const { code, stdout } = await runIn(context, 'inventory', 'list', '-o', 'csv', '--columns', 'shelf');
    expect([code, stdout]).toEqual([0, 'shelf\n']);
  });
});

describe('inventory get', () => {
  it('shows one pet', async () => {
    expect(await list('get', '7')).toMatchObject({
      code: 0,
      stdout: 'Pet       7\nQuantity  2\nStatus    available\n',
    });
    expect((await list('get', MAX, '-o', 'csv')).stdout).toBe(`petId,quantity,status\n${MAX},9,pending\n`);
    expect((await list('get', '7', '--json')).stdout).toBe(
      '{"petId":7,"quantity":2,"status":"available","shelf":"A"}\n',
    );
  });
});

it.each([
  ['--env prod inventory list', '--env must be one of production, staging, sandbox, not "prod".', 'production'],
  ['inventory list --status avail', '--status must be one of available, pending, sold, not "avail".', 'available'],
])('a value with a typo: %s', async (line, problem, near) => {
  const { code, stderr } = await refused(...line.split(' '));
  expect([code, stderr]).toEqual([2, `error: ${problem}\nhint: Did you mean ${near}?\n`]);
});

it('--watch keeps its own members, whatever a service calls its fields', async () => {
  const context = withReplies([json([{ ...item(7, 2), event: 'fair', at: 'noon' }]), error(401)]);
  const { code, stdout } = await runIn(context, 'inventory', 'list', '--watch', '-o', 'ndjson');
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toMatchObject({ event: 'listed', at: expect.stringMatching(/T.*Z$/) as string });
});

it.each([
  [59, '\u001b[2m59 of 60'],
  [11, '\u001b[103m11 of 60'],
])('in colour, the last %i requests of a window look like %j', async (remaining, shown) => {
  const reply = json([item(7, 2)], { limits: { remaining } });
  const context = withReplies([reply], { terminal: true, env: { ...STAGING_ENV, FORCE_COLOR: '1' } });
  expect((await runIn(context, 'inventory', 'list')).stderr).toContain(shown);
});
