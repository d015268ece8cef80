/** The common options that a command gets: an option that is not on the line counts only if it has a value. */
import { expect, it } from 'vitest';
import { readRequest, resolveRequest } from '../../src/cli/parse.ts';
import { LOADERS } from '../../src/commands/index.ts';
import { buildTree } from '../../src/commands/command-tree.ts';
import { FOREVER_MS } from '../../src/duration.ts';

const COMMANDS = { loaders: LOADERS, tree: buildTree };
const PLAIN = { color: 'auto', output: 'table', input: true, yes: false, maxWait: 75_000 };

it.each([
  ['inventory list', {}],
  ['inventory list --no-input', { input: false }],
  ['-qe sandbox inventory list', { env: 'sandbox', quiet: true }],
  ['-qe=sandbox inventory list -o=json', { env: 'sandbox', quiet: true, output: 'json' }],
  ['inventory list --no-color --json', { color: 'never', output: 'json' }],
  ['inventory list --wait', { maxWait: FOREVER_MS }],
  ['inventory list --no-wait', { maxWait: 0 }],
  ['inventory list --max-wait 5s', { maxWait: 5_000 }],
  ['inventory list --max-wait 0.07h', { maxWait: 252_000 }],
  ['inventory list --max-wait 1.0001ms', { maxWait: 2 }],
  ['inventory list --timeout 30d', { timeout: 2 ** 31 - 1 }],
  ['inventory list -y --timeout=2s', { yes: true, timeout: 2_000 }],
])('petstore %s', async (line, changed) => {
  const request = await readRequest(COMMANDS, line.split(' '));
  const invocation = await resolveRequest(request, COMMANDS, 80);
  expect(invocation).toMatchObject({ globals: { ...PLAIN, ...changed } });
});

it('of two options of one name, the last counts: a server has its own --log', async () => {
  const request = await readRequest(COMMANDS, ['--log', 'a', 'sandbox', 'serve', '--log', 'b']);
  expect(await resolveRequest(request, COMMANDS, 80)).toMatchObject({ input: { log: 'b' } });
});
