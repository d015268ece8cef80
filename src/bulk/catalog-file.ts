/** `catalog import`: reads the names and barcodes of a file. Several rows of a pet add their barcodes together. */
import type { CatalogRow } from '../catalog/changes.ts';
import type { CommandContext } from '../session/globals.ts';
import { absolutePath } from '../session/paths.ts';
import { readBytes } from '../session/read-text.ts';
import { Failure } from '../errors.ts';
import { CATALOG_FILE, type Mapping, parsePetId } from './columns.ts';
import { decodeText } from './decode.ts';
import { type FileProblems, type Problem, readRecords } from './records.ts';

export interface CatalogFile extends FileProblems {
  readonly rows: readonly CatalogRow[];
}

/** @throws {Failure} `file`; `usage`: it is not text */
export async function readCatalogFile(
  context: CommandContext,
  file: string,
  mappings: readonly Mapping[] = [],
): Promise<CatalogFile> {
  const path = file === '-' ? file : absolutePath(context, file);
  const name = file === '-' ? 'stdin' : file;
  return parseCatalog(decodeText(await readBytes(context, path), name, CATALOG_FILE), mappings);
}

/** Returns the failure of a file with bad rows. */
export function badRows(file: string, problems: readonly Problem[]): Failure {
  const source = file === '-' ? 'stdin' : file;
  return new Failure('invalid-rows', { source, problems, unchanged: CATALOG_FILE.unchanged });
}

/** Parses any text; what is wrong with it is in `problems`. */
export function parseCatalog(text: string, mappings: readonly Mapping[] = []): CatalogFile {
  const rows: CatalogRow[] = [];
  const found = readRecords(text, { kind: CATALOG_FILE, mappings }, ({ line, has, text: textOf }) => {
    const petId = parsePetId(textOf('petId'));
    if (typeof petId === 'string') return petId;
    // As our own CSV has it: a name that a spreadsheet would run as a formula follows a quote.
    const name = has('name') ? textOf('name').replace(/^'(?=[=+\-@])/, '') : undefined;
    const barcodes = has('barcode')
      ? textOf('barcode')
          .split(/[\s;|]+/)
          .filter(Boolean)
      : undefined;
    rows.push({ line, petId, name, barcodes });
    return undefined;
  });
  return { ...found, rows };
}
