/** The longer sentences of report.ts. */
import { INVALID_PROXY } from '../ports.ts';
import type { FailureDetails, ServiceError } from '../errors.ts';
import { clockTime, duration } from '../view/progress.ts';

/** `, NOT_FOUND: no such pet` as far as the service said so. */
export function said({ code, message }: ServiceError): string {
  const words = [code, message].filter((each) => each !== undefined && each !== '').join(': ');
  return words === '' ? '' : `, ${words}`;
}

export function describeRateLimit(facts: FailureDetails['rate-limited'], now: number): string {
  const wait = `${duration(facts.waitMs)}, until ${clockTime(facts.retryAt, now)}`;
  const allowed = facts.waitMs > facts.maxWaitMs ? `, longer than the ${duration(facts.maxWaitMs)} allowed` : '';
  const nothing = unsent(facts);
  switch (facts.why) {
    case 'window-spent':
      return `The key's allowance is spent for ${wait}${allowed}; ${nothing}.`;
    case 'asking':
      return `Another request with this key has no answer yet, and nothing is sent before it, for at most ${wait}${allowed}; ${nothing}.`;
    case 'paced':
      return `The service does not tell this key's limits, so petstore sends one request a second, the next after ${wait}${allowed}; ${nothing}.`;
    case 'rate-limited':
      return `The service is rate limiting this key (429) for ${wait}${allowed}; ${nothing}.`;
  }
}

export function unsent({ refusals, begun }: FailureDetails['paused']): string {
  return nothingSent(refusals > 0 || begun === true);
}

export function waitHint({ retryAt, waitMs, maxWaitMs }: FailureDetails['paused'], now: number): string {
  const allow = waitMs > maxWaitMs ? `, or allow the wait: --max-wait ${Math.ceil(waitMs / 1000)}s` : '.';
  return `Run the command again after ${clockTime(retryAt, now)}${allow}`;
}

export function describeState({ path, problem, what, detail }: FailureDetails['state']): string {
  const file = what === undefined ? `state in ${path}` : `${what} ${path}`;
  const because = detail === undefined ? '' : `: ${detail}`;
  switch (problem) {
    case 'held':
      return `The state in ${path} is held by another petstore.`;
    case 'newer':
      return `The ${file} was written by a newer petstore (${detail}); it was left as it is.`;
    case 'foreign':
      return `${path} is not a petstore ${what}${because}; it was left as it is.`;
    case 'damaged':
      return `The ${file} is damaged${because}; it was left as it is.`;
    case 'replaced':
      return `The ${file} no longer holds this run: it was moved or replaced meanwhile.`;
    case 'row':
      return `A row in the ${file} cannot be used${because}.`;
    case 'full':
      return `The ${file} cannot be used: the disk is full.`;
    case 'readonly':
      return `The ${file} cannot be used: it is read-only.`;
    case 'lock':
      return `The lock file ${path} cannot be used${because}.`;
    case 'unusable':
      return `The ${file} cannot be used${because}.`;
  }
}

export function stateHint({ path, problem, what }: FailureDetails['state']): string {
  switch (problem) {
    case 'held':
      return 'Let it finish, or end it; then run the command again.';
    case 'newer':
      return 'Update petstore, or use the version that wrote the file.';
    case 'foreign':
      if (what === 'state database') return 'Move the file elsewhere, then run the command again.';
      return `Name another file with ${what === 'sandbox' ? '--data' : '--journal'}.`;
    case 'damaged':
      if (what === 'state database')
        return 'The next command that writes or sends moves it aside and begins a new one.';
      return 'Restore the file from a copy, or name another.';
    case 'replaced':
      return 'Run the command again from the start: what is done already is not sent again.';
    case 'row':
      return 'See the rest with petstore inventory history; what is still to be done, do with a new command.';
    case 'full':
      return 'Free some space, then run the command again.';
    case 'readonly':
      return 'Make the file and its folder writable, then run the command again.';
    case 'lock':
      return `Remove it, once no petstore is running: rm ${path}`;
    case 'unusable':
      return 'Check the file, its folder and the disk, then run the command again.';
  }
}

function nothingSent(begun: boolean): string {
  return begun ? 'nothing more was sent' : 'nothing was sent';
}

