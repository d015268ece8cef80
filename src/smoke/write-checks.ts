/** Checks of the update's contract, which write to one pet and restore it whatever happens. */
import { integer } from '../api/json.ts';
import { shownJson } from '../api/schemas.ts';
import { INT64_MAX } from '../api/values.ts';
import {
  type CheckFacts,
  type Checked,
  checked,
  fail,
  type Finding,
  isError,
  isJson,
  notAnItem,
  PASS,
  skip,
  withStatus,
} from './finding.ts';
import { checkAge } from '../client/list.ts';
import type { LockedPet } from '../stock/write-one.ts';
import type { Reply } from '../client/raw.ts';
import { Failure } from '../errors.ts';
import { checkRows } from './read-checks.ts';
import { afterStop } from '../stop.ts';
import type { SmokeClients } from './smoke-clients.ts';
import { beginTest, isRefused, rowsOf, type TestedPet } from './tested-pet.ts';

const SAME: CheckFacts = { id: 'write-same', title: 'setting the current quantity: 200 and the entry', clause: '4.2' };
const SET: CheckFacts = { id: 'write-set', title: 'setting one more: 200 and the entry as stored', clause: '4.2' };
const RESTORE: CheckFacts = { id: 'write-restore', title: 'putting it back: 200', clause: '4.2' };
const UNKNOWN: CheckFacts = { id: 'write-unknown', title: 'an unknown pet: 404', clause: '4.2' };
/** Invalid bodies, with the quantity that a service may take each for. */
const BAD = [
  ['write-bad-json', 'a body that is not JSON', '{"quantity":', 0n] as const,
  ['write-no-quantity', 'a body without quantity', '{}', 0n] as const,
  ['write-text', 'a quantity that is a string', '{"quantity":"1"}', 1n] as const,
  ['write-fraction', 'a quantity that is a fraction', '{"quantity":2.25}', 2n] as const,
].map(([id, what, body, taken]) => ({ id, title: `${what}: 400`, clause: '4.2, 7', body, taken }));

export const WRITE_CHECKS: readonly CheckFacts[] = [SAME, SET, RESTORE, UNKNOWN, ...BAD];

/** Time to restore the pet after a signal, in ms: longer than the 2 s that the write before it may still take. */
const RESTORE_MS = 4_500;

/** @param list the list, read since the pet was locked */
export async function* runWrites(clients: SmokeClients, locked: LockedPet, list: Reply): AsyncGenerator<Checked> {
  const { isChosen, options } = clients;
  const petId = options.pet!;
  const rows = rowsById(list);
  const present = integer(rows.get(petId)?.get('quantity'));
  if (present === undefined) {
    let finding = withStatus(list, 200, checkRows);
    if (finding === PASS) {
      finding = skip(`pet ${petId} is not in the list`);
      clients.causes.push(new Failure('pet-not-found', { petId, environment: clients.keyed.environment }));
    }
    for (const facts of WRITE_CHECKS) yield checked(facts, finding, list);
    return;
  }
  checkAge(list, clients.keyed, 'change');
  const { context } = clients;
  // Aborts later than the command's: the pet is put back after a signal, too.
  const late = new AbortController();
  afterStop(context, RESTORE_MS, () => {
    late.abort(context.signal.reason);
  });
  await using restoring = await clients.open({ ...context, signal: late.signal });
  const pet = await beginTest({ ...locked, session: restoring }, petId, present);
  const set = (quantity: bigint, service = clients.keyed): Promise<Reply> => pet.set(quantity, service, clients);
  const { original } = pet;
  let failed: unknown;
  try {
    if (isChosen(SAME)) {
      const answer = await set(original);
      yield checked(SAME, isEntry(answer, petId, original), answer);
    }
    if (isChosen(SET) || isChosen(RESTORE)) {
      const changed = await set(original + 1n);
      let finding = isEntry(changed, petId, original + 1n);
      let after = changed;
      if (finding === PASS && isChosen(SET)) {
        after = await clients.ask(clients.keyed, { method: 'GET', path: '/inventory' }, true);
        finding = isListed(after, petId, original + 1n);
        // Perhaps someone else has set it: another look tells whether to put it back.
        if (finding !== PASS && after.status === 200) pet.present = undefined;
      }
      yield checked(SET, finding, after.failure === undefined ? changed : after);
      const back = pet.present === original + 1n ? await set(original, restoring.service) : undefined;
      const unchanged = skip(pet.present === undefined ? 'it may not have been changed' : 'it was not changed');
      yield checked(RESTORE, back === undefined ? unchanged : isEntry(back, petId, original), back);
    }
    yield* runInvalid(clients, pet);
  } catch (error) {
    failed = error;
  }
  await pet.end(failed);
  if (isChosen(UNKNOWN)) {
    // Near the end of the range: no shop has it.
    let free = INT64_MAX;
    while (rows.has(free)) free--;
    const call = { method: 'PATCH', path: `/inventory/${free}`, body: '{"quantity":1}' } as const;
    const answer = await clients.ask(clients.keyed, call, false);
    yield checked(UNKNOWN, withStatus(answer, 404, isError), answer);
  }
}

/** Sends the invalid updates. A last look shows whether one that was refused was applied all the same. */
async function* runInvalid(clients: SmokeClients, pet: TestedPet): AsyncGenerator<Checked> {
  const refused = new Map<bigint | undefined, Checked>();
  for (const facts of BAD.filter(clients.isChosen)) {
    const answer = await pet.misuse(facts, clients);
    const found = checked(facts, withStatus(answer, 400, isError), answer);
    if (isRefused(answer)) refused.set(facts.taken, found);
    yield found;
  }
  const { original, petId, present: believed } = pet;
  if (refused.size > 0) await pet.look();
  const { present } = pet;
  const applied = refused.get(present);
  if (applied === undefined || believed === undefined || present === believed || present === original) return;
  const problem = `was refused with ${applied.reply?.status}, but applied: pet ${petId} has a quantity of ${present}`;
  yield { ...applied, verdict: 'fail', problem };
}

/** Returns how many requests the chosen checks send. */
export function writeRequests(checks: readonly CheckFacts[]): number {
  const pair = checks.includes(SET) || checks.includes(RESTORE) ? 2 : 0;
  const last = BAD.some((each) => checks.includes(each)) ? 1 : 0;
  // The list is read after write-set.
  return [SAME, SET, UNKNOWN, ...BAD].filter((each) => checks.includes(each)).length + pair + last;
}

function rowsById(list: Reply) {
  return new Map(rowsOf(list).map((row) => [integer(row.get('petId')), row]));
}

function isListed(list: Reply, petId: bigint, quantity: bigint): Finding {
  return withStatus(list, 200, () => {
    const found = rowsById(list).get(petId)?.get('quantity');
    if (integer(found) === quantity) return PASS;
    return fail(
      `pet ${petId} with a quantity of ${quantity} in the list`,
      found === undefined ? 'none' : shownJson(found, 80),
    );
  });
}

function isEntry(answer: Reply, petId: bigint, quantity: bigint): Finding {
  const wanted = `pet ${petId} with a quantity of ${quantity}`;
  return withStatus(answer, 200, (entry) => {
    const { json } = entry;
    if (!(json instanceof Map)) return fail(wanted, 'a body that is not an object');
    const problem = notAnItem(json);
    if (problem !== undefined) return fail(wanted, problem);
    const [id, stored] = [integer(json.get('petId')), integer(json.get('quantity'))];
    if (id === petId && stored === quantity) return isJson(entry);
    return fail(wanted, shownJson(json, 80));
  });
}
