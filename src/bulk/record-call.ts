/** A raw call that updates a pet: it takes turns with other commands, and is in the history like any other write. */
import { JsonError, parseJson, stringifyJson } from '../api/json.ts';
import { MAX_DIGITS, parseInt64 } from '../api/values.ts';
import type { Call } from '../client/service.ts';
import type { Failure } from '../errors.ts';
import { decoded } from '../redact.ts';
import type { CommandContext } from '../session/globals.ts';
import { journalKeptOpen } from './open-journal.ts';
import { petLocksOf } from './pet-lock.ts';
import { callOne, type Means, withPet, withWriter, type Writer } from './write-one.ts';

interface Recorded {
  readonly command: string;
  /** Who asked for it; by default the user who runs petstore. */
  readonly person?: string;
  /** By default for this call alone. */
  readonly means?: Means;
}

/** Returns what many calls at once share. */
export function sharedMeans(context: CommandContext): Means {
  return { withLock: petLocksOf(context, { isOptional: true }), withJournal: journalKeptOpen(context) };
}

/** Runs `send`: an update of a pet under its lock, and recorded if its body has a quantity. Other calls are only sent. */
export async function recordedCall<T extends { readonly failure?: Failure }>(
  context: CommandContext,
  session: Writer['session'],
  { call, means, ...by }: Recorded & { readonly call: Call },
  send: () => Promise<T>,
): Promise<T> {
  const petId = call.method === 'PATCH' ? petIn(call.path) : undefined;
  if (petId === undefined) return send();
  const after = quantityIn(call);
  const work = (writer: Writer): Promise<T> =>
    withPet(writer, petId, (pet) =>
      after === undefined ? send() : callOne(pet, { ...by, petId, before: undefined, after }, send),
    );
  return await withWriter(context, session, work, means);
}

function quantityIn({ body, forwarded }: Call): bigint | undefined {
  try {
    const value = parseJson(body ?? Buffer.from(forwarded?.body ?? []).toString());
    const quantity = value instanceof Map ? value.get('quantity') : undefined;
    return quantity === undefined ? undefined : integerIn(stringifyJson(quantity));
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

/** Returns the value of a JSON number that is an integer, as 9.0 and 1e1 are. */
function integerIn(json: string): bigint | undefined {
  const number = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(json);
  if (number === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = number;
  const length = Math.max(0, whole.length + Number(exponent));
  const digits = whole + fraction;
  if (length > MAX_DIGITS || /[1-9]/.test(digits.slice(length))) return undefined;
  return BigInt(`${sign}0${digits.slice(0, length).padEnd(length, '0')}`);
}

/** Returns the pet of a path: without the query, and as the service reads it. */
function petIn(path: string): bigint | undefined {
  const [plain = ''] = path.split(/[?#]/);
  return parseInt64(/^\/inventory\/(\d+)$/.exec(decoded(plain))?.[1] ?? '');
}
