/** Findings of `doctor`: the result in a sentence, and how to fix it. */
import { dateOf, type Reply } from '../client/raw.ts';
import { DAY_MS } from '../duration.ts';
import { isFailure, Failure } from '../errors.ts';
import type { Encrypted } from '../ports.ts';
import { describeFailure } from '../report/failures.ts';
import { duration } from '../view/progress.ts';
import { type Format, FORMAT_FACTS, list, record, type RecordView, type RowsView } from '../view/view.ts';
import { plural, visible } from '../view/words.ts';

/** `note`: information without a verdict. `skip`: not checked. */
export const HEALTH = ['ok', 'note', 'skip', 'warn', 'fail'] as const;
export type Health = (typeof HEALTH)[number];

export interface Diagnosis {
  /** The check: `config`, `dns`, … Scripts may rely on it. */
  readonly id: string;
  readonly health: Health;
  readonly says: string;
  /** Always with `warn` and `fail`. */
  readonly fix?: string;
  /** The failure that another command would end with. */
  readonly failure?: Failure;
}

/** Findings as they are made, and what a check returns. */
export type Steps<T = void> = AsyncGenerator<Diagnosis, T>;

export const ok = (id: string, says: string): Diagnosis => ({ id, health: 'ok', says });
export const note = (id: string, says: string): Diagnosis => ({ id, health: 'note', says });
export const skipped = (id: string, says: string): Diagnosis => ({ id, health: 'skip', says });
export const warn = (id: string, says: string, fix: string): Diagnosis => ({ id, health: 'warn', says, fix });
export const bad = (id: string, says: string, fix: string): Diagnosis => ({ id, health: 'fail', says, fix });

/** A larger offset of the clock makes logs and certificates doubtful. */
const SKEW_MS = 60_000;

/** Returns how far the service's clock is ahead of this machine's or behind it, in words; undefined without a Date. */
export function clockDifference(
  answer: Pick<Reply, 'headers' | 'receivedAt'>,
): { readonly isLarge: boolean; readonly words: string } | undefined {
  const date = dateOf(answer);
  if (date === undefined) return undefined;
  const ms = date - answer.receivedAt;
  const words = `${duration(Math.abs(ms))} ${ms < 0 ? 'behind' : 'ahead of'} this machine's`;
  return { isLarge: Math.abs(ms) > SKEW_MS, words };
}

/** Returns a failure as a finding. @throws anything that is not a Failure; what ends the whole command */
export function failed(id: string, error: unknown, now: number, health: 'warn' | 'fail' = 'fail'): Diagnosis {
  if (!isFailure(error) || error.is('interrupted') || error.is('deadline')) throw error;
  const { message, hint } = describeFailure(error, now);
  const other = error.is('invalid-value') ? `Correct or unset ${error.details.name}.` : 'See: petstore help exit-codes';
  return { id, health, says: visible(message), fix: hint ?? other, failure: error };
}

/** Automatic renewal happens 30 days before the end, so with two weeks left something is wrong. */
const SOON_MS = 14 * DAY_MS;

/** Returns what is wrong with a certificate: the name before the chain, since a placeholder has neither right. */
function problemOf(found: Encrypted, name: string, now: number): string | undefined {
  const { problem, validFrom, validTo, names } = found;
  const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
  const of = `The certificate of ${name}`;
  if (problem === undefined) return undefined;
  if (problem === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `The certificate is not for ${name}, but for ${names === '' ? 'no name at all' : names}.`;
  }
  if (now > validTo) return `${of} expired on ${day(validTo)}: it was not renewed.`;
  if (now < validFrom) return `${of} is valid only from ${day(validFrom)}; is this machine's clock right?`;
  if (problem === 'DEPTH_ZERO_SELF_SIGNED_CERT') return `${of} is self-signed.`;
  if (!/^(UNABLE_TO_|SELF_SIGNED_)/.test(problem)) return `${of} (${chain(found)}) is not accepted (${problem}).`;
  return `${of} comes from ${chain(found)}, which this machine does not trust (${problem}).`;
}

export function certificate(id: string, found: Encrypted, name: string, now: number, fix: string): Diagnosis {
  const problem = problemOf(found, name, now);
  if (problem !== undefined) return bad(id, problem, fix);
  const left = plural(Math.floor((found.validTo - now) / DAY_MS), 'day');
  if (found.validTo - now < SOON_MS) {
    return warn(id, `The certificate of ${name} ends in ${left}.`, 'Renew it, or check why it was not renewed.');
  }
  return ok(id, `${found.protocol}; the certificate of ${name} is trusted (${chain(found)}) for ${left} more.`);
}

function chain({ chain: names }: Encrypted): string {
  return names.join(' < ');
}

/** Returns the view: sentences for people, rows for programs. Fails if a check did; a 403 exits as in every command. */
export function diagnosisView(found: readonly Diagnosis[], output: Format): RecordView | RowsView<Diagnosis> {
  const sick = found.filter(({ health }) => health === 'fail').map(({ id }) => id);
  const judged = found.filter(({ health }) => health !== 'note' && health !== 'skip').length;
  const forbidden = found.find(({ failure }) => failure?.is('forbidden') || failure?.is('banned'))?.failure;
  const failed = sick.length > 0 ? new Failure('doctor-failed', { failed: sick, of: judged }) : undefined;
  const failure = forbidden ?? failed;
  if (FORMAT_FACTS[output].isForPeople) {
    const margin = MARK + Math.max(0, ...found.map(({ id }) => id.length)) + 2;
    return record(asText(found, margin), [], { margin, ...(failure && { failure }) });
  }
  return list(
    found,
    { check: ({ id }) => id, health: ({ health }) => health, says: ({ says }) => says, fix: ({ fix }) => fix },
    { check: () => failure },
  );
}

const MARK = 6;

function asText(found: readonly Diagnosis[], margin: number): string {
  const rest = ' '.repeat(margin);
  const mark = (health: Health): string => (health === 'warn' || health === 'fail' ? health.toUpperCase() : health);
  const lines = found.flatMap(({ id, health, says, fix }) => [
    `${mark(health).padEnd(MARK)}${id.padEnd(margin - MARK)}${says.replaceAll('\n', `\n${rest}`)}`,
    ...(fix === undefined ? [] : [`${rest}Fix: ${fix.replaceAll('\n', `\n${rest}`)}`]),
  ]);
  const how = (health: Health): number => found.filter((each) => each.health === health).length;
  return [...lines, `${how('ok')} ok, ${plural(how('warn'), 'warning')}, ${how('fail')} failed`].join('\n');
}
