/** The context of a command: common options, settings, and notices on stderr. */
import type { PetWrite } from '../errors.ts';
import type { Context, RateLimit } from '../ports.ts';
import type { Share } from '../view/progress.ts';
import type { ConfigFile } from './config-file.ts';
import type { Place } from './environments.ts';
import type { Sourced, StoredValues } from './settings.ts';
import type { ClientWatch, Service } from '../client/service.ts';
import type { Change } from '../state/journal-rows.ts';

/** The options that choose the environment. */
export interface PlaceOptions {
  readonly env?: string | undefined;
  readonly profile?: string | undefined;
  readonly baseUrl?: string | undefined;
}

/** The common options. */
export interface Globals extends StoredValues, PlaceOptions {
  /** Log file. */
  readonly log?: string;
  /** Absent without --timeout: for `wait`, it is the whole wait. */
  readonly timeout?: number;
  /** Absent without a deadline. */
  readonly deadline?: number;
}

/** A write that was sent and is not recorded yet. */
export interface OpenWrite extends PetWrite {
  outcome: 'unknown' | 'applied';
}

/** What the history records with each change of a command. */
export interface Why extends Pick<Change, 'cause' | 'note'> {
  readonly person?: string | undefined;
}

export interface ResolvedSettings {
  readonly environment: Sourced<Place>;
  /** As given, not yet checked. Absent in the sandbox. */
  readonly baseUrl?: Sourced<string> | undefined;
  /** The base URL that the config has for a profile that the command line names; no variable may contradict it. */
  readonly profileUrl?: string | undefined;
  readonly apiKey?: Sourced<string> | undefined;
  /** The command that prints the key; excludes `apiKey`. */
  readonly keyCommand?: Sourced<string>;
}

/** Where requests are sent, and with which key. */
export interface Target extends Pick<Service, 'apiKey' | 'baseUrl' | 'keySource'> {
  readonly environment: Place;
}

/** The context that a command's `run` gets: ports, common options, and notices on stderr. */
export interface CommandContext extends Context {
  /** Cause, note and person from the command's options. */
  readonly why?: Why;
  /** The words after `petstore`. */
  readonly argv: readonly string[];
  readonly globals: Globals;
  readonly notices: Notices;
  /** Secrets, which never appear in any output, file or journal. */
  readonly secrets: { add(secret: string): void; redact(text: string): string };
  /** Writes whose outcome the command reports, however it ends. */
  readonly openWrites: Set<OpenWrite>;
  /** Reads the config, once. @throws {Failure} `config-invalid` */
  configFile(): Promise<ConfigFile>;
  /** Resolves environment, base URL and key, once. @throws {Failure} what configFile and resolveSettings throw */
  settings(): Promise<ResolvedSettings>;
  /** Resolves what a request needs, and warns once about what is unsafe. @throws {Failure} `no-key`, `no-base-url`, … */
  target(): Promise<Target>;
}

/** What a command prints besides its data, on stderr. */
export interface Notices extends ClientWatch {
  /** Information for people; --quiet turns it off. */
  info(text: string): void;
  /**
   * Shows progress on one live line, with a bar if the total is known. Without a terminal, prints a line every ten
   * seconds if the total is known. undefined removes it.
   */
  progress(line: string | undefined, share?: Share): void;
  /** Marks a command that changes stock: what became of a write belongs in its error. */
  writes(): void;
  /** Sets where to read the newest rate limit when the command ends. */
  watchLimits(newest: () => RateLimit | undefined): void;
}
