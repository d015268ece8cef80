/** Runs whole invocations in this process, against a service that the test provides. */
import { run } from '../../src/cli/run.ts';
import { LOADERS } from '../../src/commands/index.ts';
import { buildTree } from '../../src/commands/command-tree.ts';
import { onCleanup } from './cleanup.ts';
import { holdToSchemas } from './schemas.ts';
import { httpReply } from './test-ports.ts';
import type { PlainReply } from './replies.ts';
import { createTestContext, type TestContext, type TestContextOptions } from './test-context.ts';

export const STAGING_KEY = 'the-key-of-the-store';
export const STAGING_ENV = {
  PETSTORE_ENV: 'staging',
  PETSTORE_BASE_URL: 'https://pets.example/v1',
  PETSTORE_API_KEY: STAGING_KEY,
};

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command, and returns its output. */
export async function runIn(context: TestContext, ...args: string[]): Promise<Ran> {
  const before = [context.stdout.text().length, context.stderr.text().length] as const;
  const code = await run({ loaders: LOADERS, tree: buildTree }, args, context);
  const printed = { stdout: context.stdout.text().slice(before[0]), stderr: context.stderr.text().slice(before[1]) };
  holdToSchemas(args, printed);
  return { code, ...printed };
}

/** Sends these replies in order. A request without a reply, or a reply without a request, fails the test. */
export function withReplies(replies: readonly PlainReply[], options: TestContextOptions = {}): TestContext {
  const left = [...replies];
  const problems: string[] = [];
  const context: TestContext = createTestContext({
    env: STAGING_ENV,
    ...options,
    http: ({ method, url }) => {
      const reply = left.shift();
      if (reply !== undefined) return httpReply(reply, context.clock.now());
      const problem = `no reply was scripted for ${method} ${url.pathname}`;
      problems.push(problem);
      throw new Error(problem);
    },
  });
  onCleanup(() => {
    if (left.length > 0) problems.push(`${left.length} of ${replies.length} replies were not asked for`);
    if (problems.length > 0) throw new Error(problems.join('; '));
  });
  return context;
}
