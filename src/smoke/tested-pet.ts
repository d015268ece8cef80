/** The pet that a smoke test writes to. Its changes are a run in the journal, which ends when the pet is restored. */
import { integer, type JsonObject } from '../api/json.ts';
import { callOne, type LockedPet, recordOutcome, recordShown, updateOne, whereOf } from '../stock/write-one.ts';
import { checkAge } from '../client/list.ts';
import { probe, type Reply } from '../client/raw.ts';
import type { Call, Service } from '../client/service.ts';
import { findPet, updateCall } from '../client/update.ts';
import { Failure, isFailure, onlyFailure } from '../errors.ts';
import { rowOutcome } from '../report/failures.ts';
import type { Run } from '../state/journal.ts';
import type { SmokeClients } from './smoke-clients.ts';

/**
 * Begins a run. First restores the pet if an earlier smoke test was killed before it could.
 * @param locked its client is usable for a short time after a signal
 */
export async function beginTest(locked: LockedPet, petId: bigint, listed: bigint): Promise<TestedPet> {
  const { context, journal, session } = locked;
  let present = listed;
  for (const killed of journal.unfinished()) {
    const changes = killed.kind === 'smoke' && killed.origin === session.origin ? journal.changesOf(killed.id) : [];
    const [first] = changes;
    if (first?.petId !== petId || first.before === undefined) continue;
    const isTest = present !== first.before && changes.some(({ before, after }) => [before, after].includes(present));
    const isLeft = isTest && journal.newestOther(changes.at(-1)!) === undefined;
    if (isLeft) {
      context.notices.warning(
        `A smoke test that was stopped has left pet ${petId} at ${present}; putting it back to ${first.before}.`,
      );
    }
    const pet = new TestedPet(locked, killed, petId, present, isLeft ? first.before : present);
    await pet.end();
    present = pet.original;
  }
  const run = { kind: 'smoke', startedAt: context.clock.now() } as const;
  return new TestedPet(locked, await journal.begin(run, whereOf(context, session, 'smoke'), []), petId, present);
}

export class TestedPet {
  /** Its quantity before any smoke test. */
  readonly original: bigint;
  /** Its current quantity; undefined if an answer has left it unknown. */
  present: bigint | undefined;
  /** Quantities that this test may have set; undefined for one that no answer has shown. */
  private readonly written = new Set<bigint | undefined>();
  /** What the service did with invalid updates since the last look; of one that it may have taken, the pet may have any quantity. */
  private invalid: 'refused' | 'taken' | undefined;
  /** What someone else has set it to, if the last look shows that. */
  private foreign: bigint | undefined;
  private readonly locked: LockedPet;
  private readonly run: Run;
  readonly petId: bigint;

  constructor(locked: LockedPet, run: Run, petId: bigint, present: bigint, original = present) {
    this.locked = locked;
    this.run = run;
    this.petId = petId;
    this.present = present;
    this.original = original;
  }

  /** Sets the pet once, as a check, and records it. */
  async set(after: bigint, service: Service, clients: SmokeClients): Promise<Reply> {
    const { locked, petId } = this;
    const call = this.whileLocked(updateCall({ petId, quantity: after, before: this.present }, service));
    const answer = await callOne(locked, this.change(after), () => clients.ask(service, call, true));
    if (isRefused(answer)) return answer;
    const { json, status } = answer;
    const stored = json instanceof Map ? integer(json.get('quantity')) : undefined;
    this.written.add(after).add(stored);
    this.present = status === 200 && stored === after ? after : undefined;
    return answer;
  }

  /** Sends an invalid body, as a check, and records it as what a service may take it for. Looks if it may have been taken. */
  async misuse({ body, taken }: { body: string; taken: bigint }, clients: SmokeClients): Promise<Reply> {
    const { journal } = this.locked;
    const { method, path } = updateCall({ petId: this.petId, quantity: taken });
    const answer = await callOne(this.locked, this.change(taken), async () => {
      const reply = await clients.ask(clients.keyed, this.whileLocked({ method, path, body }), false);
      // Without a failure, it would be recorded as applied.
      const { failure = new Failure('unexpected-status', { serviceError: { status: reply.status! } }) } = reply;
      return { ...reply, failure };
    });
    this.written.add(taken);
    this.invalid = isRefused(answer) ? 'refused' : 'taken';
    if (this.invalid === 'refused') {
      const { id } = journal.changesOf(this.run.id).at(-1)!;
      // Not in the history: it is no failed change of stock.
      await recordOutcome(journal, id, { state: 'unchanged', reason: undefined, isUnsent: true });
    } else {
      this.present = undefined;
      await this.look();
    }
    return answer;
  }

