import { describe, expect, it } from 'vitest';
import { nodeFiles } from '../../src/node/files.ts';
import { ledgerNames } from '../../src/session/open-ledger.ts';
import { createHome } from '../support/home.ts';
import { runIn, withReplies } from '../support/in-process.ts';
import { tooMany } from '../support/replies.ts';

describe('fault 48: a state folder that several machines mount', () => {
  it('is not trusted with locks: a warning says so, and a 429 is not tried again, by no command', async () => {
    const context = withReplies([tooMany(1)]);
    const shared = { ...context, files: { ...context.files, isOnNetwork: () => Promise.resolve(true) } };
    const ran = await runIn(shared, 'inventory', 'list');
    expect({ ...ran, files: await context.files.list(`${context.home.state}/petstore`) }).toEqual({
      code: 6,
      stdout: '',
      stderr: expect.stringMatching(
        /^warning: Rate limits cannot be shared with other runs of petstore, because its state folder is on a network file system, whose locks other machines may not see: a 429 ends this command\.\nerror: /,
      ) as string,
      files: ['blocks'],
    });
    expect((await runIn(shared, 'limits')).stdout).toMatch(/^block {8}the key is rate limited \(429\)/m);
    expect((await runIn(shared, 'inventory', 'list', '--no-wait')).code).toBe(6);
    expect(context.sent).toHaveLength(1);
    const { stderr } = await runIn(shared, 'smoke', '--env', 'sandbox');
    expect(stderr.match(/^warning: /gm)).toEqual(['warning: ']);
  });

  it('a block is kept beside a database that cannot be used, too', async () => {
    const context = withReplies([tooMany(60)]);
    await context.files.makePrivateFolder(`${context.home.state}/petstore/state.db`);
    const list = () => runIn(context, 'inventory', 'list', '--no-wait');
    expect([(await list()).code, (await list()).code, context.sent.length]).toEqual([6, 6, 1]);
  });

  it('is detected by the system, for a folder that does not exist yet too', async () => {
    const { path } = createHome();
    const answers = [await nodeFiles.isOnNetwork(path), await nodeFiles.isOnNetwork(`${path}/not/yet/there`)];
    expect(answers).toEqual([false, false]);
  });
});

describe('what a ledger is called', () => {
  const namesOf = async (url: string, apiKey = 'canary-key', environment: 'staging' | 'sandbox' = 'staging') => {
    const names = ledgerNames({ environment, apiKey, baseUrl: new URL(url) });
    return [names.row('salt'), names.file, await names.shared()];
  };

  it.each<readonly [string, () => Promise<string[]>, boolean]>([
    ['fault 50: the same key at another address', () => namesOf('https://other.example/v1'), true],
    ['fault 50: another key', () => namesOf('https://pets.example/v1', 'another-key'), false],
    ['the sandbox', () => namesOf('https://pets.example/v1', 'canary-key', 'sandbox'), false],
    ['this machine', () => namesOf('http://127.0.0.1:8080/v1'), false],
  ])('%s: whether a block holds there too', async (_name, names, isSame) => {
    const known = await namesOf('https://pets.example/v1');
    expect((await names()).map((name, at) => name === known[at])).toEqual([isSame, isSame, isSame]);
  });

  it.each(['', 'petstore-smoke-wrong-key'])(
    'of the key %j of a check, which nobody has: one for each address',
    async (key) => {
      const known = await namesOf('https://pets.example/v1', key);
      expect((await namesOf('https://other.example/v1', key)).filter((name) => known.includes(name))).toEqual([]);
    },
  );

  it('is the same for all names of this machine, and not for its other ports', async () => {
    const known = await namesOf('http://127.0.0.1:8080/v1');
    expect(await namesOf('http://localhost:8080/v1')).toEqual(known);
    expect(await namesOf('http://[::1]:8080/v1')).toEqual(known);
    expect(await namesOf('http://127.0.0.1:8081/v1')).not.toEqual(known);
  });

  it('has the windows of a host in common, with the dot of the root or without', () => {
    const addresses = ['https://pets.example:8443/v1', 'https://pets.example.:8443/v1'].map(
      (url) => ledgerNames({ environment: 'staging', apiKey: 'canary-key', baseUrl: new URL(url) }).address,
    );
    expect(new Set(addresses).size).toBe(1);
  });
});
