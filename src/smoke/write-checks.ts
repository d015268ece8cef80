/** The update's contract, as checks that write: one pet, put back to what it was, whatever happens. */
import { type JsonValue, stringifyJson } from '../api/json.ts';
import {
  ask,
  type CheckFacts,
  type Checked,
  checked,
  fail,
  type Finding,
  isError,
  PASS,
  skip,
  type SmokeClients,
  withStatus,
} from './check.ts';
import type { Answer, Unreachable } from '../client/probe.ts';
import { Failure } from '../errors.ts';

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

/** @param list the list as it was just read */
export async function* runWrites(
  clients: SmokeClients,
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
  const path = `/inventory/${petId}`;
  const update = (to: string, body: string, isUsual = false): Promise<Answer | Unreachable> =>
    ask(clients, 'keyed', { method: 'PATCH', path: to, body }, { isUsual });
  const set = (quantity: bigint): Promise<Answer | Unreachable> => update(path, `{"quantity":${quantity}}`, true);
  if (isChosen(SAME)) {
    const answer = await set(present);
    yield checked(SAME, isEntry(answer, petId, present), answer);
  }
  const pet = new Touched(clients, petId, present);
  try {
    if (isChosen(SET) || isChosen(RESTORE)) {
      const changed = await pet.touch(() => set(present + 1n));
      const back = await pet.restore();
      if (isChosen(SET)) yield checked(SET, isEntry(changed, petId, present + 1n), changed);
      if (isChosen(RESTORE)) yield checked(RESTORE, isEntry(back, petId, present), back);
    }
    for (const facts of BAD.filter(isChosen)) {
      const answer = await pet.touch(() => update(path, facts.body));
      yield checked(facts, withStatus(answer, 400, isError), answer);
    }
  } finally {
    await pet.restoreIfTouched();
  }
  if (isChosen(UNKNOWN)) {
    const answer = await update(`/inventory/${freeId(list)}`, '{"quantity":1}');
    yield checked(UNKNOWN, withStatus(answer, 404, isError), answer);
  }
}

/** A pet whose quantity may differ from the original until it has been put back. */
class Touched {
  private isTouched = false;
  private readonly clients: SmokeClients;
  private readonly petId: bigint;
  private readonly present: bigint;

  constructor(clients: SmokeClients, petId: bigint, present: bigint) {
    this.clients = clients;
    this.petId = petId;
    this.present = present;
  }

  /** Sends a request that may change it; only a refusal shows that it did not. */
  async touch(send: () => Promise<Answer | Unreachable>): Promise<Answer | Unreachable> {
    this.isTouched = true;
    const answer = await send();
    if ('status' in answer && answer.status >= 400 && answer.status < 500) this.isTouched = false;
    return answer;
  }

  async restore(): Promise<Answer | Unreachable> {
    const path = `/inventory/${this.petId}`;
    const call = { method: 'PATCH', path, body: `{"quantity":${this.present}}` } as const;
    const answer = await ask(this.clients, 'restorer', call, { isUsual: true });
    if ('status' in answer && answer.status === 200) this.isTouched = false;
    return answer;
  }

  async restoreIfTouched(): Promise<void> {
    try {
      if (this.isTouched) await this.restore();
    } finally {
      if (this.isTouched) {
        const { watch, environment } = this.clients.restorer;
        watch.warning(
          `Pet ${this.petId} could not be put back to ${this.present} in ${environment}; ` +
            `check it, then run petstore --env ${environment} inventory set ${this.petId} ${this.present}`,
        );
      }
    }
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
