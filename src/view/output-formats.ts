/** The formats of `--output` and their properties. formats.ts writes them. */

interface FormatFacts {
  /** For `petstore help output`. */
  readonly summary: string;
  /** True if people read it: local times, names of pets, confirmations that --quiet omits. */
  readonly isForPeople: boolean;
  /** True if stderr is JSON too. */
  readonly isJson: boolean;
  /** True if `--no-header` applies. */
  readonly hasHeader: boolean;
}

const TABLE = {
  table: {
    summary: 'for people; the default, on a terminal and in a pipe',
    isForPeople: true,
    isJson: false,
    hasHeader: true,
  },
  json: { summary: 'one document (--json is short for it)', isForPeople: false, isJson: true, hasHeader: false },
  ndjson: { summary: 'one object per line, streamed', isForPeople: false, isJson: true, hasHeader: false },
  csv: {
    summary: 'RFC 4180, with a header line unless --no-header',
    isForPeople: false,
    isJson: false,
    hasHeader: true,
  },
} satisfies Record<string, FormatFacts>;

export type Format = keyof typeof TABLE;
export const FORMAT_FACTS: Readonly<Record<Format, FormatFacts>> = TABLE;
export const FORMATS = Object.keys(TABLE) as readonly Format[];
