/** The formats of `--output`, and what the program asks about each. formats.ts has how each is written. */

interface FormatFacts {
  /** For `petstore help output`. */
  readonly summary: string;
  /** True for people: local times, names of pets, a confirmation that --quiet leaves out. */
  readonly isForPeople: boolean;
  /** What is written to stderr is JSON too; there is no header. */
  readonly isJson: boolean;
}

const TABLE = {
  table: { summary: 'for people; the default, on a terminal and in a pipe', isForPeople: true, isJson: false },
  json: { summary: 'one document (--json is short for it)', isForPeople: false, isJson: true },
  ndjson: { summary: 'one object per line, streamed', isForPeople: false, isJson: true },
  csv: { summary: 'RFC 4180, with a header line unless --no-header', isForPeople: false, isJson: false },
} satisfies Record<string, FormatFacts>;

export type Format = keyof typeof TABLE;
export const FORMAT_FACTS: Readonly<Record<Format, FormatFacts>> = TABLE;
export const FORMATS = Object.keys(TABLE) as readonly Format[];
