/** stdin, stdout and stderr in memory. */
import type { Input, Output } from '../../src/ports.ts';

export interface OutputOptions {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
}

export class MemoryOutput implements Output {
  readonly isTTY: boolean;
  /** Set it to resize the window. */
  columns: number | undefined;
  /** Error of every write from now on: an OutputClosed, a Failure `output`. */
  failWith: Error | undefined;
  /** One entry per write. */
  readonly writes: string[] = [];

  constructor({ isTTY = false, columns }: OutputOptions = {}) {
    this.isTTY = isTTY;
    this.columns = columns ?? (isTTY ? 80 : undefined);
  }

  async write(text: string | Uint8Array): Promise<void> {
    if (this.failWith !== undefined) throw this.failWith;
    this.writes.push(typeof text === 'string' ? text : Buffer.from(text).toString('utf8'));
  }

  text(): string {
    return this.writes.join('');
  }
}

export class MemoryInput implements Input {
  readonly isTTY: boolean;
  readonly #text: string;

  constructor({ isTTY = false, text = '' }: { readonly isTTY?: boolean; readonly text?: string } = {}) {
    this.isTTY = isTTY;
    this.#text = text;
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(this.#text);
  }

  async *lines(): AsyncGenerator<string> {
    yield* this.#text.split('\n').slice(0, this.#text.endsWith('\n') ? -1 : undefined);
  }
}
