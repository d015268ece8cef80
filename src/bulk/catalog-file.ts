/** `catalog import`: reads the names and barcodes of a file. Several rows of a pet add their barcodes together. */
import type { CatalogRow } from '../catalog/changes.ts';
import type { CommandContext } from '../session/globals.ts';
import { absolutePath } from '../session/paths.ts';
import { readBytes } from '../session/read-text.ts';
import { Failure } from '../errors.ts';
import {
  CATALOG_FILE,
  type ColumnName,
  type Columns,
  findColumns,
  headerProblem,
  type Mapping,
  parseNumber,
} from './columns.ts';
import { CsvError, type CsvRecord } from './csv.ts';
import { decodeText } from './decode.ts';
import { type Problem, readTable, widthOf } from './rows.ts';

export interface CatalogFile {
  readonly rows: readonly CatalogRow[];
  readonly problems: readonly Problem[];
  /** Columns that are not used. */
  readonly ignored: readonly string[];
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

/** Parses any CSV; what is wrong with it is in `problems`. */
export function parseCatalog(text: string, mappings: readonly Mapping[] = []): CatalogFile {
  const refused = (line: number, reason: string): CatalogFile => ({
    rows: [],
    problems: [{ line, reason }],
    ignored: [],
  });
  try {
    const records = readTable(text.replace(/^\ufeff/, ''), mappings, CATALOG_FILE);
    const header = records.next().value;
    if (header === undefined) return refused(1, 'the file has no rows');
    const columns = findColumns(header.cells, mappings, CATALOG_FILE);
    const problem = headerProblem(header.cells, columns, mappings, CATALOG_FILE);
    if (problem !== undefined) return refused(header.line, problem);
    const parsed = [...records].map((record) => parseRow(record, columns, widthOf(header.cells)));
    if (parsed.length === 0) return refused(header.line, 'the file has no rows');
    return {
      rows: parsed.filter((row) => 'petId' in row),
      problems: parsed.filter((row) => 'reason' in row),
      ignored: columns.ignored,
    };
  } catch (error) {
    if (error instanceof CsvError) return refused(error.line, error.message);
    throw error;
  }
}

function parseRow({ line, cells }: CsvRecord, { found }: Columns, width: number): CatalogRow | Problem {
  const own = widthOf(cells);
  if (own > width) {
    return { line, reason: `has ${own} cells, the header has ${width}: put a text with a delimiter in quotes` };
  }
  const cell = (column: ColumnName): string => cells[found.get(column) ?? -1]?.trim() ?? '';
  if (cell('petId') === '') return { line, reason: 'petId is missing' };
  const petId = parseNumber('petId', cell('petId'));
  if (typeof petId === 'string') return { line, reason: petId };
  return {
    line,
    petId,
    // As our own CSV has it: a name that a spreadsheet would run as a formula follows a quote.
    name: found.has('name') ? cell('name').replace(/^'(?=[=+\-@])/, '') : undefined,
    barcodes: found.has('barcode')
      ? cell('barcode')
          .split(/[\s;|]+/)
          .filter(Boolean)
      : undefined,
  };
}
