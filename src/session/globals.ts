/** What a command's `run` receives: common options, settings, the ports, and notices on stderr. */
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
  /** File to append the log to. */
  readonly log?: string;
  readonly insecureHttp: boolean;
  readonly timeout: number;
  /** True if --timeout was given; `wait` then uses it as the whole wait. */
  readonly timeoutIsExplicit: boolean;
  /** Absent without one. */
  readonly deadline?: number;
  readonly maxBody: number;
}

/** A write that was sent but is not recorded yet. */
export interface OpenWrite extends PetWrite {
  outcome: 'unknown' | 'applied';
}

/** What the history records with each change of a command. */
export interface Why extends Pick<Change, 'cause' | 'note'> {
  readonly person?: string | undefined;
}

export interface ResolvedSettings {
  readonly environment: Sourced<Place>;
  /** As given, not yet validated. Absent in the sandbox. */
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

/** The argument of a command's `run`: the ports, the common options, and notices on stderr. */
export interface CommandContext extends Context {
  /** Why the command changes stock, and who does it, from its options. */
  readonly why?: Why;
  /** The words typed after `petstore`, quoted for a shell. */
  readonly line: string;
  readonly globals: Globals;
  readonly notices: Notices;
  /** A secret added here never appears in any output, file or journal. */
  readonly secrets: { add(secret: string): void; redact(text: string): string };
  /** Writes that the command must report, however it ends. */
  readonly openWrites: Set<OpenWrite>;
  /** Reads the config, once. @throws {Failure} `config-invalid`, `config-newer`, `config-not-a-file` */
  configFile(): Promise<ConfigFile>;
  /** Resolves environment, base URL and key, once. @throws {Failure} what configFile and resolveSettings throw */
  settings(): Promise<ResolvedSettings>;
  /** Requires everything a request needs, and warns about risks, once. @throws {Failure} `no-key`, `no-base-url`, … */
  target(): Promise<Target>;
}

/** Prints everything except a command's data, on stderr. */
export interface Notices extends ClientWatch {
  /** Prints information, unless --quiet is set. */
  info(text: string): void;
  /**
   * Shows progress: on a terminal one line, redrawn, with a bar if the share is known; elsewhere a line every ten
   * seconds if it is known. undefined removes it.
   */
  progress(line: string | undefined, share?: Share): void;
  /** True if `progress` is shown live. */
  readonly isLive: boolean;
  /** Shows that the gate waits; undefined ends it. */
  waiting(wait: Wait | undefined): void;
  /** Sets how to read the newest rate limit when the command ends. */
  watchLimits(newest: () => RateLimit | undefined): void;
}
