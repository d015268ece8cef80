/** Reads a file of rows as text; refuses spreadsheets in their own formats. */
import { hash } from 'node:crypto';
import { Failure } from '../errors.ts';
import type { CommandContext } from '../session/globals.ts';
import { absolutePath } from '../session/paths.ts';
import { readBytes } from '../session/read-text.ts';
import { type FileKind, STOCK_FILE } from './columns.ts';

export interface SourceFile {
  /** What messages call it. */
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
  return { name, path, text: decodeText(bytes, name, kind), hash: hash('sha256', bytes) };
}

const ZIP = [0x50, 0x4b, 0x03, 0x04];
/** The first bytes of .xls, a compound file. */
const COMPOUND = [0xd0, 0xcf, 0x11, 0xe0];

/**
 * Decodes UTF-8, UTF-16 with a byte order mark, or else Latin-1.
 * @throws {Failure} `usage`: the file is empty or is not text; `name` is what the message calls it
 */
export function decodeText(bytes: Uint8Array, name: string, kind: FileKind = STOCK_FILE): string {
  const startsWith = (magic: readonly number[]): boolean => magic.every((byte, i) => bytes[i] === byte);
  const refused = (problem: string, hint: string): Failure =>
    new Failure('usage', { problem: `${name} ${problem}; ${kind.unchanged}.`, hint });
  if (startsWith(COMPOUND) || startsWith(ZIP)) throw refused(`is ${workbook(bytes)}`, 'Save it as CSV first.');
  const text = startsWith([0xff, 0xfe])
    ? fromUtf16(bytes, false)
    : startsWith([0xfe, 0xff])
      ? fromUtf16(bytes, true)
      : fromUtf8(bytes);
  if (text === undefined || text.includes('\0')) throw refused('is not text in UTF-8', 'Save it as "CSV UTF-8" first.');
  if (text.trim() === '') throw refused('is empty', `Its first line must be a header such as ${kind.example}.`);
  return text;
}

/** An OpenDocument begins with the name of its type, not compressed. */
function workbook(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  return head.includes('opendocument.spreadsheet') ? 'an OpenDocument spreadsheet' : 'an Excel workbook';
}

/** Undefined for a text that ends within a character. */
function fromUtf16(bytes: Uint8Array, isBigEndian: boolean): string | undefined {
  if (bytes.length % 2 === 1) return undefined;
  const units = Buffer.from(bytes.subarray(2));
  return (isBigEndian ? units.swap16() : units).toString('utf16le');
}

function fromUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // Older spreadsheets write one byte per character. Digits and delimiters are the same in all such encodings.
    return Buffer.from(bytes).toString('latin1');
  }
}