export function describeNetwork(facts: FailureDetails['network']): string {
  const { peer, code, timeoutMs } = facts;
  const nothing = nothingSent(facts.begun === true);
  const tries = facts.attempts > 1 ? ` after ${facts.attempts} attempts` : '';
  switch (facts.phase) {
    case 'dns':
      return `Cannot resolve ${peer} (${code})${tries}; ${nothing}.`;
    case 'connect':
      return `Cannot connect to ${peer} (${code})${tries}; ${nothing}.`;
    case 'connect-timeout':
      return `There was no connection to ${peer} in ${duration(timeoutMs)}${tries}; ${nothing}.`;
    case 'tls':
      return `The certificate of ${peer} was not accepted: ${tlsWords(code)} (${code}); ${nothing}.`;
    case 'proxy':
      return describeProxy(facts);
    case 'response-timeout':
      return `There was no answer from ${peer} in ${duration(timeoutMs)}${tries}.`;
    case 'body-timeout':
      return `The answer of ${peer} did not end within ${duration(timeoutMs)}${tries}.`;
    default:
      return `The connection to ${peer} broke before the answer (${code})${tries}${facts.mayHaveBeenSent ? '' : '; nothing was sent'}.`;
  }
}

function describeProxy({ peer, code, detail, mayHaveBeenSent }: FailureDetails['network']): string {
  const sent = mayHaveBeenSent ? '' : '; nothing was sent';
  if (code === INVALID_PROXY) return `${detail}${sent}.`;
  return `The proxy ${peer} did not let the request through: ${detail} (${code})${sent}.`;
}

const TLS_WORDS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet; check the clock of this machine',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its chain ends in an unknown self-signed authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its authority is unknown',
  UNABLE_TO_GET_ISSUER_CERT: 'its authority is unknown',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its authority is unknown',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it belongs to another host',
};

function tlsWords(code: string): string {
  return TLS_WORDS[code] ?? 'the handshake failed';
}

/** Never suggests to skip the check of a certificate. */
export function networkHint(facts: FailureDetails['network']): string {
  switch (facts.phase) {
    case 'dns':
      return 'Check the base URL (petstore status) and the network, then run the command again.';
    case 'tls':
      return 'Check the base URL and the clock; for an authority of your own, name its file in NODE_EXTRA_CA_CERTS.';
    case 'proxy':
      return 'Check the proxy variables of the environment: petstore doctor names the one that is used.';
    default:
      return 'Check the network and run the command again.';
  }
}

export function describeUnknown(facts: FailureDetails['outcome-unknown'], because: string): string {
  const { petId, quantity, environment, looked } = facts;
  const look = looked ? 'even after looking' : 'and looking was not possible';
  return `The outcome is unknown, ${look}: pet ${petId} in ${environment} may or may not have been set to ${quantity}. ${because}`;
}

export function unknownHint({ petId, environment }: { petId: bigint; environment: string }): string {
  return `Look before you run it again: petstore --env ${environment} inventory list --pet ${petId}`;
}

export function interruptedSentence({ signal, outcome, write }: FailureDetails['interrupted']): string {
  const stopped = `Stopped by ${signal}`;
  if (write === undefined) return `${stopped}; nothing was in flight.`;
  const { petId, quantity } = write;
  return outcome === 'applied'
    ? `${stopped}; pet ${petId} had been set to ${quantity} by then.`
    : `${stopped} while a write was in flight: the outcome is unknown, pet ${petId} may or may not be ${quantity}.`;
}

const SYSTEM_WORDS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an error',
  ENOENT: 'it does not exist',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no such host',
  EFBIG: 'the file would be too large',
  EMFILE: 'this process may not open more files; see ulimit -n',
  ENFILE: 'this machine has too many files open',
  ENXIO: 'no program reads from it',
  EEXIST: 'there is a file of that name',
  EBADF: 'it is closed',
};

export function systemWords(code: string): string {
  const words = SYSTEM_WORDS[code];
  return words === undefined ? code : `${words} (${code})`;
}

const SHOWN_PROBLEMS = 20;

/** The first of them, and how many more there are. */
export function problemLines(problems: FailureDetails['bad-rows']['problems']): string[] {
  const lines = problems.slice(0, SHOWN_PROBLEMS).map(({ line, reason }) => `line ${line}: ${reason}`);
  const more = problems.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])];
}

export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

export interface Wording {
  readonly exit: number;
  readonly sentence: string;
  /** Lines of their own below the sentence. */
  readonly details?: readonly string[];
  readonly hint?: string;
  /** Whether the same command may succeed later without a change. */
  readonly retryable?: boolean;
  /** Epoch ms before which a repeat is useless or harmful. */
  readonly retryAt?: number;
}
