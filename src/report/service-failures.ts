/** Failures of the service, the network and the rate limit: a part of the table of failures. */
import { EXIT, type ServiceError } from '../errors.ts';
import { type HttpFailureFacts, INVALID_PROXY, isLoopback, type WaitReason } from '../ports.ts';
import type { Gateway } from '../rate-limit/headers.ts';
import { clockTime, duration } from '../view/progress.ts';
import { capital, plural } from '../view/words.ts';
import {
  type FailureTable,
  NO_SUCH_PET,
  nothingSent,
  refused,
  stops,
  uncertain,
  type Words,
} from './failure-meaning.ts';

/** A wait that is longer than allowed. Times: epoch ms, durations: ms. */
interface Waiting {
  retryAt: number;
  waitMs: number;
  maxWaitMs: number;
  /** True if the command has sent other requests before. */
  begun?: boolean;
  /** The command that continues a run. */
  resume?: string;
}

/** `says`: what the server said last, for `ledger-lost`; absent for the server of a gateway. */
type RateLimited = Waiting & { why: Exclude<WaitReason, 'banned' | 'paused'>; says?: string; reserve?: number };

/** The checks need more requests than the rate limit has left. `resetAt`: epoch ms. */
interface Quota {
  need: number;
  left: number;
  limit: number;
  resetAt: number;
  begun: boolean;
}

type Refusal = { serviceError: ServiceError; environment: string };

/** `gateway`: whether a gateway refused or passed on the request, if there is one. */
interface Unauthorized extends Refusal {
  keySource: string;
  gateway: Gateway | undefined;
}

type NetworkDetails = HttpFailureFacts & { timeoutMs: number; attempts: number; begun?: boolean; resume?: string };

/** `isRefusal`: a 4xx to a write, which was not applied then. `begun`: other rows of its run may have been. */
type Unexpected = Readonly<{ serviceError: ServiceError; isRefusal?: boolean; begun?: boolean; fix?: string }>;

