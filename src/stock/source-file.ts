/** Reads a CSV or JSON file as text. Refuses spreadsheet formats such as .xlsx. */
import { hash } from 'node:crypto';
import { type Failure, usageFailure } from '../errors.ts';
import type { CommandContext } from '../session/globals.ts';
import { absolutePath } from '../session/paths.ts';
import { readBytes } from '../session/read-text.ts';
import { type FileKind, STOCK_FILE } from './columns.ts';

export interface SourceFile {
  /** Name for messages. */
  readonly name: string;
  /** Absolute; `-` for stdin. */
  readonly path: string;
  readonly text: string;
  /** SHA-256. */
  readonly hash: string;
}

/** @param file `-` for stdin @throws {Failure} `file`, `usage` */
export async function readSource(context: CommandContext, file: string, kind: FileKind): Promise<SourceFile> {
  const [name, path] = file === '-' ? ['stdin', file] : [file, absolutePath(context, file)];
  const bytes = await readBytes(context, path);
  const text = decodeText(bytes, name, kind);
  if (text.trim() !== '') return { name, path, text, hash: hash('sha256', bytes) };
  throw usageFailure(
    `${name} is empty; ${kind.unchanged}.`,
    `Its first line must be a header such as ${kind.example}.`,
  );
}

/** The first bytes of files: .xlsx and .ods are ZIP files, .xls a compound file. */
const [ZIP, COMPOUND, UTF16_LE, UTF16_BE] = ['PK\x03\x04', '\xd0\xcf\x11\xe0', '\xff\xfe', '\xfe\xff'] as const;

/**
 * Decodes UTF-8, UTF-16 with a byte order mark, or else Windows-1252, which has all printable characters of Latin-1.
 * @throws {Failure} `usage`: it is not text; `name` is its name in the message
 */
export function decodeText(bytes: Uint8Array, name: string, kind: FileKind = STOCK_FILE): string {
  const head = Buffer.from(bytes.subarray(0, 4)).toString('latin1');
  const refused = (problem: string, hint: string): Failure =>
    usageFailure(`${name} ${problem}; ${kind.unchanged}.`, hint);
  if (head === COMPOUND || head === ZIP) throw refused('is a spreadsheet', 'Save it as CSV first.');
  const utf16 = head.startsWith(UTF16_LE) ? 'utf-16le' : head.startsWith(UTF16_BE) ? 'utf-16be' : undefined;
  // Older spreadsheets write one byte per character. Digits and delimiters are the same in all such encodings.
  const text = utf16 === undefined ? (decoded(bytes, 'utf-8') ?? fromWindows1252(bytes)) : decoded(bytes, utf16);
  if (text === undefined || text.includes('\0')) throw refused('is not text in UTF-8', 'Save it as "CSV UTF-8" first.');
  return text;
}

function decoded(bytes: Uint8Array, encoding: string): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The characters of the bytes 80 to 9F. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/** Returns undefined for damaged UTF-8. Not by TextDecoder: that of Node 22 decodes these bytes as Latin-1. */
function fromWindows1252(bytes: Uint8Array): string | undefined {
  const asUtf8 = new TextDecoder().decode(bytes);
  const count = (characters: RegExp): number => asUtf8.match(characters)?.length ?? 0;
  if (count(/[^\0-\x7f\ufffd]/g) >= count(/\ufffd/g)) return undefined;
  const text = Buffer.from(bytes).toString('latin1');
  return text.replace(/[\x80-\x9f]/g, (character) => WINDOWS_1252[character.charCodeAt(0) - 0x80]!);
}
