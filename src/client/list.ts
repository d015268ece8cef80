/** GET /inventory (service spec, part 4.1): the stock as a stream of checked items. */
import type { InventoryItem } from '../api/item.ts';
import { readInventoryList } from '../api/read-list.ts';
import { listInventory as route } from '../api/routes.ts';
import { HttpFailure, type HttpReply } from '../ports.ts';
import { Failure } from '../errors.ts';
import { webPageFailure } from './classify.ts';
import { judgeBroken, perform } from './retry.ts';
import type { Service } from './service.ts';

/**
 * Rows are held back until the list has ended or this many have arrived. A list that breaks off before is read again, and
 * no reader has seen half of it. A longer list streams.
 */
const HELD_ROWS = 10_000;

/**
 * Yields batches of items, in the service's order.
 * @throws {Failure} see classify.ts; `contract` with the row where a row breaks the contract
 */
export async function* listInventory(service: Service): AsyncGenerator<readonly InventoryItem[]> {
  const outcome = await perform(service, { call: route, read: readBeginning });
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
