/** What a command is given: the options that every command takes, the settings, and a way to speak on stderr. */
import type { PetWrite } from '../errors.ts';
import type { Context } from '../ports.ts';
import type { Share } from '../view/progress.ts';
import type { ConfigFile } from './config-file.ts';
import type { Place } from './environments.ts';
import type { Sourced, StoredValues } from './settings.ts';
import type { ClientWatch } from '../client/service.ts';
import type { RateLimit, Wait } from '../rate-limit/gate.ts';
import type { Change } from '../state/journal-rows.ts';

/** The options that every command takes: durations in ms, sizes in bytes. */
export interface Globals extends StoredValues {
  readonly env?: string;
  readonly baseUrl?: string;
  /** False with --no-input: never ask. */
  readonly input: boolean;
  readonly yes: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly debug: boolean;
  readonly showLimits: boolean;
  /** File that what happens is added to. */
  readonly log?: string;
  readonly insecureHttp: boolean;
  readonly timeout: number;
  /** Whether the call says it: to `wait` it is the whole wait then. */
  readonly timeoutIsExplicit: boolean;
  /** Absent: none. */
  readonly deadline?: number;
  readonly maxBody: number;
}

/** A write that is sent, and not recorded yet. */
export interface OpenWrite extends PetWrite {
  outcome: 'unknown' | 'applied';
}

/** What the history notes beside each change of a command. */
export interface Why extends Pick<Change, 'cause' | 'note'> {
  readonly person?: string | undefined;
}

export interface ResolvedSettings {
  readonly environment: Sourced<Place>;
  /** As it was given, not yet checked. Absent in the sandbox. */
  readonly baseUrl?: Sourced<string> | undefined;
  readonly apiKey?: Sourced<string> | undefined;
  /** The command that prints the key; excludes `apiKey`. */
  readonly keyCommand?: Sourced<string>;
}

/** Where requests go, and with which key. */
export interface Target {
  readonly environment: Place;
  readonly baseUrl: URL;
  readonly apiKey: string;
  /** Where the key came from, for messages: "PETSTORE_API_KEY", "the config". */
  readonly keySource: string;
}

/** What a command's `run` is given: the ports, the common options, and a way to speak on stderr. */
export interface CommandContext extends Context {
  /** Why the command changes stock, and who does it, as its options say. */
  readonly why?: Why;
  /** What was typed behind `petstore`, quoted for a shell. */
  readonly line: string;
  readonly globals: Globals;
  readonly notices: Notices;
  /** Whatever is added here never appears in any output, file or journal. */
  readonly secrets: { add(secret: string): void; redact(text: string): string };
  /** What the end of the command has to report, however it ends. */
  readonly openWrites: Set<OpenWrite>;
  /** Reads the config, once. @throws {Failure} `config-invalid`, `config-newer`, `config-not-a-file` */
  configFile(): Promise<ConfigFile>;
  /** Resolves environment, base URL and key, once. @throws {Failure} what configFile and resolveSettings throw */
  settings(): Promise<ResolvedSettings>;
  /** Requires all that a request needs, and warns of what is unsafe, once. @throws {Failure} `no-key`, `no-base-url`, … */
  target(): Promise<Target>;
}

/** What a command prints beside its data; all of it goes to stderr. */
export interface Notices extends ClientWatch {
  /** For people; --quiet turns it off. */
  info(text: string): void;
  /**
   * Progress on one line, redrawn on a terminal with a bar where it is known how much there is; elsewhere a line every
   * ten seconds in that case. undefined: removes it.
   */
  progress(line: string | undefined, share?: Share): void;
  /** Whether `progress` shows anything. */
  readonly isLive: boolean;
  /** The gate waits; undefined: the wait is over. */
  waiting(wait: Wait | undefined): void;
  /** Where the newest rate-limit headers can be read when the command ends. */
  watchLimits(newest: () => RateLimit | undefined): void;
}
