/** The pet that a smoke test writes to. Its changes are a run in the journal, which ends when the pet is restored. */
import { integer } from '../api/json.ts';
import { callOne, type LockedPet, recordShown, updateOne, whereOf } from '../stock/write-one.ts';
import type { Reply } from '../client/probe.ts';
import type { Service } from '../client/service.ts';
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
    const isTest = present !== first.before && changes.some(({ after }) => after === present);
    const isLeft = isTest && journal.newestOther(changes.at(-1)!) === undefined;
    if (isLeft) {
      context.notices.warning(
        `A smoke test that was stopped has left pet ${petId} at ${present}, not ${first.before}.`,
      );
    }
    const pet = new TestedPet(locked, killed, petId, present, isLeft ? first.before : present);
    await pet.end();
    present = pet.original;
  }
  const run = { kind: 'smoke', startedAt: context.clock.now() } as const;
  return new TestedPet(locked, await journal.begin(run, whereOf(context, session, 'smoke'), []), petId, present);
}

class TestedPet {
  /** Its quantity before any smoke test. */
  readonly original: bigint;
  /** Its current quantity; undefined if an answer has left it unknown. */
  present: bigint | undefined;
  /** Quantities that this test may have set; undefined for one that no answer has shown. */
  private readonly written = new Set<bigint | undefined>();
  /** True if the service has accepted an invalid update: the pet has a quantity of this test, whatever that is. */
  private tookInvalid = false;
  private readonly locked: LockedPet;
  private readonly run: Run;
  private readonly petId: bigint;

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
    const call = updateCall({ petId, quantity: after, before: this.present }, service);
    const answer = await callOne(locked, this.change(after), () => clients.ask(service, call, true));
    return this.seen(answer, after);
  }

  /** Learns the pet's quantity from an answer. A refusal changes nothing. */
  seen(answer: Reply, wanted?: bigint): Reply {
    const { json, status = 0 } = answer;
    // A server that gives up on a request may have applied it (408).
    if (status >= 400 && status < 500 && status !== 408) return answer;
    const stored = json instanceof Map ? integer(json.get('quantity')) : undefined;
    this.written.add(wanted).add(stored);
    const isTaken = status === 200;
    this.present = isTaken && stored === wanted ? wanted : undefined;
    if (isTaken && wanted === undefined) this.tookInvalid = true;
    return answer;
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
    const { present } = this;
    if (present !== original) {
      this.locked.context.notices.warning(
        `Pet ${petId} could not be put back to ${original} in ${environment}; ` +
          `check it, then run petstore --env ${environment} inventory set ${petId} ${original}`,
      );
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
    const { context, journal, session } = this.locked;
    try {
      if (this.present === undefined && !this.tookInvalid) {
        const found = (await findPet(session.service, this.petId))?.quantity;
        // Any other was set by someone else, and stays.
        if (found === undefined || (found !== this.original && !this.written.has(found))) return;
        this.present = found;
      }
      await this.settle();
      if (this.present !== this.original) await this.putBack();
    } finally {
      if (this.present === this.original) await journal.end(this.run.id, context.clock.now());
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

  /** Records what the stock shows of updates without an answer, before the pet is put back. */
  private async settle(): Promise<void> {
    const { present } = this;
    const { journal } = this.locked;
    const changes = journal.changesOf(this.run.id);
    // What the pet had when the run began: later changes may not know it.
    const before = changes[0]?.before;
    const guarded = changes.map((each) => ({ ...each, before: present === before ? before : (each.before ?? before) }));
    await recordShown(journal, guarded, new Map([[this.petId, { quantity: present }]]));
  }

  private change(after: bigint) {
    return { command: 'smoke', run: this.run.id, petId: this.petId, before: this.present, after };
  }
}