export const SERVICE_FAILURES = {
  /** 404 on the list: the base URL is incomplete. */
  'not-the-service': ({ url }: { url: string; serviceError: ServiceError }) => ({
    ...stops(EXIT.local),
    message: `No inventory at ${url} (404).`,
    hint: 'Check the base URL: it must be the address of the service and end in /v1.',
  }),
  unauthorized: (details: Unauthorized) => ({
    ...stops(EXIT.key),
    message: describeUnauthorized(details),
    hint: unauthorizedHint(details),
  }),
  /** A gateway has refused the request. */
  'gateway-refused': ({ serviceError: { message, status } }: { serviceError: ServiceError }) => ({
    ...stops(EXIT.forbidden),
    message: message ?? `The gateway refuses this (${status}).`,
    hint: 'Ask the people who run the gateway.',
  }),
  forbidden: ({ serviceError, environment, retryAt }: Refusal & { retryAt: number }) => ({
    ...stops(EXIT.forbidden),
    message: `${capital(environment)} forbids this (403${quote(serviceError)}): the key may be banned.`,
    hint: 'Stop every job that uses this key and ask the owners of the service.',
    retryAt,
  }),
  rejected: ({ serviceError }: { serviceError: ServiceError }) => ({
    ...refused(
      EXIT.rejected,
      `the service refused the value (400${serviceError.message === undefined ? '' : `: ${serviceError.message}`})`,
    ),
    message: `The service refused the value (400${quote(serviceError)}).`,
    hint: 'Fix the value and run the command again.',
  }),
  /** 404 on one pet; without `serviceError`, the list does not have it. */
  'pet-not-found': (details: { petId: bigint; environment: string; serviceError?: ServiceError }) => ({
    ...refused(EXIT.notFound, NO_SUCH_PET),
    message: `Pet ${details.petId} was not found in ${details.environment}${details.serviceError === undefined ? '' : ` (404${quote(details.serviceError)})`}.`,
    hint: `See all pets: petstore --env ${details.environment} inventory list`,
  }),
  /** 404 on a raw call, which may have been a read. */
  'not-found': ({ path, serviceError }: { path: string; serviceError: ServiceError }) => ({
    ...refused(EXIT.notFound, NO_SUCH_PET),
    outcome: undefined,
    message: `${path} does not exist (404${quote(serviceError)}).`,
    hint: 'Check the path: it is relative to the base URL, which petstore status shows.',
  }),

  'rate-limited': (details: RateLimited, now) => ({
    ...stops(EXIT.rateLimited),
    message: describeRateLimit(details, now),
    hint: details.says === undefined ? waitHint(details, now) : 'See what is wrong with it: petstore doctor',
    retryable: true,
    retryAt: details.retryAt,
  }),
  /** The block after a 403 is not over yet. */
  banned: (details: Waiting, now) => ({
    ...stops(EXIT.forbidden),
    message: `The key may be banned (403): petstore sends nothing with it until ${clockTime(details.retryAt, now)}.`,
    hint: 'Stop every job that uses this key and ask the owners of the service. Once the ban is lifted, run petstore limits --clear-block',
    retryAt: details.retryAt,
  }),
  /** The service named a time with a 503, or (with `serviceError`) a gateway did. Nothing is sent before it. */
  paused: ({ serviceError, ...details }: Waiting & { serviceError?: ServiceError }, now) => ({
    ...stops(EXIT.service),
    message:
      serviceError === undefined
        ? `The service is unavailable (503) until about ${clockTime(details.retryAt, now)}; ${nothingSent(details.begun)}.`
        : `The gateway did not pass this on (${serviceError.status}${quote(serviceError)}).`,
    hint: waitHint(details, now),
    retryable: true,
    retryAt: details.retryAt,
  }),
  'quota-insufficient': ({ need, left, limit, resetAt, begun }: Quota, now) => ({
    ...stops(EXIT.rateLimited),
    message:
      `The checks need ${need} requests, but only ${left} of ${limit} are left until ${clockTime(resetAt, now)}; ` +
      `${nothingSent(begun)}.`,
    hint:
      need > limit
        ? 'Run fewer checks with --only or --skip.'
        : 'Run the command again then, or run fewer checks with --only.',
    retryable: need <= limit,
    ...(need <= limit && { retryAt: resetAt }),
  }),

  network: (details: NetworkDetails) => {
    const [message, hint] = describeNetwork(details);
    return {
      ...uncertain(EXIT.network),
      message,
      hint,
      retryable: details.phase !== 'tls' && details.code !== INVALID_PROXY && details.code !== '407',
      ...(!details.mayHaveBeenSent && {
        // In a run, other rows may have been applied.
        outcome: details.resume === undefined ? 'not-sent' : undefined,
        bulkRow: { state: 'planned', continues: 'unless-often' },
      }),
    };
  },
  /** The deadline of the whole command passed while no write was in flight. */
  deadline: ({ deadlineMs, resume }: { deadlineMs: number; resume?: string }) => ({
    ...stops(EXIT.network),
    message: `The command did not finish within its deadline of ${deadlineMs % 1_000 === 0 ? duration(deadlineMs) : `${deadlineMs} ms`}.`,
    hint: resume === undefined ? 'Allow more time with --deadline.' : `Continue: ${resume}`,
    retryable: true,
  }),

  /** 5xx after the permitted retries. */
  'service-failed': (details: { serviceError: ServiceError; attempts: number; retryAt?: number }, now) => ({
    ...uncertain(EXIT.service),
    message:
      `The service failed (${details.serviceError.status}${quote(details.serviceError)}) after ${plural(details.attempts, 'attempt')}.` +
      (details.retryAt === undefined ? '' : ` It expects to be available at ${clockTime(details.retryAt, now)}.`),
    hint: 'Try again later. If the problem persists, report it to the owners of the service.',
    retryable: true,
    ...(details.retryAt !== undefined && { retryAt: details.retryAt }),
  }),
  /** The service broke its contract: wrong body, wrong type, wrong status. `fix`: what the user can do about it. */
  contract: ({ what, problem, fix }: { what: string; problem: string; fix?: string }) => ({
    ...uncertain(EXIT.service),
    message: `Invalid response: ${what.charAt(0).toLowerCase()}${what.slice(1)} ${problem}.`,
    hint: fix ?? 'Report it to the owners of the service; --debug shows more.',
  }),
  /** `target` is undefined if the answer names no address. */
  redirected: ({ serviceError: { status }, target }: { serviceError: ServiceError; target: string | undefined }) => ({
    ...stops(EXIT.service),
    message:
      target === undefined
        ? `The service answers ${status === 304 ? '304 (not modified), which petstore never asks for' : `with a redirect (${status}) that names no address`}.`
        : `The service redirects (${status}) to ${target}; petstore does not follow redirects and did not send the key there.`,
    hint: target === undefined ? 'Check the base URL.' : 'If the new address is right, set it with petstore login',
  }),
  'unexpected-status': ({ serviceError, isRefusal, begun, fix }: Unexpected) => {
    const answer = `(${serviceError.status}${quote(serviceError)})`;
    const bulkRow = { state: 'failed', reason: `the service refused it ${answer}`, continues: 'unless-often' } as const;
    return {
      ...uncertain(EXIT.service),
      ...(isRefusal === true && begun !== true && { outcome: 'not-applied', bulkRow }),
      message: `Unexpected status from the service ${answer}.`,
      hint: fix ?? 'Update petstore. If that does not help, report it to the owners of the service.',
    };
  },
} satisfies FailureTable;

/** Returns `, NOT_FOUND: no such pet`, or what the service sent of it. */
function quote({ code, message }: ServiceError): string {
  const words = [code, message].filter((each) => each !== undefined && each !== '').join(': ');
  return words === '' ? '' : `, ${words.replace(/\.$/, '')}`;
}

