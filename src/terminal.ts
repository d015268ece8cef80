/** The ports of the terminal: streams, questions, and the whole screen. */

/** Output stream: stdout or stderr. */
export interface Output {
  readonly isTTY: boolean;
  /** Width in columns; undefined without a terminal, or where it does not report one. */
  readonly columns: number | undefined;
  /**
   * Resolves when the text has been handed to the system (back-pressure).
   * @throws {OutputClosed} the reader has gone away (EPIPE)
   * @throws {Failure} `output`: the text could not be written (disk full, I/O error)
   */
  write(text: string | Uint8Array): Promise<void>;
}

export interface Input {
  readonly isTTY: boolean;
  /** Reads stdin in pieces; ends with the signal's reason once it aborts, or with a Node system error. */
  stream(signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Line by line as they come, from now on, without their ends. A consumer that stops reading leaves stdin to others. */
  lines(signal: AbortSignal): AsyncIterable<string>;
}

/**
 * Questions on the terminal (stderr), never on stdout.
 * @throws {Failure} `cancelled` at Ctrl-D and Esc, `interrupted` at Ctrl-C or when the terminal is closed; the signal's reason
 */
export interface Prompt {
  hidden(question: string, signal: AbortSignal): Promise<string>;
  /** `problemOf`: why an answer cannot be taken, which is shown; the question stays. */
  text(
    question: string,
    fallback: string | undefined,
    signal: AbortSignal,
    problemOf?: (answer: string) => string | undefined,
  ): Promise<string>;
  /** `fallback`: the answer of Enter alone, no by default. */
  confirm(question: string, signal: AbortSignal, fallback?: boolean): Promise<boolean>;
}

/** A key that was pressed, or what the mouse did. */
export interface Key {
  /** As node:readline names it: `up`, `pagedown`, `return`, `escape`, `a`; of the mouse `click`, `wheelup`, `wheeldown`. */
  readonly name: string;
  readonly ctrl: boolean;
  readonly shift: boolean;
  /** What it types; empty for a key that types nothing. */
  readonly text: string;
  /** Of the mouse: the row of the screen, from 0. */
  readonly row?: number;
}

export interface ScreenEvents {
  onKey(key: Key): void;
  /** The size has changed, or another program has written on the screen: all has to be drawn again. */
  onRedraw(): void;
  /** The terminal has gone. */
  onEnd(reason: Error): void;
}

/** The whole terminal. Nothing else may write to it, or read its keys, until it is closed. */
export interface FullScreen {
  readonly columns: number;
  readonly rows: number;
  /** @throws what {@link Output.write} throws */
  write(text: string): Promise<void>;
  /** Restores what the terminal showed before. */
  close(): void;
}
