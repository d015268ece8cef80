/** Commands in messages can be run as they are, in the environment of the current command. */
import { expect, it } from 'vitest';
import { runIn } from '../support/in-process.ts';
import { createTestContext } from '../support/test-context.ts';

it.each<[name: string, line: string, code: number, stderr: string]>([
  ['the same environment', '--env sandbox inventory set 7 -5', 2, ': petstore --env sandbox inventory adjust 7 -5\n'],
  ['none where the user has said none', 'inventory set 7 -5', 2, ': petstore inventory adjust 7 -5\n'],
  ['the help, which is one for all', '--env sandbox inventory get', 2, 'hint: See: petstore inventory get --help'],
  [
    'each command of two',
    '--env staging inventory list',
    4,
    'hint: Log in with: petstore --env staging login (or set PETSTORE_API_KEY). To try petstore without a key: petstore --env sandbox inventory list\n',
  ],
  ['no write for a read', '--env sandbox api /inventory -f a=1', 2, 'hint: Leave out -f and --input, or name'],
  ['a catalog for names', '--env sandbox inventory get --name flap', 2, 'petstore --env sandbox catalog list'],
  ['v1 once', 'config set staging.base-url https://x.example/V1/inventory', 3, 'Did you mean https://x.example/v1?'],
  [
    'no wait for what cannot be',
    '--env sandbox wait --pet 7 --min 9 --max 3',
    2,
    'error: No quantity meets --quantity, --min and --max at once.',
  ],
  ...['--quantity 3 --min 9', '--quantity 9 --max 3'].map((options): [string, string, number, string] => [
    `nor for ${options}`,
    `--env sandbox wait --pet 7 ${options}`,
    2,
    'error: No quantity meets --quantity, --min and --max at once.',
  ]),
])('%s', async (_name, line, code, stderr) => {
  const ran = await runIn(createTestContext(), ...line.split(' '));
  expect(ran).toMatchObject({ code, stderr: expect.stringContaining(stderr) as string });
});

it('in JSON too', async () => {
  const line = '--env sandbox inventory set 7 -5 --json';
  const { stderr } = await runIn(createTestContext(), ...line.split(' '));
  const { error } = JSON.parse(stderr) as { error: { hint: string } };
  expect(error.hint).toContain('petstore --env sandbox inventory adjust 7 -5');
});

it('a stocktake that is still counting is the unfinished run', async () => {
  const { home } = createTestContext();
  const run = (text: string, ...args: string[]) =>
    runIn(createTestContext({ home, stdin: { text } }), '--env', 'sandbox', 'inventory', ...args);
  await run('7\n8 3\n', 'count', '--dry-run');
  expect(await run('', 'runs', 'resume')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('hint: Continue it: petstore --env sandbox inventory count --resume 1\n') as string,
  });
});
