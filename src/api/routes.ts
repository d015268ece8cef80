/**
 * The operations (service spec, part 4) as data: the client calls them, the sandbox serves them,
 * the OpenAPI document lists them.
 */

export interface Route {
  readonly operationId: string;
  readonly method: 'GET' | 'PATCH';
  /** Relative to the base URL; `{name}` is a path parameter. */
  readonly path: string;
  readonly summary: string;
  /** Purpose of the operation, and what a client should know. */
  readonly description: string;
  readonly stability: 'stable' | 'experimental';
  readonly request?: 'InventoryUpdate';
  /** Status -> body. Every operation needs authentication and may answer 429 (parts 5 and 8). */
  readonly responses: Readonly<Record<number, { body: 'InventoryItem' | 'InventoryItem[]' | 'Error'; when: string }>>;
}

export const listInventory = {
  operationId: 'listInventory',
  method: 'GET',
  path: '/inventory',
  summary: 'Current stock levels of all pets in the store',
  description: 'One entry for each tracked pet, in no order that the service promises.',
  stability: 'stable',
  responses: {
    200: { body: 'InventoryItem[]', when: 'one entry per tracked pet' },
    401: { body: 'Error', when: 'missing or invalid API key' },
  },
} as const satisfies Route;

export const updateInventory = {
  operationId: 'updateInventory',
  method: 'PATCH',
  path: '/inventory/{petId}',
  summary: 'Set the stock quantity of one pet',
  description:
    'For new arrivals, returns and corrections by hand. It sets the count, whatever it was before; what that does to ' +
    'the status is not documented. Experimental: the request may change before it becomes stable.',
  stability: 'experimental',
  request: 'InventoryUpdate',
  responses: {
    200: { body: 'InventoryItem', when: 'the updated entry' },
    400: { body: 'Error', when: 'body missing required fields or containing invalid values' },
    401: { body: 'Error', when: 'missing or invalid API key' },
    404: { body: 'Error', when: 'the requested resource could not be found' },
  },
} as const satisfies Route;

export const ROUTES: readonly Route[] = [listInventory, updateInventory];
