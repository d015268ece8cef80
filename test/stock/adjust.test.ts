/** `inventory adjust`, and quantities that are scanned, in this process, on the built-in sandbox. */
import { describe, expect, it } from 'vitest';
import { runIn, withReplies } from '../support/in-process.ts';
import { item, json } from '../support/replies.ts';
import { sandboxShop, TERMINAL } from '../support/sandbox-shop.ts';

const shop = () => sandboxShop({ areNamed: false });

it.each([
  ['set', '4006381333931', ['--read-first']],
  ['adjust', '-96385074', []],
  // After 12, which was typed before; the catalog does not have the second one.
  ['set', '1273513537', ['--read-first']],
  ['set', '124006381333931', ['--read-first']],
])(
  '%s: a barcode that is scanned in place of the quantity is refused at a terminal',
  async (command, scanned, more) => {
    const { run, quantity } = shop();
    await run(['catalog', 'set', '8', '--barcode', '73513537']);
    const { code, stderr } = await run(['inventory', command, '7', scanned], TERMINAL);
    const hint = ['add --no-input', ...more].join(' ');
    expect([code, await quantity(7)]).toEqual([2, 10]);
    expect(stderr).toContain(`If it is the quantity, ${hint}.`);
    // As the hint says, and as scripts do.
    const args = ['inventory', command, '7', scanned, '--no-input', ...more];
    expect((await run(args, TERMINAL)).code).not.toBe(2);
  },
);

it.each(['set', 'adjust'])('%s: so is one of the catalog in a script, unless it has --no-input', async (command) => {
  const { run, quantity } = shop();
  await run(['catalog', 'set', '8', '--barcode', '4006381333931']);
  const args = ['inventory', command, '7', '--', '4006381333931'];
  expect(await run(args)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: 'error: 4006381333931 is a barcode; nothing was changed.\nhint: If it is the quantity, add --no-input.\n',
  });
  // The sandbox refuses such a quantity.
  const isSent = async (line: readonly string[]) => (await run(line)).code === 10;
  expect([await isSent(['--no-input', ...args]), await isSent([...args.slice(0, -1), '9780201379624'])]).toEqual([
    true,
    true,
  ]);
  expect(await quantity(7)).toBe(10);
});

describe('inventory adjust', () => {
  it.each([
    ['+3', 13],
    ['3', 13],
    ['-10', 0],
    ['0', 10],
  ])('by %s', async (delta, after) => {
    const { run, quantity } = shop();
    const { code, stdout } = await run(['inventory', 'adjust', '7', delta, '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([0, { petId: 7, quantity: after, status: 'available', before: 10 }]);
    expect(await quantity(7)).toBe(after);
  });

  it('by 0 is nothing to do, also below zero', async () => {
    const context = withReplies([json([item(7, -5)])]);
    const { code, stdout } = await runIn(context, 'inventory', 'adjust', '7', '0');
    expect([code, stdout]).toEqual([0, 'Nothing to do: the adjustment is 0.\n']);
  });

  it.each([
    [['7', '-11'], 13, 'Pet 7 has only 10; taking away 11 would leave -1.'],
    [['7', '1', '--expect', '9'], 13, 'Pet 7 has a quantity of 10, not the expected 9; nothing was changed.'],
    [['999', '1'], 5, 'Pet 999 was not found in sandbox.'],
    [['7', '+-1'], 2, 'delta must be a whole number'],
    [['7', '1.5'], 2, 'delta must be a whole number'],
  ])('%j: exit %i, nothing changed', async (args, exit, sentence) => {
    const { run, quantity } = shop();
    const { code, stderr } = await run(['inventory', 'adjust', ...args, '--json']);
    const outcome = exit === 13 ? { outcome: 'not-applied' } : {};
    expect([code, JSON.parse(stderr)]).toMatchObject([
      exit,
      { error: { message: expect.stringContaining(sentence) as string, ...outcome } },
    ]);
    expect(await quantity(7)).toBe(10);
  });
});