function describeUnauthorized({ serviceError, environment, keySource, gateway }: Unauthorized): string {
  if (gateway === 'refused') return `The gateway does not know the token from ${keySource} (401).`;
  if (gateway === 'passed') return `The service refused the key of the gateway (401${quote(serviceError)}).`;
  return `${capital(environment)} refused the API key from ${keySource} (401${quote(serviceError)}).`;
}

function unauthorizedHint({ environment, keySource, gateway }: Unauthorized): string {
  if (gateway === 'passed') return 'Your own token is right. Tell the people who run the gateway.';
  if (keySource === 'PETSTORE_API_KEY') return 'Correct or unset PETSTORE_API_KEY.';
  return `Log in again: petstore login --env ${environment}`;
}

function describeRateLimit(details: RateLimited, now: number): string {
  const wait = `until ${clockTime(details.retryAt, now)} (${duration(details.waitMs)})`;
  const allowed = details.waitMs > details.maxWaitMs ? `, longer than --max-wait (${duration(details.maxWaitMs)})` : '';
  const { reserve = 0, says } = details;
  const why = {
    'window-spent': `The rate limit is used up${reserve > 0 ? ` but for --reserve (${reserve < 1 ? `${reserve * 100}%` : reserve})` : ''} ${wait}${allowed}`,
    asking: `Another request with this key is still unanswered; this one would wait for it ${wait}${allowed}`,
    'ledger-lost': `The Redis server of ${says === undefined ? 'the gateway does not work' : `PETSTORE_LEDGER does not work (${says})`}, and other machines share this key's rate limit`,
    paced: `The service sends no rate-limit headers, so petstore sends one request a second; this one would wait ${wait}${allowed}`,
    'rate-limited': `This key is rate limited (429) ${wait}${allowed}`,
  };
  return `${why[details.why]}; ${nothingSent(details.begun)}.`;
}

function waitHint({ retryAt, waitMs, maxWaitMs, resume }: Waiting, now: number): string {
  if (resume !== undefined) return `After ${clockTime(retryAt, now)}: ${resume}`;
  const allow = waitMs > maxWaitMs ? `, or allow the wait: --max-wait ${Math.ceil(waitMs / 1000)}s` : '.';
  return `Run the command again after ${clockTime(retryAt, now)}${allow}`;
}

/** Describes a network failure. Never suggests skipping the check of a certificate. */
function describeNetwork(details: NetworkDetails): Words {
  const { code, detail, mayHaveBeenSent, peer, resume, timeoutMs } = details;
  const nothing = nothingSent(details.begun);
  const unsentYet = mayHaveBeenSent ? '' : `; ${nothing}`;
  const tries = details.attempts > 1 ? ` after ${details.attempts} attempts` : '';
  const again = `Check the network${resume === undefined ? ' and run the command again.' : `, then continue: ${resume}`}`;
  // http is refused elsewhere.
  const http = isLoopback(peer.replace(/:\d+$/, '')) ? `Did you mean http://${peer}/v1?` : undefined;
  switch (details.phase) {
    case 'dns':
      return [
        `Cannot find the address of ${peer} (${code})${tries}; ${nothing}.`,
        'Check the name in the base URL and the network, then run the command again.',
      ];
    case 'connect':
      return [`Cannot connect to ${peer} (${code})${tries}; ${nothing}.`, again];
    case 'connect-timeout':
      return [`Could not connect to ${peer} within ${duration(timeoutMs)}${tries}; ${nothing}.`, again];
    case 'tls':
      if (NO_TLS.test(code))
        return [`${peer} does not speak TLS; ${nothing}.`, http ?? 'Check the port of the base URL.'];
      if (/^(ERR_SSL_|ERR_OSSL_|EPROTO)/.test(code))
        return [`No TLS connection to ${peer} (${code}); ${nothing}.`, 'Check the base URL; petstore needs TLS 1.2.'];
      return [
        `The certificate of ${peer} was not accepted: ${TLS_WORDS[code] ?? detail} (${code}); ${nothing}.`,
        'Check the base URL and the clock; for an authority of your own, name its file in NODE_EXTRA_CA_CERTS.',
      ];
    case 'proxy':
      return [
        code === INVALID_PROXY
          ? `${detail}${unsentYet}.`
          : `The proxy ${peer} did not let the request through: ${detail} (${code})${unsentYet}.`,
        'Check the proxy variables of the environment; petstore doctor names the one that is used.',
      ];
    case 'withdrawn':
      return [`The lock of the pet on the Redis server of PETSTORE_LEDGER was lost; ${nothing}.`, again];
    case 'response-timeout':
      return [`No answer from ${peer} within ${duration(timeoutMs)}${tries}.`, again];
    case 'body-timeout':
      return [`The answer from ${peer} was not complete within ${duration(timeoutMs)}${tries}.`, again];
    default:
      return [`The connection to ${peer} was lost before the answer (${code})${tries}${unsentYet}.`, again];
  }
}

/** OpenSSL's codes for an answer that is not TLS. */
const NO_TLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/;

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
