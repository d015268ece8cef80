/** If this machine refuses something, the program reports that, and not a bug. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { exits, inBash, mayMount, petstoreCommand, runPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';

/** The standalone executable is not run by Node. */
const isNode = process.env.PETSTORE_BIN === undefined;
const SANDBOX = ['--env', 'sandbox'];

it.runIf(isNode)('a process that may open no more files has no bug', async () => {
  const home = createHome();
  await runPetstore([...SANDBOX, 'inventory', 'list'], { home });
  const seen = new Set<number | null>();
  for (let most = 22; most < 32; most += 3) {
    const command = inBash(`ulimit -n ${most}; exec "$@"`);
    const { code, stderr } = await runPetstore([...SANDBOX, 'inventory', 'list'], { home, command });
    expect(stderr).not.toContain('bug in petstore');
    seen.add(code);
  }
  // Which number is the first that is enough depends on Node.
  expect(seen).toContain(3);
});

it.runIf(isNode)('a process whose files may not grow is not ended by a signal', async () => {
  const command = inBash('ulimit -f 0; exec "$@"');
  const listed = await runPetstore([...SANDBOX, 'inventory', 'list'], { command });
  expect(listed).toMatchObject({
    code: 3,
    signal: null,
    stderr: expect.stringMatching(/^error: The sandbox /) as string,
  });
  expect(await runPetstore(['--version'], { command })).toMatchObject({ code: 0, signal: null });
});

it.runIf(isNode)('a umask that withholds all rights leaves files that petstore can open', async () => {
  const home = createHome();
  const command = inBash('umask 777; exec "$@"');
  const set = ['config', 'set', 'output', 'json'];
  expect(await runPetstore(set, { home, command })).toMatchObject({ code: 0, stderr: '' });
  expect(statSync(join(home.config, 'petstore', 'config.json')).mode & 0o777).toBe(0o600);
});

it.runIf(isNode && mayMount())('a user without a name, as in a container, has a number in the history', async () => {
  const home = createHome();
  const command = ['unshare', '--user', '--map-user=12345', ...petstoreCommand()] as const;
  await runPetstore([...SANDBOX, 'inventory', 'set', '7', '5'], { home, command });
  const { stdout } = await runPetstore([...SANDBOX, 'inventory', 'history', '-o', 'csv'], { home });
  expect(stdout).toContain(',12345,sandbox,7,');
});

it.runIf(isNode)('a current folder that has been removed ends with 3', async () => {
  const home = createHome();
  const command = inBash(`mkdir gone && cd gone && rmdir ../gone && exec "$@"`);
  const args = [...SANDBOX, 'inventory', 'import', 'stock.csv', '--yes'];
  expect(await runPetstore(args, { home, command, cwd: home.path })).toMatchObject(
    exits(3, 'Could not find the current folder: it does not exist (ENOENT).'),
  );
});

it.runIf(isNode)('reports a Node without WebAssembly differently from a service that cannot be reached', async () => {
  const { code, stdout, stderr } = await runPetstore([...SANDBOX, 'inventory', 'list'], {
    env: { NODE_OPTIONS: '--jitless' },
  });
  expect({ code, stdout, stderr }).toEqual({
    code: 3,
    stdout: '',
    stderr: expect.stringContaining('petstore cannot run on this Node, because WebAssembly is turned off') as string,
  });
});
