/**
 * Reports of `smoke` for CI systems, checked with third-party tools: JUnit with the schema of Ant's JUnit task
 * (junit.xsd, by Windy Road Technology, Apache License 2.0), TAP with tap-parser.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Reply } from '../../src/client/raw.ts';
import { checked, type CheckFacts, fail, PASS, skip } from '../../src/smoke/finding.ts';
import { REPORTERS, type Suite } from '../../src/smoke/reporters.ts';
import { runPetstore } from '../support/binary.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const installed = existsSync(here('./node_modules/xmllint-wasm'));
if (!installed)
  process.stderr.write(
    'Skipped: reports of smoke read by other parsers; npm ci --prefix test/conformance --ignore-scripts brings them.\n',
  );

interface Xmllint {
  validateXML(what: { xml: string; schema: string }): Promise<{ valid: boolean; errors: { message: string }[] }>;
}
interface Tap {
  readonly ok: boolean;
  readonly count: number;
  readonly fail: number;
  readonly skip: number;
  readonly failures: readonly { readonly id: number; readonly name: string; readonly diag?: { message: string } }[];
}
interface TapParser {
  Parser: new (done: (results: Tap) => void) => {
    on(event: 'extra', hear: (text: string) => void): void;
    end(text: string): void;
  };
}

/** Packages of the folder beside, known when they are there. */
const load = (name: string): Promise<unknown> => import(name);

async function xsdErrors(xml: string): Promise<string[]> {
  const { validateXML } = (await load('xmllint-wasm')) as Xmllint;
  const { errors } = await validateXML({ xml, schema: readFileSync(here('./junit.xsd'), 'utf8') });
  return errors.map(({ message }) => message);
}

async function readTap(text: string): Promise<{ results: Tap; extra: string[] }> {
  const { Parser } = (await load('tap-parser')) as TapParser;
  const extra: string[] = [];
  const results = await new Promise<Tap>((resolve) => {
    const parser = new Parser(resolve);
    parser.on('extra', (line) => extra.push(line));
    parser.end(text);
  });
  return { results, extra };
}

const HOSTILE = `a "quoted" <b>&amp; # hash \\ \u0000\u001b[31m\u0085\u2028\ud800 \n line\n...\n--- 'x' ]]> 🐕`;
const facts = (id: string): CheckFacts => ({ id, title: HOSTILE, clause: '4.1' });
const REPLY: Reply = {
  ...{ request: 'GET /inventory', status: 500, headers: new Map([['content-type', [HOSTILE]]]) },
  ...{ unreachable: undefined, failure: undefined, ms: 1.5, receivedAt: 0 },
};
const SUITE: Suite = {
  name: 'petstore smoke staging',
  startedAt: Date.UTC(2026, 2, 2, 14, 3, 20),
  checks: [
    { ...facts('good'), ...PASS },
    checked(facts('bad'), fail('x', HOSTILE), REPLY),
    { ...facts('left'), ...skip(HOSTILE) },
  ],
};

describe.skipIf(!installed)('reports of smoke', () => {
  it('of the sandbox: JUnit is valid, TAP is read as it is meant', async () => {
    const run = async (format: string): Promise<string> =>
      (await runPetstore(['--env', 'sandbox', 'smoke', '--format', format])).stdout;
    expect(await xsdErrors(await run('junit'))).toEqual([]);
    const { results, extra } = await readTap(await run('tap'));
    expect({ ...results, extra }).toMatchObject({ ok: true, fail: 0, extra: [] });
    expect(results.count).toBeGreaterThan(10);
  });

  it('with a failure, a skipped check and texts that mean harm', async () => {
    expect(await xsdErrors(REPORTERS.junit(SUITE))).toEqual([]);
    const { results, extra } = await readTap(REPORTERS.tap(SUITE));
    expect({ ...results, extra }).toMatchObject({ ok: false, count: 3, fail: 1, skip: 1, extra: [] });
    expect(results.failures[0]).toMatchObject({ id: 2, diag: { message: `expected x, got ${HOSTILE}` } });
  });

  it('without any check', async () => {
    expect(await xsdErrors(REPORTERS.junit({ ...SUITE, checks: [] }))).toEqual([]);
    expect((await readTap(REPORTERS.tap({ ...SUITE, checks: [] }))).results).toMatchObject({ count: 0, fail: 0 });
  });
});
