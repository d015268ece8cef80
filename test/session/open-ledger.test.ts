import { describe, expect, it } from 'vitest';
import { nodeFiles } from '../../src/node/files.ts';
import { createHome } from '../support/home.ts';
import { runIn, withReplies } from '../support/in-process.ts';
import { tooMany } from '../support/replies.ts';

describe('fault 48: a state folder that several machines mount', () => {
  it('is not trusted with locks: that is said, and a 429 is not tried again', async () => {
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

  it('is told by the system, for a folder that is still to be made too', async () => {
    const { path } = createHome();
    const answers = [await nodeFiles.isOnNetwork(path), await nodeFiles.isOnNetwork(`${path}/not/yet/there`)];
    expect(answers).toEqual([false, false]);
  });
});
