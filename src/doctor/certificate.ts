/** A server's certificate in words. */
import { DAY_MS } from '../duration.ts';
import { plural } from '../view/words.ts';
import type { Encrypted } from '../ports.ts';
import { bad, type Diagnosis, ok, warn } from './diagnosis.ts';

/** Automatic renewal happens 30 days before the end; with two weeks left something is wrong. */
const SOON_MS = 14 * DAY_MS;

type CertificateProblem = 'expired' | 'not-yet' | 'wrong-name' | 'self-signed' | 'untrusted';

/** What is wrong with it; the name before the chain, since a placeholder of the platform has neither. */
function problemOf({ problem, validFrom, validTo }: Encrypted, now: number): CertificateProblem | undefined {
  if (problem === undefined) return undefined;
  if (problem === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'wrong-name';
  if (problem === 'CERT_HAS_EXPIRED' || now > validTo) return 'expired';
  if (problem === 'CERT_NOT_YET_VALID' || now < validFrom) return 'not-yet';
  return problem === 'DEPTH_ZERO_SELF_SIGNED_CERT' ? 'self-signed' : 'untrusted';
}

function describeProblem(problem: CertificateProblem, found: Encrypted, name: string): string {
  const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
  switch (problem) {
    case 'expired':
      return `The certificate of ${name} expired on ${day(found.validTo)}.`;
    case 'not-yet':
      return `The certificate of ${name} is valid only from ${day(found.validFrom)}; is this machine's clock right?`;
    case 'wrong-name':
      return `The certificate is not for ${name}, but for ${found.names === '' ? 'no name at all' : found.names}.`;
    case 'self-signed':
      return `The certificate of ${name} is signed by itself alone.`;
    case 'untrusted':
      return `The certificate of ${name} comes from ${chain(found)}, which this machine does not trust (${found.problem ?? ''}).`;
  }
}

/** @param fixes `fix` for each problem that has none of its own */
export function certificate(
  id: string,
  found: Encrypted,
  name: string,
  now: number,
  fixes: { readonly fix: string } & Partial<Record<CertificateProblem, string>>,
): Diagnosis {
  const problem = problemOf(found, now);
  if (problem !== undefined) return bad(id, describeProblem(problem, found, name), fixes[problem] ?? fixes.fix);
  const days = Math.floor((found.validTo - now) / DAY_MS);
  const left = plural(days, 'day');
  if (found.validTo - now < SOON_MS) {
    return warn(id, `The certificate of ${name} ends in ${left}.`, 'Renew it, or check why it was not renewed.');
  }
  return ok(id, `${found.protocol}; the certificate of ${name} is trusted (${chain(found)}) for ${left} more.`);
}

function chain({ chain: names }: Encrypted): string {
  return names.join(' < ');
}
