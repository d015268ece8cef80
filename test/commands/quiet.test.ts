/** With --quiet, a command that succeeds and returns no data prints nothing. */
import { expect, it } from 'vitest';
import { OutputClosed } from '../../src/ports.ts';
import { fileIn } from '../support/home.ts';
import { runIn } from '../support/in-process.ts';
import { createTestContext } from '../support/test-context.ts';

const inSandbox = () => createTestContext({ env: { PETSTORE_ENV: 'sandbox' } });

it.each([
  'inventory set 7 12',
  'inventory adjust 7 +1',
  'inventory adjust 7 0',
  'inventory import delivery.csv --yes',
  'sandbox reset',
  'sandbox seed --pets 3',
  'config set output table',
  'config unset environment',
  '--env staging logout',
])('%s -q prints nothing; with --json its object', async (line) => {
  const context = inSandbox();
  const file = fileIn(context.home, 'delivery.csv', 'petId,quantity\n8,9\n');
  const words = line.split(' ').map((word) => (word === 'delivery.csv' ? file : word));
  expect(await runIn(context, ...words, '-q')).toEqual({ code: 0, stdout: '', stderr: '' });
  const { code, stdout } = await runIn(context, ...words, '-q', '--json');
  expect([code, typeof JSON.parse(stdout)]).toEqual([0, 'object']);
});

it.each(['-q', '--json'])('%s: a question names what it is about', async (option) => {
  const context = createTestContext({ terminal: true, answers: [false], env: { PETSTORE_ENV: 'sandbox' } });
  const file = fileIn(context.home, 'delivery.csv', 'petId,quantity\n8,9\n');
  expect((await runIn(context, 'inventory', 'import', file, option)).code).toBe(2);
  expect(context.questions[0]?.question).toMatch(
    /pet 8 +6 → 9 [^]*\nSet 1 pet to the numbers of the file.* in sandbox\?$/,
  );
});

it.each([
  'inventory list --pet 7',
  'inventory set 7 12 --dry-run',
  'status',
  'limits',
  'config path',
  'doctor --offline',
])('%s -q prints what was asked for', async (line) => {
  const { code, stdout } = await runIn(inSandbox(), ...line.split(' '), '-q');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/\S/)]);
});

it('a failure is reported, and its exit code kept, though the reader of the summary has gone', async () => {
  const context = inSandbox();
  const file = fileIn(context.home, 'bad.csv', 'petId,quantity\n999,1\n');
  context.stdout.failWith = new OutputClosed();
  expect(await runIn(context, 'inventory', 'import', file, '--yes')).toEqual({
    code: 11,
    stdout: '',
    stderr: expect.stringContaining('error: Not everything was applied: 1 failed') as string,
  });
  expect((await runIn(context, 'inventory', 'list')).code).toBe(0);
  expect(await runIn(context, 'inventory', 'list', '--fail-if-any')).toMatchObject({
    code: 13,
    stderr: expect.stringMatching(/^At least \d+ pets match \(--fail-if-any\)\.\n$/) as string,
  });
  expect((await runIn(context, 'inventory', 'list', '--fail-if-none')).code).toBe(0);
});