  /** Learns the pet's quantity from the list. One that this test cannot have set was set by someone else, and stays. */
  async look(): Promise<void> {
    const { locked, original, petId, written } = this;
    const found = await findPet(locked.session.service, petId).then(
      (item) => item?.quantity,
      (error: unknown) => this.quantityDespite(error),
    );
    if (this.invalid === 'taken') written.add(found);
    this.invalid = undefined;
    const isOwn = found === original || written.has(found);
    this.foreign = isOwn ? undefined : found;
    if (isOwn || this.present !== original) this.present = isOwn ? found : undefined;
  }

  /**
   * Returns the pet's quantity in a list with a broken row. Puts the pet back first if an invalid update was stored as
   * it is: no other command could read the list.
   * @param error why the list could not be read; thrown if it does not tell the quantity
   */
  private async quantityDespite(error: unknown): Promise<bigint> {
    const { service } = this.locked.session;
    if (!isFailure(error) || !error.is('contract')) throw error;
    const list = await probe(service, { method: 'GET', path: '/inventory' });
    checkAge(list, service, 'change');
    const [row, ...more] = rowsOf(list).filter((each) => integer(each.get('petId')) === this.petId);
    if (row === undefined || more.length > 0) throw error;
    const quantity = integer(row.get('quantity'));
    if (quantity !== undefined) return quantity;
    if (this.invalid !== 'taken') throw error;
    await this.putBack();
    return this.original;
  }

  /**
   * Restores the pet if it may have changed, and ends the run. Warns if it cannot be restored.
   * @param error what has ended the checks
   * @throws {Failure} the error, or what kept the pet from being restored, with the outcome
   */
  async end(error?: unknown): Promise<void> {
    const { original, petId } = this;
    const { environment } = this.locked.session;
    const failed = await this.restore().then(
      () => error,
      (cause: unknown) => error ?? cause,
    );
    const { foreign, present } = this;
    if (present !== original || foreign !== undefined) {
      const left = `has ${foreign} in ${environment}, which the smoke test has not set: it is left so.`;
      const stuck =
        `could not be put back to ${original} in ${environment}; ` +
        `check it, then run petstore --env ${environment} inventory set ${petId} ${original}${original < 0n ? ' --allow-negative' : ''}`;
      this.locked.context.notices.warning(`Pet ${petId} ${foreign === undefined ? stuck : left}`);
    }
    if (failed === undefined) return;
    if (!isFailure(failed) || this.written.size === 0) throw failed;
    const write = { petId, quantity: present ?? original, environment };
    const outcome = present === undefined ? 'unknown' : present === original ? 'not-applied' : 'applied';
    if (failed.is('interrupted')) throw new Failure('interrupted', { ...failed.details, outcome, write }, failed);
    failed.outcome = outcome;
    if (outcome !== 'unknown' || failed.is('outcome-unknown')) throw failed;
    throw new Failure('outcome-unknown', { ...write, looked: false, because: failed }, failed);
  }

  private async restore(): Promise<void> {
    const { context, journal } = this.locked;
    try {
      if (this.present === undefined || this.invalid !== undefined) await this.look();
      if (this.present === undefined) return;
      // Records what the stock shows of updates without an answer, before the pet is put back.
      const { petId, present } = this;
      const changes = journal.changesOf(this.run.id);
      // What the pet had when the run began: later changes may not know it.
      const before = changes[0]?.before;
      const guarded = changes.map((each) => ({
        ...each,
        before: present === before ? before : (each.before ?? before),
      }));
      await recordShown(journal, guarded, new Map([[petId, { quantity: present }]]));
      if (this.present !== this.original) await this.putBack();
    } finally {
      const isRestored = this.present === this.original && this.invalid === undefined;
      if (isRestored) await journal.end(this.run.id, context.clock.now());
    }
  }

  private async putBack(): Promise<void> {
    try {
      await updateOne(this.locked, this.change(this.original));
      this.present = this.original;
    } catch (error) {
      const { state } = rowOutcome(onlyFailure(error));
      if (state === 'applied') this.present = this.original;
      else if (state !== 'planned' && state !== 'failed') this.present = undefined;
      throw error;
    }
  }

  /** Returns the call, to be sent only while no other machine may change the pet. */
  private whileLocked(call: Call): Call {
    const { lock } = this.locked;
    return { ...call, isCurrent: () => lock.isHeld(), confirm: lock.confirm };
  }

  private change(after: bigint) {
    return { command: 'smoke', run: this.run.id, petId: this.petId, before: this.present, after };
  }
}

/** True for an update that the service says it has not applied, or has not got. One that it gives up on (408) may be applied. */
export function isRefused({ status = 0, unreachable }: Reply): boolean {
  return unreachable?.mayHaveBeenSent === false || (status >= 400 && status < 500 && status !== 408);
}

/** Returns the rows of a list that are objects. */
export function rowsOf({ json }: Reply): JsonObject[] {
  return Array.isArray(json) ? json.filter((row) => row instanceof Map) : [];
}
