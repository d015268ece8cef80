/**
 * Runs Prism as a validating proxy between petstore and the sandbox. It checks each request and response against the
 * sandbox's OpenAPI document. Install its packages with `npm ci --prefix test/conformance --ignore-scripts`.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openapiDocument } from '../../src/api/openapi.ts';
import { runPetstore, startPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';
import { ask, control, JSON_TYPE, type PlainRequest, serveSandbox } from '../support/served.ts';
import { staging } from '../support/staging.ts';
import { freePort } from '../support/free-port.ts';

const TOOLS = fileURLToPath(new URL('./node_modules/.bin/', import.meta.url));
const installed = existsSync(join(TOOLS, 'prism'));
if (!installed)
  process.stderr.write(
    'Skipped: conformance with Prism, Redocly and Spectral; npm ci --prefix test/conformance --ignore-scripts brings them.\n',
  );

/** Prism matches paths as they are in the document: with the base path in them. */
async function documentFor(port: number, home: Home): Promise<string> {
  const { body } = await ask(port, '/v1/openapi.json');
  const document = JSON.parse(body) as { paths: Record<string, unknown> };
  const paths = Object.fromEntries(Object.entries(document.paths).map(([path, item]) => [`/v1${path}`, item]));
  const file = join(home.path, 'openapi.json');
  writeFileSync(file, JSON.stringify({ ...document, paths, servers: [{ url: `http://127.0.0.1:${port}` }] }));
  return file;
}

async function proxied(args: readonly string[] = []) {
  const home = createHome();
  const sandbox = await serveSandbox(args, { home });
  const port = await freePort();
  const prism = startPetstore(
    [
      'proxy',
      await documentFor(sandbox.port, home),
      `http://127.0.0.1:${sandbox.port}`,
      '--errors',
      '--port',
      String(port),
    ],
    { command: [process.execPath, join(TOOLS, 'prism')], home },
  );
  await prism.waitFor(/Prism is listening/);
  const env = staging(`http://127.0.0.1:${port}/v1`, 'sandbox');
  return {
    sandbox,
    run: (...line: string[]) => runPetstore(line, { home, env }),
    /** The status, and what Prism found wrong. */
    async ask(path: string, request: PlainRequest = {}) {
      const authorization = 'Bearer sandbox';
      const { status, headers } = await ask(port, `/v1${path}`, {
        ...request,
        headers: { authorization, ...request.headers },
      });
      return [status, headers['sl-violations'] ?? 'no violation'];
    },
  };
}

const set = (body: string): PlainRequest => ({ method: 'PATCH', headers: JSON_TYPE, body });

describe.skipIf(!installed)('Prism between petstore and the sandbox', () => {
  it('finds nothing wrong with list and set', async () => {
    const { run } = await proxied(['--seed', '22']);
    const list = await run('inventory', 'list', '--json', '--pet', '7');
    const changed = await run('inventory', 'set', '7', '12', '--json');
    expect([list, changed].map(({ code, stdout }) => [code, stdout])).toEqual([
      [0, '[\n  {"petId":7,"quantity":10,"status":"available"}\n]\n'],
      [0, '{"petId":7,"quantity":12,"status":"available"}\n'],
    ]);
  });

  it('nor with any error', async () => {
    const { ask: asked, run, sandbox } = await proxied(['--seed', '22', '--per-minute', '9', '--ban-after', '1']);
    const none = 'no violation';
    expect(await asked('/inventory', { headers: { authorization: 'Bearer wrong' } })).toEqual([401, none]);
    expect(await asked('/inventory/999', set('{"quantity":1}'))).toEqual([404, none]);
    expect(await asked('/inventory/7', set('{"quantity":-1}'))).toEqual([400, none]);
    expect((await run('inventory', 'set', '999', '1')).code).toBe(5);
    expect((await run('inventory', 'set', '7', '99999999999')).code).toBe(10);
    await control(sandbox.port, 'PUT', '/faults', ['status=503,times=1']);
    expect(await asked('/inventory')).toEqual([503, none]);
    await control(sandbox.port, 'PUT', '/faults', ['status=429,retry-after=60,times=1']);
    expect(await asked('/inventory')).toEqual([429, none]);
    expect(await asked('/inventory')).toEqual([403, none]);
  });
});

describe.skipIf(!installed)('the OpenAPI document', () => {
  it.each([
    ['Redocly', 'redocly', ['--max-problems', '1']],
    [
      'Spectral',
      'spectral',
      ['--fail-severity', 'hint', '--ruleset', fileURLToPath(new URL('./spectral.yaml', import.meta.url))],
    ],
  ])('%s finds nothing to say', async (_name, program, args) => {
    const file = join(createHome().path, 'openapi.json');
    writeFileSync(file, JSON.stringify(openapiDocument()));
    const { code, stdout, stderr } = await runPetstore(['lint', file, ...args], {
      command: [process.execPath, join(TOOLS, program)],
      env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    });
    expect([code, `${stdout}${stderr}`]).toEqual([0, expect.not.stringMatching(/warning/i) as string]);
  });
});
