/** User commands that `list --watch --on-change` and `wait --exec` run. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runPetstore, startPetstore } from '../support/binary.ts';
import { createHome, fileIn, type Home } from '../support/home.ts';
import { assertSchema } from '../support/schemas.ts';
import { patch, serveSandbox } from '../support/served.ts';
import { staging } from '../support/staging.ts';

const WAIT = ['wait', '--pet', '7', '--min', '0'];
const SANDBOX = { PETSTORE_ENV: 'sandbox', PETSTORE_API_KEY: 'a-key-that-is-secret' };

/** Writes a program of the user's into the home. */
function program(home: Home, lines: string): string {
  const path = fileIn(home, 'alert me', `#!/bin/sh\n${lines}\n`, 0o755);
  return `'${path}'`;
}

describe('wait --exec', () => {
  it('runs the command without a shell, with the pet on its stdin and no key in its environment', async () => {
    const home = createHome();
    const command = program(
      home,
      'cat > "$HOME/stdin"; env > "$HOME/env"; printf "%s|" "$@" > "$HOME/args"; echo said',
    );
    const { code, stdout } = await runPetstore([...WAIT, '--json', '--exec', `${command} 'a b' $HOME "c;d"`], {
      home,
      env: SANDBOX,
    });
    const pet = { petId: 7, quantity: 10, status: 'available' };
    expect([code, JSON.parse(stdout)]).toEqual([0, pet]);
    const read = (name: string): string => readFileSync(join(home.path, name), 'utf8');
    expect(JSON.parse(read('stdin'))).toEqual([pet]);
    expect(read('args')).toBe('a b|$HOME|c;d|');
    expect(read('env')).not.toContain('PETSTORE_API_KEY');
  });

  it.each([
    ['exit 7', 'ended with exit code 7'],
    ['kill -9 $$', 'was ended by SIGKILL'],
  ])(
    'a command that fails (%s) is exit 3; the pet, and what the command says on stderr, are shown',
    async (lines, problem) => {
      const home = createHome();
      const command = program(home, `echo no smtp >&2\n${lines}`);
      const run = await runPetstore([...WAIT, '--quiet', '--exec', command], { home, env: SANDBOX });
      expect([run.code, run.stdout]).toEqual([3, 'Pet 7 (Goldfish): 10 (available).\n']);
      expect(run.stderr).toMatch(/^warning: .*: no smtp$/m);
      expect(run.stderr).toContain(`The command of --exec ${problem}`);
    },
  );

  it('refuses before it sends anything: open quotes, and --on-change without --watch', async () => {
    expect((await runPetstore([...WAIT, '--exec', "'mail"], { env: SANDBOX })).code).toBe(2);
    const alone = await runPetstore(['inventory', 'list', '--on-change', 'mail'], { env: SANDBOX });
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('--on-change needs --watch')]);
  });
});

it('list --watch --on-change: one at a time, with what came meanwhile in the next run; a failure is a warning', async () => {
  const home = createHome();
  const shop = await serveSandbox(['--minute', '2s'], { home });
  // Each run waits until it is let go, so that changes come meanwhile.
  const command = program(
    home,
    'n=$(ls "$HOME" | grep -c "^run"); cat > "$HOME/run$n"; until [ -e "$HOME/go" ]; do sleep 0.05; done; exit 5',
  );
  const watching = startPetstore(['inventory', 'list', '--watch', '1s', '--on-change', command, '-o', 'ndjson'], {
    home,
    env: staging(shop.baseUrl, shop.apiKey),
  });
  await watching.waitFor(/"petId":7,/);
  await patch(shop, 7n, 11);
  await watching.waitFor(/"changed","petId":7,"quantity":11/);
  for (const petId of [2n, 12n]) {
    await patch(shop, petId, 40);
    await watching.waitFor(new RegExp(`"changed","petId":${petId},`));
  }
  const first = join(home.path, 'run0');
  await expect.poll(() => existsSync(first) && readFileSync(first, 'utf8')).toContain('"petId":7');
  expect(existsSync(join(home.path, 'run1'))).toBe(false);
  writeFileSync(join(home.path, 'go'), '');
  await watching.waitFor(/The command of --on-change ended with exit code 5[^]*The command of --on-change/, 'stderr');
  await watching.end('SIGINT');
  const rows = [0, 1].map((n) => JSON.parse(readFileSync(join(home.path, `run${n}`), 'utf8')) as { petId: number }[]);
  expect(rows.map((run) => run.map(({ petId }) => petId))).toEqual([[7], [2, 12]]);
  for (const row of rows.flat()) assertSchema('pets-watch', row);
});
