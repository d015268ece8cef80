/** A raw call that updates a pet: it takes turns with other commands, and is in the history like any other write. */
import { JsonError, parseJson, stringifyJson } from '../api/json.ts';
import { MAX_DIGITS, parseInt64 } from '../api/values.ts';
import type { Call } from '../client/service.ts';
import type { Failure } from '../errors.ts';
import type { Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { journalKeptOpen, type WithJournal } from './open-journal.ts';
import { petLocksOf, withPetLock } from './pet-lock.ts';
import { recorded } from './record-write.ts';

interface Recorded {
  readonly command: string;
  /** Who asked for it; by default the user who runs petstore. */
  readonly person?: string;
  /** By default for this call alone. */
  readonly means?: Means;
}

/** How a pet is locked, and the journal opened. */
export interface Means {
  readonly withLock: ReturnType<typeof petLocksOf>;
  readonly withJournal: WithJournal;
}

/** Returns what many calls at once share. */
export function sharedMeans(context: CommandContext): Means {
  return { withLock: petLocksOf(context, { isOptional: true }), withJournal: journalKeptOpen(context) };
}

/** Runs `send`, and records it where the call is an update of one pet. Other calls are only sent. */
export async function recordedCall<T extends { readonly failure?: Failure }>(
  context: CommandContext,
  session: Session,
  { call, means, ...by }: Recorded & { readonly call: Call },
  send: () => Promise<T>,
): Promise<T> {
  const change = updateIn(call);
  if (change === undefined) return send();
  let answer: T | undefined;
  try {
    const write = (): Promise<T> =>
      recorded(
        context,
        session,
        { ...by, ...change },
        async () => {
          answer = await send();
          if (answer.failure !== undefined) throw answer.failure;
          return answer;
        },
        means?.withJournal,
      );
    if (means !== undefined) return await means.withLock(change.petId, write);
    return await withPetLock(context, change.petId, write, { isOptional: true });
  } catch (error) {
    if (answer === undefined) throw error;
    // A failure with an answer is the caller's to show; this one came after it.
    if (answer.failure === undefined) context.notices.warning('A write could not be noted in the history.');
    return answer;
  }
}

function updateIn({ method, path, body, forwarded }: Call): { petId: bigint; after: bigint } | undefined {
  if (method !== 'PATCH') return undefined;
  const petId = parseInt64(/^\/inventory\/(\d+)$/.exec(decoded(path))?.[1] ?? '');
  const text = body ?? (forwarded?.body === undefined ? undefined : Buffer.from(forwarded.body).toString());
  if (petId === undefined || text === undefined) return undefined;
  try {
    const value = parseJson(text);
    const quantity = value instanceof Map ? value.get('quantity') : undefined;
    const after = quantity === undefined ? undefined : integerIn(stringifyJson(quantity));
    return after === undefined ? undefined : { petId, after };
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

/** Without the query, and as the service reads it. */
function decoded(path: string): string {
  const [plain = ''] = path.split(/[?#]/);
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}
