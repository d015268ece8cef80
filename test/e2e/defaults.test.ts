/** Defaults of common options from the config and from variables: an option first, then a variable, then the config. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';
import { error, item, json } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { staging } from '../support/staging.ts';

const GET = ['--env', 'sandbox', 'inventory', 'get', '7'];
const JSON_ITEM = '{"petId":7,"quantity":10,"status":"available"}\n';
const CSV_ITEM = 'petId,quantity,status\n7,10,available\n';
const TEXT_ITEM = 'petId     7\nquantity  10\nstatus    available\n';

const configOf = (home: Home): string => join(home.config, 'petstore', 'config.json');

async function withDefault(name: string, value: string): Promise<Home> {
  const home = createHome();
  expect(await runPetstore(['config', 'set', name, value], { home })).toMatchObject({ code: 0 });
  return home;
}

describe('output', () => {
  it.each([
    [{}, [], JSON_ITEM],
    [{ PETSTORE_OUTPUT: 'csv' }, [], CSV_ITEM],
    [{ PETSTORE_OUTPUT: '' }, [], JSON_ITEM],
    [{ PETSTORE_OUTPUT: 'csv' }, ['-o', 'table'], TEXT_ITEM],
    [{ PETSTORE_OUTPUT: 'csv' }, ['--json'], JSON_ITEM],
  ])('json in the config, %j, %j', async (env, args, expected) => {
    const home = await withDefault('output', 'json');
    expect(await runPetstore([...GET, ...args], { home, env })).toMatchObject({ code: 0, stdout: expected });
  });

  it('is the form of errors too, also of those before a command runs', async () => {
    for (const args of [
      ['inventory', 'nope'],
      ['inventory', 'set', 'x', '1'],
      ['inventory', 'list'],
    ]) {
      const { code, stderr } = await runPetstore(args, { env: { PETSTORE_OUTPUT: 'json', PETSTORE_ENV: 'staging' } });
      expect([code !== 0, Object.keys(JSON.parse(stderr) as object)]).toEqual([true, ['error']]);
    }
  });

  it('does not touch completion', async () => {
    const { stdout } = await runPetstore(['__complete', '--', 'inventory', 'li'], { env: { PETSTORE_OUTPUT: 'json' } });
    expect(stdout).toContain('list');
    expect(stdout).not.toContain('{');
  });
});

it('max-wait: a wait that is longer ends the command', async () => {
  const home = await withDefault('max-wait', '0');
  await runPetstore(['--env', 'sandbox', 'inventory', 'list', '--reserve', '59'], { home });
  expect((await runPetstore([...GET, '--reserve', '59'], { home })).code).toBe(6);
  expect((await runPetstore(GET, { home, env: { PETSTORE_RESERVE: '59' } })).code).toBe(6);
  expect((await runPetstore(GET, { home })).code).toBe(0);
});

describe('a value that the option refuses', () => {
  it.each([
    ['output', 'xml', 'output must be one of table, json, ndjson, csv, not "xml".'],
    ['color', 'red', 'color must be one of auto, always, never, not "red".'],
    ['max-wait', 'long', 'max-wait must be a duration such as 30s, 5m or 2h, or forever, not "long".'],
    ['reserve', '-1', 'reserve must be a whole number from 0 to 1000000, not "-1".'],
    // A unit that was forgotten must not remove the history.
    ['keep-history', '730', 'keep-history must be a duration such as 400d, of at least 1d, or forever, not "730".'],
  ])('config set %s %s is refused', async (name, value, problem) => {
    const home = createHome();
    const { code, stderr } = await runPetstore(['config', 'set', name, value], { home });
    expect([code, stderr]).toEqual([2, `error: ${problem}\n`]);
    expect(() => readFileSync(configOf(home))).toThrow('ENOENT');
  });

  it('in PETSTORE_KEEP_HISTORY names the variable, too', async () => {
    const { code, stderr } = await runPetstore(GET, { env: { PETSTORE_KEEP_HISTORY: '23h' } });
    expect([code, stderr]).toEqual([2, expect.stringContaining('error: PETSTORE_KEEP_HISTORY must be a ')]);
  });

  it('in a variable names the variable', async () => {
    const { code, stderr } = await runPetstore(GET, { env: { PETSTORE_OUTPUT: 'xml' } });
    expect([code, stderr]).toEqual([2, 'error: PETSTORE_OUTPUT must be one of table, json, ndjson, csv, not "xml".\n']);
  });

  it('in the config can be corrected with config', async () => {
    const home = await withDefault('output', 'json');
    writeFileSync(configOf(home), '{"version":1,"output":"xml","color":"never"}');
    expect((await runPetstore(GET, { home })).stderr).toContain('output of the config must be one of table');
    expect(await runPetstore(['config', 'unset', 'output'], { home })).toMatchObject({ code: 0 });
    expect(await runPetstore(GET, { home })).toMatchObject({ code: 0, stdout: TEXT_ITEM });
    expect((await runPetstore(['config', 'get', 'color'], { home })).stdout).toBe('never\n');
  });
});

it('keep-history: doctor shows it', async () => {
  const home = await withDefault('keep-history', '400d');
  const doctor = async (env = {}) =>
    (await runPetstore(['--env', 'sandbox', 'doctor', '--offline'], { home, env })).stdout;
  expect(await doctor()).toContain('History is kept for 400 days.');
  expect(await doctor({ PETSTORE_KEEP_HISTORY: 'forever' })).toContain('History is kept forever.');
});

it('keeps the rest of the config', async () => {
  const home = await withDefault('environment', 'sandbox');
  await runPetstore(['config', 'set', 'staging.base-url', 'https://staging.example.com/v1'], { home });
  await runPetstore(['config', 'set', 'color', 'never'], { home });
  await runPetstore(['config', 'unset', 'environment'], { home });
  expect(JSON.parse(readFileSync(configOf(home), 'utf8'))).toEqual({
    version: 1,
    'staging.base-url': 'https://staging.example.com/v1',
    color: 'never',
  });
});

it('status shows what is left of the rate limit, and a block', async () => {
  const home = createHome();
  const status = async (env = {}) => (await runPetstore(['--env', 'staging', 'status'], { home, env })).stdout;
  const server = await scriptedServer([json([item(7, 10)]), error(403)]);
  expect(await status(staging(server.baseUrl))).not.toMatch(/rate limit|block/);
  await runPetstore(['inventory', 'list'], { home, env: staging(server.baseUrl) });
  expect(await status(staging(server.baseUrl))).toMatch(/^rate limit {3}59\/60 left, resets in /m);
  await runPetstore(['inventory', 'list'], { home, env: staging(server.baseUrl) });
  expect(await status(staging(server.baseUrl))).toMatch(/^block {8}403, perhaps a ban: nothing is sent for /m);
  expect(await status()).not.toMatch(/rate limit|block/);
});

it('status names variables that nothing reads', async () => {
  const { code, stderr } = await runPetstore(['status'], { env: { PETSTORE_APIKEY: 'x', PETSTORE_ENV: 'sandbox' } });
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(
      /^warning: Unknown variable PETSTORE_APIKEY: petstore reads PETSTORE_ENV, .*PETSTORE_KEEP_HISTORY\.\n$/,
    ),
  ]);
});
