/** The update's contract, as checks that write: one pet, put back to what it was, whatever happens. */
import { type JsonValue, stringifyJson } from '../api/json.ts';
import {
  ask,
  type CheckFacts,
  type Checked,
  checked,
  fail,
  failureIn,
  type Finding,
  isError,
  PASS,
  skip,
  type SmokeClients,
  withStatus,
} from './check.ts';
import { callOne, type LockedPet } from '../bulk/write-one.ts';
import { whereOf } from '../bulk/origin.ts';
import type { Answer, Unreachable } from '../client/probe.ts';
import { Failure, isFailure } from '../errors.ts';
import type { Run } from '../state/journal.ts';

const BAD_BODIES: readonly (readonly [id: string, title: string, body: string])[] = [
  ['write-bad-json', 'a body that is not JSON: 400', '{"quantity":'],
  ['write-no-quantity', 'a body without quantity: 400', '{}'],
  ['write-text', 'a quantity that is a string: 400', '{"quantity":"1"}'],
  ['write-fraction', 'a quantity that is a fraction: 400', '{"quantity":1.5}'],
];

const SAME: CheckFacts = { id: 'write-same', title: 'setting the current quantity: 200 and the entry', clause: '4.2' };
const SET: CheckFacts = { id: 'write-set', title: 'setting one more: 200 and the entry as stored', clause: '4.2' };
const RESTORE: CheckFacts = { id: 'write-restore', title: 'putting it back: 200', clause: '4.2' };
const UNKNOWN: CheckFacts = { id: 'write-unknown', title: 'an unknown pet: 404', clause: '4.2' };
const BAD = BAD_BODIES.map(([id, title, body]) => ({ id, title, clause: '4.2, 7', body }));

export const WRITE_CHECKS: readonly CheckFacts[] = [SAME, SET, RESTORE, UNKNOWN, ...BAD];

type CheckFilter = (facts: CheckFacts) => boolean;

/** @param list the list, read since the pet was locked */
export async function* runWrites(
  clients: SmokeClients,
  locked: LockedPet,
  petId: bigint,
  list: Answer | Unreachable,
  isChosen: CheckFilter,
): AsyncGenerator<Checked> {
  const present = quantityOf(list, petId);
  if (present === undefined) {
    // Of a list that breaks the contract, its own checks say so.
    if ('json' in list && Array.isArray(list.json)) {
      clients.causes.push(new Failure('pet-not-found', { petId, environment: clients.keyed.environment }));
    }
    for (const facts of WRITE_CHECKS.filter(isChosen)) yield checked(facts, skip(`pet ${petId} is not in the list`));
    return;
  }
  const send = (to: string, body: string): Promise<Answer | Unreachable> =>
    ask(clients, 'keyed', { method: 'PATCH', path: to, body }, { isUsual: false });
  const pet = new TestedPet(clients, locked, petId, present);
  await pet.begin();
  try {
    const { original } = pet;
    if (isChosen(SAME)) {
      const answer = await pet.set(original);
      yield checked(SAME, isEntry(answer, petId, original), answer);
    }
    if (isChosen(SET) || isChosen(RESTORE)) {
      const changed = await pet.set(original + 1n);
      const back = await pet.restore();
      if (isChosen(SET)) yield checked(SET, isEntry(changed, petId, original + 1n), changed);
      if (isChosen(RESTORE)) yield checked(RESTORE, isEntry(back, petId, original), back);
    }
    for (const facts of BAD.filter(isChosen)) {
      const answer = await pet.touch(() => send(`/inventory/${petId}`, facts.body));
      yield checked(facts, withStatus(answer, 400, isError), answer);
    }
  } catch (error) {
    throw await pet.stopped(error);
  }
  await pet.end();
  if (isChosen(UNKNOWN)) {
    const answer = await send(`/inventory/${freeId(list)}`, '{"quantity":1}');
    yield checked(UNKNOWN, withStatus(answer, 404, isError), answer);
  }
}

/** The pet that is written to. Its changes are a run of the journal, which ends when the pet is as it was before. */
class TestedPet {
  /** What it had before any smoke test. */
  original: bigint;
  private present: bigint;
  /** True while its quantity may differ from the original one. */
  private isTouched = false;
  private wasTouched = false;
  private run: Run | undefined;
  private readonly clients: SmokeClients;
  private readonly locked: LockedPet;
  private readonly petId: bigint;

  constructor(clients: SmokeClients, locked: LockedPet, petId: bigint, present: bigint) {
    this.clients = clients;
    this.locked = locked;
    this.petId = petId;
    this.present = this.original = present;
  }

