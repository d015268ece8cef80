/**
 * The one way to change stock: locks the pet, records the write as `sent` on the disk, sends it, and records its
 * outcome before another command may change the pet. No other file sends or records an update.
 */
import type { InventoryItem } from '../api/item.ts';
import { integer, JsonError, parseJson, RawNumber } from '../api/json.ts';
import { parseInt64 } from '../api/values.ts';
import type { RawAnswer } from '../client/raw.ts';
import type { Call } from '../client/service.ts';
import { decoded } from '../redact.ts';
import { checkCondition, confirmed, isOutdated, isRecent, type Update, updateInventory } from '../client/update.ts';
import { Failure, isFailure, onlyFailure, usageFailure } from '../errors.ts';
import type { RowOutcome } from '../report/failure-meaning.ts';
import { markRefused } from '../rate-limit/gate.ts';
import type { Session } from '../session/connect.ts';
import type { CommandContext, OpenWrite } from '../session/globals.ts';
import type { State } from '../state/database.ts';
import { type Change, isUncertain, type Journal, type Settled, type Where } from '../state/journal.ts';
import { openWritable, written } from './open-journal.ts';
import { petLocksOf, type WithLock } from './pet-lock.ts';
import type { PetLock } from './shared-pet-lock.ts';

/** What writes need: a service, the journal, and the locks of pets. */
export interface Writer {
  readonly context: CommandContext;
  readonly session: Pick<Session, 'environment' | 'origin' | 'service' | 'redis'>;
  readonly journal: Journal;
  readonly withLock: WithLock;
}

/** The state and the locks of pets. */
export interface Means extends Pick<Writer, 'withLock'> {
  readonly openState: () => Promise<State>;
}

/** A write: a planned row of a run, or a change that is not in the journal yet. */
export type Write = Pick<Change, 'petId' | 'before' | 'after'> &
  (Pick<Change, 'id'> | { readonly command: string; readonly person?: string; readonly run?: bigint | undefined });

/** A writer that holds a pet's lock. Only `withPet` creates one. */
export type LockedPet = Writer & { readonly lock: PetLock };

/** Locks the pet for the work. @throws {Failure} `run-locked`: another process held it for too long */
export function withPet<T>(writer: Writer, petId: bigint, work: (pet: LockedPet) => Promise<T>): Promise<T> {
  return writer.withLock(petId, (lock) => work({ ...writer, lock }));
}

/** How old the quantity that was read may be when the write is sent, in ms. */
const FRESH_MS = 5_000;

/**
 * Locks the pet for a read and a write. Calls `work` once more if its write waited for longer than `freshMs` after the
 * read, or if the lock was lost. The second write may wait: the rate limit may allow only one request in that time.
 */
export async function withFreshPet<T>(
  writer: Writer,
  petId: bigint,
  work: (pet: LockedPet, freshMs: number) => Promise<T>,
): Promise<T> {
  try {
    return await withPet(writer, petId, (pet) => work(pet, FRESH_MS));
  } catch (error) {
    if (!isOutdated(error)) throw error;
    return withPet(writer, petId, (pet) => work(pet, Number.POSITIVE_INFINITY));
  }
}

/**
 * Opens the journal for single writes. It stays open: the process is about to end, or has more of them.
 * @param means those that are missing are made for this call
 */
export async function withWriter<T>(
  context: CommandContext,
  session: Writer['session'],
  work: (writer: Writer) => Promise<T>,
  { openState = () => openWritable(context), withLock = petLocksOf(context, session) }: Partial<Means> = {},
): Promise<T> {
  return written(context, await openState(), (journal) => work({ context, session, withLock, journal }));
}

/** Sends an update, again if it was lost and not applied. @throws {Failure} `unrecorded`, and see updateInventory */
export async function updateOne(
  pet: LockedPet,
  write: Write,
  watch: Pick<Update, 'isCurrent' | 'onLook'> = {},
): Promise<InventoryItem> {
  const { petId, before, after } = write;
  const update = { petId, quantity: after, before, ...watch, lock: pet.lock };
  const send = () => updateInventory(pet.session.service, update);
  return callOne(pet, write, send, (unrecorded) => {
    throw unrecorded;
  });
}

/**
 * Sends a write by the caller's `send`, and returns its answer, even a refusal.
 * @param onUnrecorded gets why a write that was applied is not in the history; by default it is a warning
 * @throws {Failure} without an answer
 */
export async function callOne<T extends InventoryItem | { readonly failure?: Failure | undefined }>(
  pet: LockedPet,
  write: Write,
  send: () => Promise<T>,
  onUnrecorded?: (why: Failure) => void,
): Promise<T> {
  const { context, session } = pet;
  const { openWrites } = context;
  const change = { petId: write.petId, quantity: write.after, environment: session.environment };
  const open: OpenWrite = { ...change, outcome: 'unknown' };
  const row = 'id' in write ? write : { ...write, where: whereOf(context, session, write.command, write.person) };
  const id = await pet.journal.send(row, context.clock.now());
  openWrites.add(open);
  const sent = await send().catch(onlyFailure);
  const failure = isFailure(sent) ? sent : 'failure' in sent ? sent.failure : undefined;
  const outcome = failure === undefined ? APPLIED : (await import('../report/failures.ts')).rowOutcome(failure);
  const isRefused = outcome.state === 'planned' || outcome.state === 'failed';
  // In a run, other rows may have been applied.
  if (isRefused && !('id' in write) && write.run === undefined && failure !== undefined) markRefused(failure);
  if (outcome.state === 'applied') open.outcome = 'applied';
  else if (isRefused) openWrites.delete(open);
  const because = await pet.journal.settle(id, outcome).catch(onlyFailure);
  openWrites.delete(open);
  if (isFailure(because)) {
    if (failure === undefined) onUnrecorded?.(new Failure('unrecorded', { ...change, because }, because));
    // Without an answer, the failure itself reports the outcome of the write.
    context.notices.warning('The outcome of the write could not be recorded in the history.');
  }
  if (isFailure(sent)) throw sent;
  return sent;
}

