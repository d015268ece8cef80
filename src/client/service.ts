/** The client's configuration, ports and observers. */
import type { Clock, Http, HttpFailureFacts, Random } from '../ports.ts';
import type { Gate } from '../rate-limit/gate.ts';

export interface Service {
  /** Ends in the path segment v1, without a trailing slash. */
  readonly baseUrl: URL;
  /** Name of the environment, for messages. */
  readonly environment: string;
  readonly apiKey: string;
  /** Where the key came from, for messages: "PETSTORE_API_KEY", "the config". */
  readonly keySource: string;
  readonly userAgent: string;
  readonly http: Http;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly random: Random;
  /** Longest time that one attempt may spend waiting for the service, in ms. */
  readonly timeoutMs: number;
  /** Longest wait before a further attempt, in ms. */
  readonly maxWaitMs: number;
  /** How long an operation is tried again from its first failure on, in ms, if longer than three tries take. */
  readonly retryForMs?: number;
  /** Most bytes of a decoded body. */
  readonly maxBodyBytes: number;
  /** Aborts on a signal or at the deadline, with a Failure as its reason. */
  readonly signal: AbortSignal;
  readonly watch: ClientWatch;
}

/** Tells a gateway how long the request may wait there to be sent, in whole seconds. A service ignores it. */
export const MAX_WAIT_HEADER = 'petstore-max-wait';

export const METHODS = ['GET', 'PATCH', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'] as const;

export interface Call {
  readonly method: (typeof METHODS)[number];
  /** Relative to the base URL, beginning with a slash. */
  readonly path: string;
  readonly body?: string;
  /** Of an update: the pet, for messages. */
  readonly petId?: bigint;
  /** The quantity that the pet must have: a gateway refuses the update where it has another one. */
  readonly ifMatch?: bigint;
  /** Asked just before the first byte: false where too much time has passed, and the request is not sent. */
  readonly isCurrent?: () => boolean;
  /** What another client sent, to be passed on as it is: in place of petstore's own headers and the body. */
  readonly forwarded?: { readonly headers: Readonly<Record<string, string>>; readonly body?: Uint8Array };
}

export interface AttemptFacts {
  readonly method: string;
  readonly url: string;
  /** Absent where no response came. */
  readonly status?: number;
  readonly failure?: HttpFailureFacts;
  readonly ms: number;
}

/** The wait before a further attempt, due at `until` (epoch ms). */
export interface Backoff extends Pick<AttemptFacts, 'status' | 'failure'> {
  readonly until: number;
  readonly remainingMs: number;
  readonly attempt: number;
  /** Absent where the time is limited (--retry-for), not the number. */
  readonly attempts?: number;
  /** Epoch ms. */
  readonly giveUpAt?: number;
}

/** A request that has not been answered for some time. */
export interface Unanswered {
  /** Host and port that it went to. */
  readonly peer: string;
  readonly ms: number;
}

/** Observer for --verbose, the live countdown and warnings. */
export interface ClientWatch {
  attempt(facts: AttemptFacts): void;
  /** Undefined: the wait is over. */
  backoff(wait: Backoff | undefined): void;
  /** Once a second, of a request that takes long; undefined: it does no longer. */
  unanswered(wait: Unanswered | undefined): void;
  /** The service answered after it had been tried again for a time. */
  recovered(facts: { readonly attempts: number; readonly ms: number }): void;
  warning(text: string): void;
  debug(text: string): void;
}
