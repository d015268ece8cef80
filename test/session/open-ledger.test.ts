import { describe, expect, it } from 'vitest';
import { nodeFiles } from '../../src/node/files.ts';
import { ledgerNames } from '../../src/session/open-ledger.ts';
import { createHome } from '../support/home.ts';
import { runIn, withReplies } from '../support/in-process.ts';
import { tooMany } from '../support/replies.ts';

describe('fault 48: a state folder that several machines mount', () => {
  it('is not trusted with locks: a warning says so, and a 429 is not tried again', async () => {
    const context = withReplies([tooMany(1)]);
    const shared = { ...context, files: { ...context.files, isOnNetwork: () => Promise.resolve(true) } };
    const ran = await runIn(shared, 'inventory', 'list');
    expect({ ...ran, sent: context.sent.length, files: await context.files.list(context.home.path) }).toEqual({
      code: 6,
      stdout: '',
      stderr: expect.stringMatching(
        /^warning: Rate limits cannot be shared with other runs of petstore, because its state folder is on a network file system, whose locks other machines may not see: a 429 ends this command\.\nerror: /,
      ) as string,
      sent: 1,
      files: [],
    });
  });

  it('is detected by the system, for a folder that does not exist yet too', async () => {
    const { path } = createHome();
    const answers = [await nodeFiles.isOnNetwork(path), await nodeFiles.isOnNetwork(`${path}/not/yet/there`)];
    expect(answers).toEqual([false, false]);
  });
});

describe('what a ledger is called', () => {
  const SALT = '5a'.repeat(32);

  it.each([
    {
      environment: 'staging',
      apiKey: 'canary-key-0123456789',
      row: '211da04be6f6c77765addec34e1a5ec1ee4dbf7741061f35e9f31ac029fd4ebf',
      file: 'f27ee2d1c779111f7842578f369b1aa8',
      shared: 'e534d092fe8965d5169ccd5433bc8aa1881a6ba5322cfbba3703957d3545313c',
    },
    {
      environment: 'sandbox',
      apiKey: 'sandbox',
      row: '0f3fb3e212488de6728f551dd4ae4f422bb27b43e4052fbdbfd18a93b47e4950',
      file: 'a2ae4fe7380e80c582a7495f22a1b4bd',
      shared: '6e302374e2e7fc2a9272af1a0b63acc813343adce9ff6e90f501713135396336',
    },
  ] as const)(
    'never changes: a block of an older version is found in $environment',
    async ({ environment, apiKey, ...names }) => {
      const { row, file, shared } = ledgerNames({ environment, apiKey, baseUrl: new URL('https://pets.example/v1') });
      expect({ row: row(SALT), file: file(), shared: await shared() }).toEqual(names);
    },
  );
});