const APPLIED: RowOutcome = { state: 'applied', continues: 'always' };

/** Records the outcome that the stock shows of a write, or that of a row that is not sent. @throws {Failure} `state` */
export function recordOutcome(journal: Journal, id: bigint, outcome: Settled): Promise<void> {
  return journal.settle(id, outcome, false);
}

/** Records what the stock shows of writes without an answer: the quantity that a pet was set to, or the one before. */
export async function recordShown(
  journal: Journal,
  changes: readonly Change[],
  stock: ReadonlyMap<bigint, { readonly quantity: bigint | undefined }>,
): Promise<void> {
  for (const change of changes) {
    const recorded = journal.sentChange(change.id);
    // Its own command may have learned the outcome, or sent it again.
    if (recorded?.turn !== change.turn || !isUncertain(recorded)) continue;
    const shown = journal.foundAfter(change) ?? stock.get(change.petId)?.quantity;
    if (shown === change.after) await recordOutcome(journal, change.id, APPLIED);
    else if (shown !== undefined && shown === change.before)
      await recordOutcome(journal, change.id, { state: 'discarded', reason: 'it was not applied' });
  }
}

/**
 * Sends a call. An update of a pet is sent under the pet's lock, and recorded if its body has a quantity. The
 * `If-Match` of a recorded update is compared with the stock first, and not sent.
 * @param by `person` defaults to the user who runs petstore, `means` to new ones for this call
 */
export async function recordedCall(
  context: CommandContext,
  session: Writer['session'],
  { call, means, ...by }: Pick<Change, 'command'> & { call: Call; person?: string; means?: Means },
  send: (call: Call) => Promise<RawAnswer>,
): Promise<RawAnswer> {
  const petId = changedPet(call);
  if (petId === undefined) return send(call);
  const after = quantityIn(call);
  const { 'if-match': condition = '*' } = call.headers ?? {};
  if (after === undefined && condition.trim() !== '*') {
    throw usageFailure('If-Match needs a body with an integer as its "quantity"; nothing was sent.');
  }
  const work = (writer: Writer): Promise<RawAnswer> =>
    withFreshPet(writer, petId, (pet, freshMs) =>
      after === undefined ? send(call) : callChecked(pet, { ...by, petId, after }, call, send, freshMs),
    );
  return await withWriter(context, session, work, means);
}

/** True for a call that the history records. */
export function isRecorded(call: Call): boolean {
  return changedPet(call) !== undefined && quantityIn(call) !== undefined;
}

/** Returns the pet that a call updates. Its path is read as leniently as a service may read it. */
function changedPet({ method, path }: Call): bigint | undefined {
  const [plain = ''] = method === 'PATCH' ? path.split(/[?#]/) : [];
  return parseInt64(decoded(plain).replace(/^\/+inventory\/+\+?(-?)0*(\d+)(?:\.0*)?\/*$/i, '$1$2'));
}

async function callChecked(
  pet: LockedPet,
  write: Omit<Extract<Write, { command: string }>, 'before'>,
  call: Call,
  send: (call: Call) => Promise<RawAnswer>,
  freshMs: number,
): Promise<RawAnswer> {
  const { lock, session } = pet;
  const { service } = session;
  const { petId, after: quantity } = write;
  const { 'if-match': condition = '*', ...headers } = call.headers ?? {};
  const before = await checkCondition(service, petId, condition);
  const isFresh = isRecent(service, freshMs);
  const isCurrent = (): boolean => before === undefined || (lock.isHeld() && isFresh());
  const checked = { ...call, isCurrent, confirm: lock.confirm, ...(call.headers && { headers }) };
  return callOne(pet, { ...write, before }, async () =>
    confirmed(service, call, { petId, quantity }, await send(checked)),
  );
}

function quantityIn({ body = '' }: Call): bigint | undefined {
  try {
    // Without a byte order mark, which a service may ignore.
    const value = parseJson(new TextDecoder().decode(Buffer.from(body)));
    const quantity = value instanceof Map ? value.get('quantity') : undefined;
    // Such as 9.0 or 1e1.
    return integer(quantity instanceof RawNumber ? Number(quantity.source) : quantity);
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

/** Returns what the history records about a command's changes. */
export function whereOf(
  { machine, why }: CommandContext,
  session: Pick<Session, 'environment' | 'origin'>,
  command: string,
  person = why?.person ?? machine.user,
): Where {
  const { environment, origin } = session;
  return { environment, origin, command, ...why, person };
}
