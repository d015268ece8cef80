import { expect, it } from 'vitest';
import { openapiDocument } from '../../src/api/openapi.ts';
import { ROUTES } from '../../src/api/routes.ts';

it('the OpenAPI document says what the routes and schemas say', () => {
  const document = openapiDocument() as {
    openapi: string;
    paths: Record<string, Record<string, { operationId: string; 'x-stability'?: string; responses: object }>>;
    components: { schemas: Record<string, unknown> };
  };
  expect(document.openapi).toBe('3.1.0');
  const operations = ROUTES.map(({ path, method }) => document.paths[path]?.[method.toLowerCase()]);
  expect(
    operations.map((each) => [each?.operationId, each?.['x-stability'], Object.keys(each?.responses ?? {})]),
  ).toEqual([
    ['listInventory', undefined, ['200', '401', '429', 'default']],
    ['updateInventory', 'experimental', ['200', '400', '401', '404', '429', 'default']],
  ]);
  expect(document.components.schemas.InventoryItem).toEqual({
    type: 'object',
    properties: {
      petId: { type: 'integer', format: 'int64' },
      quantity: { type: 'integer' },
      status: { $ref: '#/components/schemas/PetStatus' },
    },
    required: ['petId', 'quantity', 'status'],
  });
});
