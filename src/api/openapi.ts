/** Makes the OpenAPI 3.1 document from the routes and the schemas. */
import * as z from 'zod/mini';
import type { JSONSchema } from 'zod/v4/core';
import { ROUTES, type Route } from './routes.ts';
import { ErrorSchema, Int64, Integer, InventoryItemSchema, InventoryUpdateSchema, PetStatusSchema } from './schemas.ts';

const ITEM = { petId: 7, quantity: 12, status: 'available' };

const EXAMPLES: Readonly<Record<string, unknown>> = {
  InventoryItem: ITEM,
  'InventoryItem[]': [ITEM, { petId: 8, quantity: 0, status: 'sold' }],
  InventoryUpdate: { quantity: 12 },
};

/** The spec gives no code for a status: these are the sandbox's. */
const ERRORS: Readonly<Record<string, { code: string; message: string }>> = {
  400: { code: 'invalid_request', message: 'quantity must be an integer.' },
  401: { code: 'unauthorized', message: 'The API key is missing or invalid.' },
  404: { code: 'not_found', message: 'There is no pet 999.' },
  default: { code: 'busy', message: 'The service is busy.' },
};

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
        description: 'Production or staging: the address comes from the operator of the service',
        variables: { host: { default: 'example.com' } },
      },
    ],
    security: [{ apiKey: [] }],
    tags: [{ name: 'Inventory', description: 'Stock levels' }],
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'The API key as the bearer token' } },
      schemas: {
        InventoryItem: withStatus(schemaOf(InventoryItemSchema)),
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
  const responses = Object.entries(route.responses).map(([status, { body, when }]) => {
    return [status, response(body, when, status)];
  });
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: route.description,
    tags: ['Inventory'],
    ...(route.stability !== 'stable' && { 'x-stability': route.stability }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.request !== undefined && { requestBody: { required: true, content: content(route.request) } }),
    responses: {
      ...Object.fromEntries(responses),
      429: {
        description: 'rate limit exceeded; repeated requests may lead to a temporary ban of the key',
        headers: { ...LIMIT_HEADERS, 'Retry-After': { description: 'When to retry', schema: { type: 'string' } } },
      },
      // Part 2: the body of every error response.
      default: response('Error', 'any other error'),
    },
  };
}

function response(body: string, when: string, status = 'default'): Record<string, unknown> {
  return { description: when, headers: LIMIT_HEADERS, content: content(body, status) };
}

function content(body: string, status = 'default'): Record<string, unknown> {
  const name = body.replace(/\[\]$/, '');
  const reference = { $ref: `#/components/schemas/${name}` };
  const schema = body.endsWith('[]') ? { type: 'array', items: reference } : reference;
  const example = EXAMPLES[body] ?? { ...ERRORS[status], status: status === 'default' ? 503 : Number(status) };
  return { 'application/json': { schema, example } };
}

function header(description: string): Record<string, unknown> {
  return { description, required: true, schema: { type: 'integer' } };
}

/** Refers to the status enumeration by name. */
function withStatus(item: JSONSchema.BaseSchema): JSONSchema.BaseSchema {
  return { ...item, properties: { ...item.properties, status: { $ref: '#/components/schemas/PetStatus' } } };
}

/** Returns the JSON Schema of the JSON on the wire, where an exact integer is a plain integer. */
export function schemaOf(schema: z.core.$ZodType): JSONSchema.BaseSchema {
  const made = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // zod adds the bounds of a double; the service has none.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // The format implies it.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      if (zodSchema !== Int64 && zodSchema !== Integer) return;
      delete jsonSchema.anyOf;
      jsonSchema.type = 'integer';
      if (zodSchema === Int64) jsonSchema.format = 'int64';
    },
  });
  const { $schema: _dialect, ...rest } = made;
  return rest;
}
