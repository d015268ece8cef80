/** Finds the columns of a file by their headings: `Pet ID`, `pet_id` and `PETID` are all petId. */
import { firstFew } from '../view/words.ts';
import { parseInteger, shortened } from '../api/values.ts';
import { type Parser, parserOf } from '../value-parsers.ts';

export type ColumnName =
  'petId' | 'quantity' | 'delta' | 'current' | 'name' | 'barcode' | 'min' | 'target' | 'cause' | 'note';
export type PetColumn = Extract<ColumnName, 'petId' | 'barcode' | 'name'>;

/** A kind of file: its columns, and words for messages. */
export interface FileKind {
  readonly columns: readonly ColumnName[];
  /** Columns that may name the pet, in order of preference. */
  readonly pets: readonly PetColumn[];
  /** Further columns, of which a file must have one. */
  readonly needs: readonly ColumnName[];
  /** Example of a header. */
  readonly example: string;
  /** What stays unchanged if the file is refused, for messages. */
  readonly unchanged: string;
  readonly allowsJson: boolean;
}

export const STOCK_FILE: FileKind = {
  columns: ['petId', 'barcode', 'name', 'quantity', 'delta', 'current', 'cause', 'note'],
  pets: ['petId', 'barcode', 'name'],
  needs: ['quantity', 'delta'],
  example: 'petId,quantity',
  unchanged: 'nothing was sent',
  allowsJson: true,
};

export const CATALOG_FILE: FileKind = {
  columns: ['petId', 'name', 'barcode', 'min', 'target'],
  pets: ['petId'],
  needs: ['name', 'barcode', 'min', 'target'],
  example: 'petId,name,barcode',
  unchanged: 'the catalog is unchanged',
  allowsJson: false,
};

/** The value of --map: the column that a heading of the file names. */
export interface Mapping {
  readonly heading: string;
  readonly column: ColumnName;
}

/** Returns the parser of --map for a kind of file. */
export function mappingValue(file: FileKind): Parser<Mapping> {
  return parserOf(`HEADING=COLUMN, where COLUMN is one of ${file.columns.join(', ')}`, (text) =>
    parseMapping(text, file),
  );
}

/** Parses `Article=petId`; undefined for anything else. */
export function parseMapping(text: string, { columns }: FileKind = STOCK_FILE): Mapping | undefined {
  const [, heading = '', name = ''] = /^(.*)=([^=]*)$/s.exec(text) ?? [];
  const column = findName(columns, name);
  return plain(heading) === '' || column === undefined ? undefined : { heading, column };
}

/** Returns the name that the user has typed, or that a heading is, if it is one of these. */
export function findName<Name extends string>(names: readonly Name[], text: string): Name | undefined {
  return plain(text) === '' ? undefined : names.find((name) => plain(name) === plain(text));
}

/** Ignores case, spaces, `_` and `-`. */
function plain(heading: string): string {
  return heading.replace(/[\s_-]/g, '').toLowerCase();
}

export interface Columns {
  /** Column -> its position, from 0. */
  readonly found: ReadonlyMap<ColumnName, number>;
  readonly ignored: readonly string[];
  /** Why the headings cannot be used. */
  readonly problem: string | undefined;
}

export function findColumns(
  headings: readonly string[],
  mappings: readonly Mapping[],
  kind: FileKind = STOCK_FILE,
): Columns {
  const found = new Map<ColumnName, number>();
  const ignored: string[] = [];
  let problem: string | undefined;
  for (const [at, heading] of headings.entries()) {
    const mapped = mappings.find((each) => plain(each.heading) === plain(heading));
    const column = mapped?.column ?? findName(kind.columns, heading);
    const other = column && found.get(column);
    if (column === undefined) ignored.push(heading.trim());
    else if (other === undefined) found.set(column, at);
    else problem ??= `the columns ${shown(headings[other]!)} and ${shown(heading)} are both ${column}`;
  }
  if (found.has('quantity') && found.has('delta')) {
    problem = 'there are both quantity and delta: quantity sets the stock, delta adds to it; keep one of them';
  }
  return { found, ignored: ignored.filter(Boolean), problem };
}

/** `headings`: present if only columns are missing, which --map can name. */
export interface HeaderProblem {
  readonly reason: string;
  readonly headings?: readonly string[];
}

/** Returns why a CSV header cannot be used. */
export function headerProblem(
  headings: readonly string[],
  { found, ignored, problem }: Columns,
  mappings: readonly Mapping[],
  kind: FileKind = STOCK_FILE,
): HeaderProblem | undefined {
  const names = headings.map((heading) => heading.trim()).filter((heading) => heading !== '');
  const reason = problem ?? mappingProblem(names, mappings);
  if (reason !== undefined) return { reason };
  if (found.size === 0 && names.some((name) => parseInteger(name) !== undefined)) {
    return { reason: `the first line must be a header such as ${kind.example}` };
  }
  const [needed, ...others] = kind.needs;
  const missing = [
    ...(kind.pets.some((column) => found.has(column)) ? [] : ['petId']),
    ...(kind.needs.some((column) => found.has(column)) ? [] : [`${needed} (or ${others.join(', ')})`]),
  ];
  if (missing.length === 0) return undefined;
  const options = missing.map((column) => `--map "HEADING=${column.split(' ')[0]!}"`).join(' ');
  const example = ignored.length === 0 ? '' : `; name ${missing.length === 1 ? 'one' : 'them'} with ${options}`;
  const lacking = `no column is named ${missing.join(' or ')}; the columns are ${firstFew(names.map(shown))}${example}`;
  return { reason: lacking, ...(ignored.length > 0 && { headings: names }) };
}

/** Returns what is wrong with --map: a heading that the file does not have, or one that is mapped twice. */
export function mappingProblem(headings: readonly string[], mappings: readonly Mapping[]): string | undefined {
  const names = new Set(headings.map(plain));
  const unmatched = mappings.find(({ heading }) => !names.has(plain(heading)));
  if (unmatched !== undefined) {
    return `--map names a column ${shown(unmatched.heading)}, but the columns are ${firstFew(headings.map(shown))}`;
  }
  const twice = mappings.find(({ heading }, i) =>
    mappings.slice(0, i).some((other) => plain(other.heading) === plain(heading)),
  );
  return twice && `--map names the column ${shown(twice.heading)} twice`;
}

/** Quotes a text of the file, cut to a readable length. */
export function shown(text: string): string {
  return JSON.stringify(shortened(text, 40));
}
