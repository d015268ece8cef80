/**
 * PATCH /inventory/{petId} (service spec, part 4.2): sets the quantity of one pet.
 *
 * The service has no idempotency key. If it is unknown whether a write was applied, petstore reads the list: the write
 * counts as applied if the pet has the new quantity, and is sent again only if the pet still has the earlier one. Any
 * other quantity was set by another client. A gateway is sent the earlier quantity as a condition, and refuses the
 * update if the pet has another one.
 */
import type { InventoryItem } from '../api/item.ts';
import { JsonError, parseJson, stringifyJson } from '../api/json.ts';
import { readItem } from '../api/schemas.ts';
import { updateInventory as route } from '../api/routes.ts';
import { parseInteger } from '../api/values.ts';
import type { HttpReply } from '../ports.ts';
import { Failure, isFailure, midway, onlyFailure, usageFailure } from '../errors.ts';
import { gateways } from './attempt.ts';
import { type Classified, isUncertain, webPageFailure } from './classify.ts';
import { type Result, perform, retryLeftMs, stopReason, type Trouble, waitBefore, wholeBody } from './retry.ts';
import type { ListUse } from './list.ts';
import type { RawAnswer } from './raw.ts';
import type { Call, Service } from './service.ts';

/** How old the list may be when a write is sent again, in ms. */
const RECENT_MS = 1_000;
/** How often the list is read for one write that has to wait too long each time. */
const MOST_LOOKS = 3;

export interface Update {
  readonly petId: bigint;
  readonly quantity: bigint;
  /** The quantity that was read; absent if it was not: then any quantity is replaced. */
  readonly before?: bigint | undefined;
  /** See Call. If it returns false, the failure is one that `isOutdated` recognises. */
  readonly isCurrent?: (() => boolean) | undefined;
  /** Called when the list was read after a lost answer: it may show that other pets have changed, too. */
  readonly onLook?: (() => void) | undefined;
  /** If it is not held just before an attempt, another machine may change the pet: nothing is sent then either. */
  readonly lock?: { isHeld(): boolean } & Pick<Call, 'confirm'>;
}

/** True for a write that was not sent because the stock had been read too long ago. */
export function isOutdated(error: unknown): boolean {
  return isFailure(error) && error.is('network') && error.details.phase === 'withdrawn';
}

/** Returns the request as --dry-run shows it; if `service` is a gateway, with the earlier quantity as a condition. */
export function updateCall({ petId, quantity, before }: Update, service?: Service) {
  const path = route.path.replace('{petId}', petId.toString());
  const isConditional = before !== undefined && service !== undefined && gateways.has(service.http);
  const body = stringifyJson(new Map([['quantity', quantity]]));
  return { method: route.method, path, body, petId, ...(isConditional && { ifMatch: before }) };
}

/**
 * Sends the update. Returns the item as the service stored it, with the pet and the quantity that were asked for.
 * @throws {Failure} `outcome-unknown` if even the list did not tell; see classify.ts for the others
 */
export async function updateInventory(service: Service, update: Update): Promise<InventoryItem> {
  const { isCurrent, lock } = update;
  const call = updateCall(update, service);
  const tries = { made: 0 };
  /** Returns the stored item, or the trouble after which the list has to be read. */
  const send = async (isFresh = isCurrent): Promise<Result<InventoryItem>> => {
    const operation = {
      call: { ...call, isCurrent: () => lock?.isHeld() !== false && isFresh?.() !== false, confirm: lock?.confirm },
      read: (reply: HttpReply) => readStored(reply, update, service),
    };
    const outcome = await perform(service, operation, tries);
    if ('value' in outcome || isUncertain(outcome.trouble)) return outcome;
    throw outcome.trouble.failure;
  };
  let outcome = await send();
  for (let looks = 1, isLast = false; 'trouble' in outcome; looks++) {
    const { trouble } = outcome;
    const found = await look(service, update, call, trouble, { looks, made: tries.made });
    if (found !== undefined) return finished(service, found, update);
    if (trouble.repeat === 'look-only') throw trouble.failure;
    if (isLast) throw unknown(service, update, trouble, { looked: true });
    const again = await send(isRecent(service, RECENT_MS)).catch((error: unknown) => {
      // The lost request may have arrived after the look.
      if (isOutdated(error) || (isFailure(error) && error.is('precondition-failed'))) return undefined;
      // The first request may still be on its way, or behind a gateway that has given up.
      throw isFailure(error) ? unknown(service, update, { failure: midway(error) }, { looked: true }) : error;
    });
    outcome = again ?? outcome;
    if ('value' in outcome || retryLeftMs(service, call, outcome.trouble) > 0) continue;
    if (again === undefined && looks >= MOST_LOOKS) throw unknown(service, update, trouble, { looked: true });
    // One more look tells what became of the last write.
    isLast = again !== undefined;
  }
  return finished(service, outcome.value, update);
}

/** Returns a function that is true for this time: while a request waits, others may change the stock. */
export function isRecent({ clock }: Pick<Service, 'clock'>, ms: number): () => boolean {
  const from = clock.monotonic();
  return () => clock.monotonic() - from <= ms;
}

/**
 * Reads the list. Returns the item if the write was applied, and undefined if it may be sent again.
 * @throws {Failure} `outcome-unknown`
 */
