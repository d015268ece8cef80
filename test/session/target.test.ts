/** Settings are read once per command, however many sessions it has. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runIn, withReplies } from '../support/in-process.ts';
import { item, json, type PlainReply } from '../support/replies.ts';
import type { TestContext, TestContextOptions } from '../support/test-context.ts';

const KEY = 'key-in-the-config-0123456789';
const LIST = json([item(7, 10)]);
const SET = json(item(7, 12));

/** A config that others may read, with the key; `read` counts how often it is read. */
function withConfig(replies: readonly PlainReply[], options: TestContextOptions = {}) {
  const base = withReplies(replies, { env: {}, stdin: { text: '7 12\ndone\n' }, ...options });
  const folder = `${base.home.config}/petstore`;
  mkdirSync(folder, { recursive: true });
  const staging = { 'staging.base-url': 'https://pets.example/v1', 'staging.api-key': KEY };
  const config = { version: 1, environment: 'staging', ...staging };
  writeFileSync(`${folder}/config.json`, JSON.stringify(config), { mode: 0o644 });
  const reads: string[] = [];
  const context: TestContext = {
    ...base,
    files: {
      ...base.files,
      read: (path) => {
        if (path.endsWith('/config.json')) reads.push(path);
        return base.files.read(path);
      },
    },
  };
  return { context, reads };
}

describe('the config', () => {
  it.each<[line: string, replies: PlainReply[]]>([
    ['inventory list', [LIST]],
    ['inventory set 7 12 --expect 10', [LIST, SET]],
    ['inventory adjust 7 2', [LIST, SET]],
    ['api PATCH /inventory/7 -f quantity=12', [SET]],
    ['inventory count --yes', [LIST, LIST, SET, json([item(7, 12)])]],
    ['limits --refresh', [LIST]],
    ['status', []],
    ['doctor --offline', []],
  ])('is read once, and warned of once: %s', async (line, replies) => {
    const { context, reads } = withConfig(replies);
    const { stderr } = await runIn(context, ...line.split(' '));
    const warnings = stderr.split('\n').filter((line) => line.includes('may read the key'));
    expect([reads.length, warnings.length]).toEqual([1, line === 'status' ? 0 : 1]);
  });
});

describe('the key', () => {
  it.each([['status'], ['limits'], ['doctor', '--offline'], ['logout']])(
    'is redacted as soon as settings are resolved: %s',
    async (...args) => {
      const { context } = withConfig([], { env: { PETSTORE_BASE_URL: `https://pets.example/${KEY}/v1` } });
      const { stdout, stderr } = await runIn(context, ...args);
      expect(stdout + stderr).not.toContain(KEY);
    },
  );
});
