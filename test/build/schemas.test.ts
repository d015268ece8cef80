import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { schemas } from '../../src/build/output-schemas.ts';
import { runIn } from '../support/in-process.ts';
import { assertSchema } from '../support/schemas.ts';
import { createTestContext } from '../support/test-context.ts';

const kept = readFileSync(new URL('../../schemas.json', import.meta.url), 'utf8');

it('this is a contract: the schemas are those that programs were written for', () => {
  const was = JSON.parse(kept) as Record<string, unknown>;
  const is = JSON.parse(schemas()) as Record<string, unknown>;
  const changed = Object.keys({ ...was, ...is }).filter(
    (name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]),
  );
  const why =
    'this is a contract: add members, but neither remove nor rename one; then npm run generate, and CHANGELOG.md';
  expect(changed, why).toEqual([]);
});

it('each is a JSON Schema 2020-12', () => {
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, int64: true } });
  for (const schema of Object.values(JSON.parse(kept) as Record<string, object>)) {
    expect([ajv.validateSchema(schema), ajv.errors]).toEqual([true, null]);
  }
});

it('petstore help schemas lists them, and prints one', async () => {
  const { stdout } = await runIn(createTestContext(), 'help', 'schemas', '-o', 'json');
  expect(JSON.parse(stdout)).toContainEqual({ schema: 'pets', of: 'inventory list' });
  const one = await runIn(createTestContext(), 'help', 'schemas', 'pets');
  expect(JSON.parse(one.stdout)).toEqual((JSON.parse(kept) as Record<string, unknown>).pets);
  for (const names of [['pex'], ['pets', 'x']])
    expect(await runIn(createTestContext(), 'help', 'schemas', ...names)).toMatchObject({ code: 2, stdout: '' });
});

it('what they do not say fails, as does a number for a text', () => {
  expect(() => assertSchema('catalog-pet', { environment: 'staging', petId: 7, more: 1 })).toThrow(
    'This is a contract',
  );
  expect(() => assertSchema('pet', { petId: '7', quantity: 1, status: 'sold' })).toThrow('This is a contract');
  expect(() => assertSchema('error', { error: { kind: 'new' } })).toThrow('This is a contract');
});
