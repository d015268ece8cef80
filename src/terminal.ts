/** The ports of the terminal: streams, prompts, and the full screen. */

/** Output stream: stdout or stderr. */
export interface Output {
  readonly isTTY: boolean;
  /** Width in columns, 80 for a terminal that does not know its own; undefined without a terminal. */
  readonly columns: number | undefined;
  /**
   * Writes the text. Resolves when it has been handed to the system (back-pressure).
   * @throws {OutputClosed} the reader has gone away (EPIPE)
   * @throws {Failure} `output`: the text could not be written (disk full, I/O error)
   */
  write(text: string | Uint8Array): Promise<void>;
}

export interface Input {
  readonly isTTY: boolean;
  /** Streams stdin. Throws the signal's reason once it aborts, or a Node system error. */
  stream(signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Yields lines as they arrive from now on, without line ends. If the consumer stops, others can read stdin. */
  lines(signal: AbortSignal): AsyncIterable<string>;
}

/**
 * Questions on the terminal (stderr), never on stdout.
 * @throws {Failure} `cancelled` at Ctrl-D and Esc, `interrupted` at Ctrl-C or when the terminal is closed; the signal's
 * reason
 */
export interface Prompt {
  hidden(question: string, signal: AbortSignal): Promise<string>;
  /** `problemOf` returns why an answer is invalid: it is shown, and the question stays. */
  text(
    question: string,
    fallback: string | undefined,
    signal: AbortSignal,
    problemOf?: (answer: string) => string | undefined,
  ): Promise<string>;
  /** `fallback`: the answer for Enter alone; default no. */
  confirm(question: string, signal: AbortSignal, fallback?: boolean): Promise<boolean>;
}

/** A key press or mouse event. */
export interface Key {
  /** Name in node:readline: `up`, `pagedown`, `return`, `escape`, `a`; of the mouse `click`, `wheelup`, `wheeldown`. */
  readonly name: string;
  readonly ctrl: boolean;
  readonly shift: boolean;
  /** The text that it types; empty for other keys. */
  readonly text: string;
  /** Row of the screen for a mouse event, from 0. */
  readonly row?: number;
}

export interface ScreenEvents {
  onKey(key: Key): void;
  /** Called if everything has to be redrawn: the size has changed, or another program has written on the screen. */
  onRedraw(): void;
  /** Called when the terminal has gone. */
  onEnd(reason: Error): void;
}

/** The full screen. Until it is closed, nothing else may write to the terminal or read its keys. */
export interface FullScreen {
  readonly columns: number;
  readonly rows: number;
  /** @throws what {@link Output.write} throws */
  write(text: string): Promise<void>;
  /** Restores what the terminal showed before. */
  close(): void;
}
