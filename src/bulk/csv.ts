/**
 * Reads CSV as spreadsheets write it: RFC 4180 with any delimiter and line end. A quote inside an unquoted cell is
 * text, and spaces around a quoted cell are ignored. Anything else that is irregular is an error, never a guess.
 */

export interface CsvRecord {
  /** Where the record begins in the file, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

export class CsvError extends Error {
  /** Where the cell begins. */
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** A record without a quote, and its line end. */
const UNQUOTED = /([^"\r\n]*)(?:\r\n?|\n|$)/y;

/** Reads one record after the other. `line`: the number of the text's first line. @throws {CsvError} */
export function* readCsv(text: string, delimiter: string, line = 1): Generator<CsvRecord, void, undefined> {
  const reader = new Reader(text, delimiter, line);
  while (!reader.isAtEnd) yield reader.record();
}

class Reader {
  private readonly text: string;
  private readonly delimiter: string;
  private line: number;
  private at = 0;

  constructor(text: string, delimiter: string, line: number) {
    this.text = text;
    this.delimiter = delimiter;
    this.line = line;
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  record(): CsvRecord {
    const { line } = this;
    UNQUOTED.lastIndex = this.at;
    const unquoted = UNQUOTED.exec(this.text);
    if (unquoted !== null) {
      this.at = UNQUOTED.lastIndex;
      this.line++;
      return { line, cells: unquoted[1]!.split(this.delimiter) };
    }
    const cells = [this.cell(1)];
    while (this.text[this.at] === this.delimiter) {
      this.at++;
      cells.push(this.cell(cells.length + 1));
    }
    if (this.text.startsWith('\r\n', this.at)) this.at++;
    this.at++;
    this.line++;
    return { line, cells };
  }

  /** Reads up to the delimiter or the end of the line. */
  private cell(number: number): string {
    const start = this.at;
    this.skipSpaces();
    if (this.text[this.at] === '"') return this.quotedCell(number);
    while (!this.isCellEnd()) this.at++;
    return this.text.slice(start, this.at);
  }

  private quotedCell(number: number): string {
    const { line } = this;
    let value = '';
    for (;;) {
      const close = this.text.indexOf('"', this.at + 1);
      if (close === -1) throw new CsvError(line, `the quote of cell ${number} is not closed`);
      value += this.text.slice(this.at + 1, close);
      this.at = close + 1;
      if (this.text[this.at] !== '"') break;
      value += '"';
    }
    this.line += value.match(/\r\n?|\n/g)?.length ?? 0;
    this.skipSpaces();
    if (this.isCellEnd()) return value;
    throw new CsvError(line, `cell ${number} has text after its closing quote; double the quotes inside a quoted cell`);
  }

  private skipSpaces(): void {
    while (this.text[this.at] === ' ') this.at++;
  }

  private isCellEnd(): boolean {
    const character = this.text[this.at];
    return character === undefined || character === this.delimiter || character === '\n' || character === '\r';
  }
}