  /** Begins the run; where a smoke test was killed before it had put the pet back, that is done first. */
  async begin(): Promise<void> {
    const { context, journal, session } = this.locked.writer;
    const { environment, origin } = session;
    const { clock, notices } = context;
    const changesOf = ({ id }: Run) => journal?.changesOf(id).filter(({ petId }) => petId === this.petId) ?? [];
    const isKilled = (run: Run): boolean => run.kind === 'smoke' && run.origin === origin && changesOf(run).length > 0;
    for (const killed of journal?.unfinished().filter(isKilled) ?? []) {
      const changes = changesOf(killed);
      const { before = this.present } = changes[0] ?? {};
      this.run = killed;
      if (before !== this.present && changes.some(({ after }) => after === this.present)) {
        notices.warning(`A smoke test that was stopped has left pet ${this.petId} at ${this.present}, not ${before}.`);
        this.original = before;
        await this.restore();
      }
      await journal?.discard(killed.id, clock.now());
    }
    const run = { kind: 'smoke' as const, startedAt: clock.now(), environment, origin };
    this.run = await journal?.begin(run, whereOf(context, session, 'smoke'), []);
  }

  /** Sends a request that may change it; only a refusal shows that it did not. */
  async touch(send: () => Promise<Answer | Unreachable>): Promise<Answer | Unreachable> {
    const answer = await send();
    const isRefused = 'status' in answer && answer.status >= 400 && answer.status < 500;
    if (!isRefused) this.isTouched = this.wasTouched = true;
    return answer;
  }

  set(quantity: bigint): Promise<Answer | Unreachable> {
    return this.touch(() => this.write('keyed', quantity));
  }

  async restore(): Promise<Answer | Unreachable> {
    const answer = await this.write('restorer', this.original);
    if ('status' in answer && answer.status === 200) this.isTouched = false;
    return answer;
  }

  /** Puts it back if it may have changed, and ends the run once it is. */
  async end(): Promise<void> {
    const { context, journal } = this.locked.writer;
    try {
      if (this.isTouched) await this.restore();
    } finally {
      if (!this.isTouched && this.run !== undefined) await journal?.end(this.run.id, context.clock.now());
      if (this.isTouched) {
        const { watch, environment } = this.clients.restorer;
        watch.warning(
          `Pet ${this.petId} could not be put back to ${this.original} in ${environment}; ` +
            `check it, then run petstore --env ${environment} inventory set ${this.petId} ${this.original}`,
        );
      }
    }
  }

  /** Puts it back, and returns the error with what became of the pet. */
  async stopped(error: unknown): Promise<unknown> {
    await this.end();
    if (!isFailure(error) || !error.is('interrupted') || !this.wasTouched) return error;
    const { environment } = this.clients.restorer;
    const write = { petId: this.petId, quantity: this.original, environment };
    const outcome = this.isTouched ? 'unknown' : 'not-applied';
    return new Failure('interrupted', { ...error.details, outcome, write }, error);
  }

  private async write(door: 'keyed' | 'restorer', after: bigint): Promise<Answer | Unreachable> {
    const { clients, petId, present: before } = this;
    const call = { method: 'PATCH', path: `/inventory/${petId}`, body: `{"quantity":${after}}` } as const;
    const write = { command: 'smoke', run: this.run?.id, petId, before, after };
    const { answer } = await callOne(this.locked, write, async () => {
      const answer = await ask(clients, door, call, { isUsual: true });
      return { answer, failure: await failureIn(clients[door], call, answer, petId) };
    });
    if ('status' in answer && answer.status === 200) this.present = after;
    return answer;
  }
}

/** Returns how many requests the chosen checks send. */
export function writeRequests(isChosen: CheckFilter): number {
  const pair = isChosen(SET) || isChosen(RESTORE) ? 2 : 0;
  return [SAME, UNKNOWN, ...BAD].filter(isChosen).length + pair;
}

function rowsOf(list: Answer | Unreachable): readonly JsonValue[] {
  return 'json' in list && Array.isArray(list.json) ? list.json : [];
}

function integer(value: JsonValue | undefined): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined;
}

function quantityOf(list: Answer | Unreachable, petId: bigint): bigint | undefined {
  const row = rowsOf(list).find((each) => each instanceof Map && integer(each.get('petId')) === petId);
  return row instanceof Map ? integer(row.get('quantity')) : undefined;
}

/** Near the end of what an id may be, where no shop has one. */
function freeId(list: Answer | Unreachable): bigint {
  const ids = new Set(rowsOf(list).map((row) => (row instanceof Map ? integer(row.get('petId')) : undefined)));
  let id = 2n ** 63n - 1n;
  while (ids.has(id)) id--;
  return id;
}

function isEntry(answer: Answer | Unreachable, petId: bigint, quantity: bigint): Finding {
  const wanted = `pet ${petId} with a quantity of ${quantity}`;
  return withStatus(answer, 200, ({ json }) => {
    if (!(json instanceof Map)) return fail(wanted, 'a body that is not an object');
    const [id, stored] = [integer(json.get('petId')), integer(json.get('quantity'))];
    if (id === petId && stored === quantity) return PASS;
    return fail(wanted, stringifyJson(json).slice(0, 80));
  });
}
