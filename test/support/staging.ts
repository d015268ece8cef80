/** Runs petstore against the test's own server as `staging`, with JSON output, so that tests can check failures. */
import { type Finished, type PetstoreOptions, runPetstore } from './binary.ts';

/** Long and odd enough to be found wherever it leaks. */
export const KEY = 'canary-key-7f3b9d2e5a';

export function staging(baseUrl: string, apiKey = KEY): Record<string, string> {
  return { PETSTORE_ENV: 'staging', PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: apiKey };
}

export interface JsonRun {
  readonly code: number | null;
  readonly stdout: string;
  /** Lines of stderr except the error: `warning: …`, or with --verbose only the text. */
  readonly notes: readonly string[];
  /** The error object, if any. */
  readonly error: Readonly<Record<string, unknown>> | undefined;
}

/** Runs with --json and parses stderr, where the last line is the error object of a failed command. */
export async function runJson(
  baseUrl: string,
  args: readonly string[],
  options: PetstoreOptions = {},
): Promise<JsonRun> {
  const finished = await runPetstore(['--json', ...args], {
    ...options,
    env: { ...staging(baseUrl), ...options.env },
  });
  return takeApart(finished);
}

/** A finding in the JSON of doctor. */
export interface Found {
  readonly check: string;
  readonly health: string;
  readonly says: string;
  readonly fix: string | null;
}

/** Parses a JSON document on each line. */
export function jsonLines<T = unknown>(text: string): T[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** Parses stderr: each line is a JSON object with one member, named after its kind. */
export function takeApart({ code, stdout, stderr }: Omit<Finished, 'signal'>): JsonRun {
  const objects = jsonLines<Record<string, Record<string, unknown>>>(stderr);
  const notes = objects.filter(({ error }) => error === undefined).map(noteOf);
  return { code, stdout, notes, error: objects.find(({ error }) => error !== undefined)?.error };
}

function noteOf(note: Readonly<Record<string, Record<string, unknown>>>): string {
  const [kind, facts] = Object.entries(note)[0]!;
  const text = typeof facts.message === 'string' ? facts.message : JSON.stringify(note);
  return kind === 'info' ? text : `${kind}: ${text}`;
}
