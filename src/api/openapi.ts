/** The OpenAPI 3.1 document, made from the routes and the schemas. Loads all of zod: for the generator only. */
import * as z from 'zod';
import type { JSONSchema } from 'zod/v4/core';
import { ROUTES, type Route } from './routes.ts';
import { ErrorSchema, Int64, Integer, InventoryItemSchema, InventoryUpdateSchema, PetStatusSchema } from './schemas.ts';

/** The version of the interface description (service spec, part 9). */
const VERSION = '1.0.0';

const LIMIT_HEADERS = {
  'X-RateLimit-Limit': header('Requests per window'),
  'X-RateLimit-Remaining': header('Requests left in the window'),
  'X-RateLimit-Reset': header('When the limit resets, as a Unix timestamp'),
};

export function openapiDocument(): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of ROUTES) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pet Store Inventory',
      version: VERSION,
      description: 'Stock levels of the pets in a store. Ids are int64: read them exactly.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: 'https://{host}/v1',
        description: 'Production or staging: the address comes from whoever runs the service',
        variables: { host: { default: 'example.com' } },
      },
    ],
    security: [{ apiKey: [] }],
    tags: [{ name: 'Inventory', description: 'Stock levels' }],
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'The API key as the bearer token' } },
      schemas: {
        InventoryItem: schemaOf(InventoryItemSchema),
        InventoryUpdate: schemaOf(InventoryUpdateSchema),
        PetStatus: schemaOf(PetStatusSchema),
        Error: schemaOf(ErrorSchema),
      },
    },
  };
}

function operation(route: Route): Record<string, unknown> {
  const parameters = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: 'ID of the pet',
    schema: schemaOf(Int64),
  }));
  const responses = Object.entries(route.responses).map(([status, { body, when }]) => [status, response(body, when)]);
  return {
    operationId: route.operationId,
    summary: route.summary,
    tags: ['Inventory'],
    ...(route.stability !== 'stable' && { 'x-stability': route.stability }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.request !== undefined && { requestBody: { required: true, content: content(route.request) } }),
    responses: { ...Object.fromEntries(responses), 429: tooMany() },
  };
}

function response(body: string, when: string): Record<string, unknown> {
  return { description: when, headers: LIMIT_HEADERS, content: content(body) };
}

function tooMany(): Record<string, unknown> {
  const description = 'rate limit exceeded; repeated requests may lead to a temporary ban of the key';
  return {
    description,
    headers: { ...LIMIT_HEADERS, 'Retry-After': { description: 'When to retry', schema: { type: 'string' } } },
  };
}

function content(body: string): Record<string, unknown> {
  const name = body.replace(/\[\]$/, '');
  const reference = { $ref: `#/components/schemas/${name}` };
  return { 'application/json': { schema: body.endsWith('[]') ? { type: 'array', items: reference } : reference } };
}

function header(description: string): Record<string, unknown> {
  return { description, required: true, schema: { type: 'integer' } };
}

/** JSON Schema of what goes over the wire, where an exact integer is a plain integer. */
function schemaOf(schema: z.core.$ZodType): JSONSchema.BaseSchema {
  const made = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // The bounds of a double are zod's, not the service's.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (zodSchema !== Int64 && zodSchema !== Integer) return;
      delete jsonSchema.anyOf;
      jsonSchema.type = 'integer';
      if (zodSchema === Int64) jsonSchema.format = 'int64';
    },
  });
  const { $schema: _dialect, ...rest } = made;
  return rest;
}
