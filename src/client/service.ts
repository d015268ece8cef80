/** The client's configuration, ports and observers. */
import type { Http, HttpFailureFacts, Wait } from '../ports.ts';
import type { Gate, GateOptions } from '../rate-limit/gate.ts';

export interface Service extends Pick<GateOptions, 'clock' | 'random' | 'timeoutMs' | 'maxWaitMs' | 'signal'> {
  /** Ends in the path segment v1, without a trailing slash. */
  readonly baseUrl: URL;
  /** Name of the environment, for messages. */
  readonly environment: string;
  readonly apiKey: string;
  /** Where the key came from, for messages: "PETSTORE_API_KEY", "the config". */
  readonly keySource: string;
  readonly userAgent: string;
  readonly http: Http;
  readonly gate: Pick<Gate, 'enter'>;
  /** How long an operation is retried after its first failure, in ms, if that is longer than three attempts take. */
  readonly retryForMs: number;
  /** Operation that fails -> end of that time, on the monotonic clock. Kept until it is answered: it gets no more time. */
  readonly outages: Map<string, number>;
  /** Largest decoded body, in bytes. */
  readonly maxBodyBytes: number;
  readonly watch: ClientWatch;
}

/** Tells a gateway how long it may hold the request back, in whole seconds. A service ignores it. */
export const MAX_WAIT_HEADER = 'petstore-max-wait';

export const METHODS = ['GET', 'PATCH', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'] as const;

export interface Call {
  readonly method: (typeof METHODS)[number];
  /** Relative to the base URL, beginning with a slash. */
  readonly path: string;
  readonly body?: string | Uint8Array;
  /** The pet of an update, for messages. */
  readonly petId?: bigint;
  /** The quantity that the pet must have: a gateway refuses the update otherwise. */
  readonly ifMatch?: bigint;
  /** Called just before the first byte. False if too much time has passed: the request is not sent. */
  readonly isCurrent?: () => boolean;
  /** Called before and after the permission to send is asked for, to learn what `isCurrent` returns. Never rejects. */
  readonly confirm?: (() => Promise<void>) | undefined;
  /** Headers of another client, which are sent unchanged in place of petstore's own. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AttemptFacts {
  readonly method: string;
  readonly url: string;
  /** Absent without a response. */
  readonly status?: number;
  readonly failure?: HttpFailureFacts;
  readonly ms: number;
}

/** Observer for --verbose, the live countdown and warnings. */
export interface ClientWatch {
  /** True if waits are shown on a live line; otherwise a slow answer is not announced. */
  readonly isLive: boolean;
  attempt(facts: AttemptFacts): void;
  /** Called once a second during a wait, and with undefined when it is over. */
  waiting(wait: Wait | undefined): void;
  /** Called when the service answers after retries. */
  recovered(facts: { readonly attempts: number; readonly ms: number }): void;
  warning(text: string): void;
  debug(text: string): void;
}
