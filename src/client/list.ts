/** GET /inventory (service spec, part 4.1): the stock as a stream of checked items. */
import type { InventoryItem } from '../api/item.ts';
import { readInventoryList } from '../api/read-list.ts';
import { listInventory as route } from '../api/routes.ts';
import { HttpFailure, type HttpReply } from '../ports.ts';
import { Failure } from '../errors.ts';
import { webPageFailure } from './classify.ts';
import { judgeBroken, perform } from './retry.ts';
import type { ClientWatch, Service } from './service.ts';

/**
 * Rows are held back until the list has ended or this many have arrived. A list that breaks off before is read again, and
 * no reader has seen half of it. A longer list streams.
 */
const HELD_ROWS = 10_000;

/** What the list is read for. A cache that ignores `no-cache` may answer with an earlier one, which decides no change. */
export type ListUse = 'show' | 'change';

/**
 * Yields batches of items, in the service's order.
 * @throws {Failure} see classify.ts; `contract` with the row where a row breaks the contract
 */
export async function* listInventory(service: Service, use: ListUse): AsyncGenerator<readonly InventoryItem[]> {
  const read = async (reply: HttpReply) => {
    checkAge(reply, service, use);
    return readBeginning(reply);
  };
  const outcome = await perform(service, { call: route, read });
  if ('trouble' in outcome) throw outcome.trouble.failure;
  const { held, broken, rest } = outcome.value;
  // Emptied, so that they are not kept in memory for the rest of a long list.
  yield* held.splice(0);
  if (broken !== undefined) throw broken;
  try {
    yield* rest;
  } catch (error) {
    throw error instanceof HttpFailure ? judgeBroken({ service, call: route, attempts: 1 }, error).failure : error;
  }
}

const warned = new WeakSet<ClientWatch>();

/** Warns once of a list that a cache has kept (RFC 9111, 5.1). @throws {Failure} `contract`: a change would depend on it */
export function checkAge({ headers }: Pick<HttpReply, 'headers'>, { watch }: Service, use: ListUse): void {
  const age = Number.parseInt(headers.get('age')?.[0] ?? '', 10);
  if (!(age > 0)) return;
  const problem = `comes from a cache and is ${age} s old, so it may lack changes`;
  const fix = 'Ask the owners of the service to exclude the inventory from their caches.';
  if (use === 'change') throw new Failure('contract', { what: 'The list', problem, fix });
  if (!warned.has(watch)) watch.warning(`The list ${problem}.`);
  warned.add(watch);
}

/** `broken`: a row near the start breaks the contract; the rows before it are valid. */
async function readBeginning(reply: HttpReply) {
  const page = webPageFailure(reply);
  if (page !== undefined) throw page;
  const rows = readInventoryList(reply.body);
  const held: InventoryItem[][] = [];
  let count = 0;
  try {
    while (count < HELD_ROWS) {
      const next = await rows.next();
      if (next.done === true) break;
      held.push(next.value);
      count += next.value.length;
    }
  } catch (error) {
    if (error instanceof Failure && error.is('contract')) return { held, broken: error, rest: rows };
    throw error;
  }
  return { held, rest: rows };
}
