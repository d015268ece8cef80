/** The pet that a smoke test writes to. Its changes are a run in the journal, which ends when the pet is restored. */
import { integer } from '../api/json.ts';
import { callOne, type LockedPet, recordShown, updateOne, whereOf } from '../stock/write-one.ts';
import type { Reply } from '../client/probe.ts';
import type { Service } from '../client/service.ts';
import { findPet, updateCall } from '../client/update.ts';
import { Failure, isFailure, onlyFailure } from '../errors.ts';
import { rowOutcome } from '../report/failures.ts';
import type { Change, Run } from '../state/journal.ts';
import type { SmokeClients } from './smoke-clients.ts';

export class TestedPet {
  /** Its quantity before any smoke test. */
  original: bigint;
  /** Its current quantity; undefined if an answer has left it unknown. */
  private present: bigint | undefined;
  /** Quantities that this test, or one that was killed, may have set. */
  private readonly written = new Set<bigint>();
  /** True if the service has accepted an invalid update. */
  private tookInvalid = false;
  private wasChanged = false;
  private run: Run | undefined;
  private readonly clients: SmokeClients;
  /** A client with the key, usable for a short time after a signal. */
  private readonly restorer: Service;
  private readonly locked: LockedPet;
  private readonly petId: bigint;

  constructor(clients: SmokeClients, restorer: Service, locked: LockedPet, petId: bigint, present: bigint) {
    this.clients = clients;
    this.restorer = restorer;
    this.locked = locked;
    this.petId = petId;
    this.present = this.original = present;
  }

  /** Begins the run. First restores the pet if an earlier smoke test was killed before it could. */
  async begin(): Promise<void> {
    const { context, journal, session } = this.locked;
    const { origin } = session;
    const { clock, notices } = context;
    for (const killed of journal.unfinished()) {
      const changes = killed.kind === 'smoke' && killed.origin === origin ? journal.changesOf(killed.id) : [];
      const [first] = changes;
      if (first?.petId !== this.petId || first.before === undefined) continue;
      const isLast = journal.newestOther(changes.at(-1)!) === undefined;
      const isTest = changes.some(({ after }) => after === this.present);
      await this.settle(killed, first.before);
      if (this.present !== first.before && isTest && isLast) {
        notices.warning(
          `A smoke test that was stopped has left pet ${this.petId} at ${this.present}, not ${first.before}.`,
        );
        this.run = killed;
        this.original = first.before;
        await this.putBack();
      }
      await journal.end(killed.id, clock.now());
    }
    const run = { kind: 'smoke', startedAt: clock.now() } as const;
    this.run = await journal.begin(run, whereOf(context, session, 'smoke'), []);
  }

  /** Sets the pet once, as a check, and records it. */
  async set(after: bigint, service = this.clients.keyed): Promise<Reply> {
    const { clients, petId } = this;
    const call = updateCall({ petId, quantity: after, before: this.present }, service);
    this.written.add(after);
    const answer = await callOne(this.locked, this.change(after), () => clients.ask(service, call, true));
    return this.seen(answer, after);
  }

  /** Learns the pet's quantity from an answer. A refusal changes nothing. */
  seen(answer: Reply, wanted?: bigint): Reply {
    const { json, status = 0 } = answer;
    // A server that gives up on a request may have applied it (408).
    if (status >= 400 && status < 500 && status !== 408) return answer;
    const stored = json instanceof Map ? integer(json.get('quantity')) : undefined;
    if (stored !== undefined) this.written.add(stored);
    const isTaken = status === 200;
    this.present = isTaken && stored === wanted ? wanted : undefined;
    if (isTaken && wanted === undefined) this.tookInvalid = true;
    this.wasChanged = true;
    return answer;
  }

  has(quantity: bigint): boolean {
    return this.present === quantity;
  }

  /** Restores the pet if it may have changed, and ends the run. Warns if it cannot be restored. */
  async end(): Promise<void> {
    const { context, journal } = this.locked;
    const { environment, watch } = this.restorer;
    try {
      const isOurs = await this.look();
      if (this.run !== undefined) await this.settle(this.run, this.original);
      if (isOurs && this.present !== this.original) await this.putBack();
    } catch (error) {
      throw this.withOutcome(error);
    } finally {
      if (this.present === this.original) {
        if (this.run !== undefined) await journal.end(this.run.id, context.clock.now());
      } else {
        watch.warning(
          `Pet ${this.petId} could not be put back to ${this.original} in ${environment}; ` +
            `check it, then run petstore --env ${environment} inventory set ${this.petId} ${this.original}`,
        );
      }
    }
  }

  /** Restores the pet, and returns the error with the outcome. */
  async stopped(error: unknown): Promise<unknown> {
    await this.end().catch(() => undefined);
    return this.withOutcome(error);
  }

  private withOutcome(error: unknown): unknown {
    if (!isFailure(error) || !this.wasChanged) return error;
    const { original, petId, present } = this;
    const write = { petId, quantity: present ?? original, environment: this.restorer.environment };
    const outcome = present === undefined ? 'unknown' : present === original ? 'not-applied' : 'applied';
    if (error.is('interrupted')) return new Failure('interrupted', { ...error.details, outcome, write }, error);
    error.outcome = outcome;
    if (outcome !== 'unknown' || error.is('outcome-unknown')) return error;
    return new Failure('outcome-unknown', { ...write, looked: false, because: error }, error);
  }

  /** Reads the quantity if no answer has shown it. @returns false for one that this test has not written */
  private async look(): Promise<boolean> {
    if (this.present !== undefined) return true;
    try {
      const found = (await findPet(this.restorer, this.petId))?.quantity;
      if (found === this.original || (found !== undefined && this.written.has(found))) this.present = found;
      return this.present !== undefined;
    } catch (error) {
      // A service that stores an invalid quantity may break its own list.
      if (this.tookInvalid && isFailure(error) && error.is('contract')) return true;
      throw error;
    }
  }

  /** Records what the stock shows of updates without an answer, before the pet is put back. `before`: that of the run. */
  private async settle({ id }: Run, before: bigint): Promise<void> {
    const { present } = this;
    const changes = this.locked.journal.changesOf(id);
    const guarded = changes.map((each) => ({ ...each, before: present === before ? before : (each.before ?? before) }));
    await recordShown(this.locked.journal, guarded, new Map([[this.petId, { quantity: present }]]));
  }

  private async putBack(): Promise<void> {
    const { session } = this.locked;
    const locked = { ...this.locked, session: { ...session, service: this.restorer } };
    try {
      await updateOne(locked, this.change(this.original));
      this.present = this.original;
    } catch (error) {
      const failure = onlyFailure(error);
      const { state } = rowOutcome(failure);
      if (state === 'applied') this.present = this.original;
      else if (state !== 'planned' && state !== 'failed') this.present = undefined;
      if (state !== 'applied' || failure.is('unrecorded')) throw failure;
    }
  }

  private change(after: bigint): Pick<Change, 'petId' | 'before' | 'after' | 'command'> & { run: bigint | undefined } {
    return { command: 'smoke', run: this.run?.id, petId: this.petId, before: this.present, after };
  }
}
