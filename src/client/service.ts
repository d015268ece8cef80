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
  /** How long to retry an operation after its first failure, in ms, if longer than three attempts take. */
  readonly retryForMs?: number;
  /** Largest decoded body, in bytes. */
  readonly maxBodyBytes: number;
  /** Aborts on a signal or at the deadline, with a Failure as its reason. */
  readonly signal: AbortSignal;
  readonly watch: ClientWatch;
}

/** Header that tells a gateway how long the request may wait there, in whole seconds. The service ignores it. */
export const MAX_WAIT_HEADER = 'petstore-max-wait';

export const METHODS = ['GET', 'PATCH', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'] as const;

export interface Call {
  readonly method: (typeof METHODS)[number];
  /** Relative to the base URL, beginning with a slash. */
  readonly path: string;
  readonly body?: string;
  /** The pet of an update, for messages. */
  readonly petId?: bigint;
  /** Quantity that the pet must have: a gateway refuses the update if it has another one. */
  readonly ifMatch?: bigint;
  /** Called just before the first byte. False: too much time has passed, so the request is not sent. */
  readonly isCurrent?: () => boolean;
  /** Headers and body of a proxy's client, sent in place of petstore's own. */
  readonly forwarded?: { readonly headers: Readonly<Record<string, string>>; readonly body?: Uint8Array };
}

export interface AttemptFacts {
  readonly method: string;
  readonly url: string;
  /** Absent if no response came. */
  readonly status?: number;
  readonly failure?: HttpFailureFacts;
  readonly ms: number;
}

/** The wait before a further attempt, due at `until` (epoch ms). */
export interface Backoff extends Pick<AttemptFacts, 'status' | 'failure'> {
  readonly until: number;
  readonly remainingMs: number;
  readonly attempt: number;
  /** Absent if the time is limited (--retry-for) instead of the number of attempts. */
  readonly attempts?: number;
  /** Epoch ms. */
  readonly giveUpAt?: number;
}

/** A request that has waited for its answer for some time. */
export interface Unanswered {
  /** Host and port it was sent to. */
  readonly peer: string;
  readonly ms: number;
}

/** Observer for --verbose, the live countdown and warnings. */
export interface ClientWatch {
  attempt(facts: AttemptFacts): void;
  /** Called with undefined when the wait is over. */
  backoff(wait: Backoff | undefined): void;
  /** Called once a second while a request takes long, and with undefined when that ends. */
  unanswered(wait: Unanswered | undefined): void;
  /** Called when the service answers after retries for the time of --retry-for. */
  recovered(facts: { readonly attempts: number; readonly ms: number }): void;
  warning(text: string): void;
  debug(text: string): void;
}
