/** Draws lines on the whole screen: only those that have changed, and never more often than it takes to write them. */
import type { Clock, FullScreen } from '../ports.ts';

/** Of DEC private mode 2026: a terminal that knows it shows all of it at once, others ignore it. */
const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';
const CLEAR = '\u001b[2J';

export class Painter {
  private readonly screen: FullScreen;
  private readonly clock: Clock;
  private readonly draw: () => readonly string[];
  private readonly onFailure: (error: unknown) => void;
  private shown: readonly string[] | undefined;
  private isAsked = false;
  private isClosed = false;
  private painting: Promise<void> | undefined;

  constructor(parts: {
    readonly screen: FullScreen;
    readonly clock: Clock;
    readonly draw: () => readonly string[];
    /** Called where the terminal cannot be written to. */
    readonly onFailure: (error: unknown) => void;
  }) {
    this.screen = parts.screen;
    this.clock = parts.clock;
    this.draw = parts.draw;
    this.onFailure = parts.onFailure;
  }

  /** Draws soon: several keys that have arrived together are drawn once. */
  ask(): void {
    this.isAsked = true;
    this.painting ??= this.paint();
  }

  /** Draws all lines again. */
  redraw(): void {
    this.shown = undefined;
    this.ask();
  }

  /** Resolves once nothing is written any more. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.painting;
  }

  private async paint(): Promise<void> {
    try {
      while (this.isAsked && !this.isClosed) {
        await this.clock.turn();
        this.isAsked = false;
        const text = this.changes();
        if (text !== '') await this.screen.write(text);
      }
    } catch (error) {
      this.onFailure(error);
    } finally {
      this.painting = undefined;
    }
  }

  private changes(): string {
    const lines = this.draw();
    const old = this.shown;
    this.shown = lines;
    const changed = lines.map((line, i) => (old?.[i] === line ? '' : `\u001b[${i + 1};1H${line}\u001b[K`));
    const text = (old === undefined ? CLEAR : '') + changed.join('');
    return text === '' ? '' : BEGIN + text + END;
  }
}