async function look(
  service: Service,
  update: Update,
  call: Call,
  trouble: Trouble,
  { looks, made }: { readonly looks: number; readonly made: number },
): Promise<InventoryItem | undefined> {
  // Even if the wait is cut short, the write may have been sent.
  const isDue = !service.signal.aborted && (await waitBefore(service, call, trouble, made).catch(() => false));
  if (!isDue) throw unknown(service, update, trouble);
  const open = `It is not known whether pet ${update.petId} was set to ${update.quantity}`;
  if (looks === 1) service.watch.warning(`${open}: reading the list to check.`);
  const reader = { ...service, retryForMs: retryLeftMs(service, call, trouble) };
  const found = await findPet(reader, update.petId).catch((error: unknown) => {
    throw isFailure(error) ? unknown(service, update, { failure: midway(error) }) : error;
  });
  update.onLook?.();
  if (found?.quantity === update.quantity) return found;
  const { before = found?.quantity } = update;
  if (found === undefined || found.quantity !== before) {
    throw unknown(service, update, trouble, { looked: true, found: found?.quantity });
  }
  return undefined;
}

/**
 * Reads one pet's item from the list; undefined if the list does not have it.
 * @throws {Failure} `contract`: the list has it twice, so no write can be decided; what listInventory throws
 */
export async function findPet(
  service: Service,
  petId: bigint,
  use: ListUse = 'change',
): Promise<InventoryItem | undefined> {
  const { listInventory } = await import('./list.ts');
  const found: InventoryItem[] = [];
  for await (const items of listInventory(service, use)) {
    found.push(...items.filter((item) => item.petId === petId));
    if (found.length > 1) throw listedTwice(petId);
  }
  return found[0];
}

/** Returns the failure of a list by which no write can be decided. */
export function listedTwice(petId: bigint): Failure {
  return new Failure('contract', { what: 'The list', problem: `has pet ${petId} more than once` });
}

/**
 * Checks the `If-Match` of an update: a quantity in quotes, or `*`. Returns the pet's quantity; undefined for `*`.
 * @throws {Failure} `usage`, `pet-not-found`, `precondition-failed`: nothing is to be sent
 */
export async function checkCondition(service: Service, petId: bigint, ifMatch: string): Promise<bigint | undefined> {
  const condition = ifMatch.trim();
  if (condition === '*') return undefined;
  const expected = parseInteger(/^"(.*)"$/.exec(condition)?.[1] ?? '');
  if (expected === undefined) {
    const problem = `If-Match is ${condition}, but must be a quantity in quotes, such as "10", or *`;
    throw usageFailure(`${problem}; nothing was sent.`);
  }
  return (await readPet(service, petId, expected)).quantity;
}

/** Reads one pet, which must have the expected quantity. @throws {Failure} `pet-not-found`, `precondition-failed` */
export async function readPet(
  service: Service,
  petId: bigint,
  expected: bigint | undefined,
  use?: ListUse,
): Promise<InventoryItem> {
  const found = await findPet(service, petId, use);
  if (found === undefined) throw new Failure('pet-not-found', { petId, environment: service.environment });
  if (expected === undefined || found.quantity === expected) return found;
  throw new Failure('precondition-failed', { petId, expected, found: found.quantity });
}

/** @param look whether the list was read, and its quantity if that is neither the earlier nor the new one */
function unknown(
  service: Service,
  { petId, quantity }: Update,
  { failure }: Pick<Classified, 'failure'>,
  look: { readonly looked: boolean; readonly found?: bigint | undefined } = { looked: false },
): Failure {
  const write = { petId, quantity, environment: service.environment };
  const stop = stopReason(service);
  if (stop?.is('interrupted') === true && look.found === undefined) {
    return new Failure('interrupted', { ...stop.details, outcome: 'unknown', write });
  }
  return new Failure('outcome-unknown', { ...write, ...look, because: stop ?? failure });
}

/** Returns the item, or throws if a signal arrived meanwhile: the command ends and says that the write was applied. */
function finished(service: Service, item: InventoryItem, { petId, quantity }: Update): InventoryItem {
  const stop = stopReason(service);
  if (stop?.is('interrupted') !== true) return item;
  throw new Failure('interrupted', {
    ...stop.details,
    outcome: 'applied',
    write: { petId, quantity, environment: service.environment },
  });
}

/** Adds a failure to a raw answer that does not tell that the update was applied: another success than 200, or another body. */
export async function confirmed(
  service: Service,
  { method, path }: Call,
  update: Update,
  answer: RawAnswer,
): Promise<RawAnswer> {
  const { failure, status } = answer;
  if (failure !== undefined) return answer;
  const because =
    status === 200
      ? await readStored(answer, update, service).then(() => undefined, onlyFailure)
      : new Failure('unexpected-status', { serviceError: { status } });
  if (because === undefined) return answer;
  const { environment } = service;
  return { ...answer, failure: new Failure('outcome-unknown', { call: `${method} ${path}`, environment, because }) };
}

/** @throws {Failure} `contract`, `stored-differently` */
async function readStored(reply: HttpReply, { petId, quantity }: Update, service: Service): Promise<InventoryItem> {
  const page = webPageFailure(reply);
  if (page !== undefined) throw page;
  const body = await wholeBody(reply);
  const what = 'The answer to the update';
  let item: InventoryItem;
  try {
    item = readItem(parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body)), what);
  } catch (error) {
    if (error instanceof TypeError) throw new Failure('contract', { what, problem: 'is not valid UTF-8' });
    if (!(error instanceof JsonError)) throw error;
    throw new Failure('contract', { what, problem: `is not JSON: ${error.problem}` });
  }
  if (item.petId === petId && item.quantity === quantity) return item;
  const stored = { petId: item.petId, quantity: item.quantity };
  throw new Failure('stored-differently', { petId, quantity, stored, environment: service.environment });
}
