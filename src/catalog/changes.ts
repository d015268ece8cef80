/** Checks changes of a catalog: all of them are made, or none. */
import { visible } from '../view/sanitise.ts';
import { barcodeProblem, barcodeWithDigitsOf, labelOf, parseBarcode } from './barcode.ts';
import type { Catalog, Owner, StockLevel } from './local-catalog.ts';
import type { EntryChange } from './store.ts';

const MOST_CHARACTERS = 200;

/** A row of a file, or of `catalog set`. Several rows of a pet add their barcodes together. */
export interface CatalogRow {
  /** In the file. */
  readonly line: number;
  readonly petId: bigint;
  /** Undefined leaves the name as it is; empty removes it. */
  readonly name?: string | undefined;
  /** As they were written. Undefined leaves the pet's barcodes as they are. */
  readonly barcodes?: readonly string[] | undefined;
  /** Undefined leaves it as it is; null removes it. */
  readonly min?: bigint | null | undefined;
  readonly target?: bigint | null | undefined;
}

export interface Changes {
  readonly pets: ReadonlyMap<bigint, EntryChange>;
  readonly problems: readonly Problem[];
}

interface Problem {
  readonly line: number;
  readonly reason: string;
}

interface CheckOptions {
  /** Allows a barcode with the digits of another pet's id. */
  readonly force?: boolean | undefined;
}

/** A change while the rows of its pet are read. */
interface Draft extends EntryChange {
  name?: string | undefined;
  barcodes?: Set<string>;
  min?: bigint | null | undefined;
  target?: bigint | null | undefined;
}

/** Turns rows into changes of the catalog, and finds what is wrong with each bad row. */
export function checkRows(
  rows: readonly CatalogRow[],
  catalog: Pick<Catalog, 'has' | 'levelOf' | 'ownerOf'> | undefined,
  { force = false }: CheckOptions = {},
): Changes {
  const pets = new Map<bigint, Draft>();
  const problems: Problem[] = [];
  const known = new Known(rows, catalog, force);
  for (const row of rows) {
    const { line, petId, name, barcodes } = row;
    const pet = pets.get(petId) ?? {};
    pets.set(petId, pet);
    const reasons = [known.idProblem(petId), levelProblem(row, pet, catalog?.levelOf(petId))];
    if (name !== undefined) {
      reasons.push(nameProblem(name, petId, pet.name));
      pet.name = name === '' ? (pet.name ?? '') : name;
    }
    if (barcodes !== undefined) pet.barcodes ??= new Set();
    for (const text of barcodes ?? []) {
      const barcode = parseBarcode(text);
      reasons.push(barcode === undefined ? barcodeProblem(text) : known.add(text, barcode, petId, line));
      if (barcode !== undefined) pet.barcodes?.add(barcode);
    }
    const found = new Set(reasons.filter((reason) => reason !== undefined));
    if (found.size > 0) problems.push({ line, reason: [...found].join('; ') });
  }
  return { pets, problems };
}

/** Adds a row's minimum and target to the pet's. Returns why it cannot have them. @param before what the catalog has */
function levelProblem(row: CatalogRow, pet: Draft, before: StockLevel = {}): string | undefined {
  for (const column of ['min', 'target'] as const) {
    const [value, earlier] = [row[column], pet[column]];
    if (value === undefined) continue;
    if (value !== null && value < 0n) return `${column} is ${value}, below zero`;
    if (value !== null && typeof earlier === 'bigint' && earlier !== value) {
      return `pet ${row.petId} has a ${column} of ${earlier} on an earlier line, and of ${value} here`;
    }
    pet[column] = value ?? earlier ?? null;
  }
  const { min = before.min, target = before.target } = pet;
  const isWrong = typeof min === 'bigint' && typeof target === 'bigint' && target < min;
  return isWrong ? `target is ${target}, below min, which is ${min}` : undefined;
}

/** The ids and barcodes that the catalog will have: those of the rows, and those that they do not replace. */
class Known {
  private readonly catalog: Pick<Catalog, 'has' | 'ownerOf'> | undefined;
  private readonly ids: ReadonlySet<bigint>;
  /** The pets whose barcodes the rows replace. */
  private readonly replaced: ReadonlySet<bigint>;
  private readonly added = new Map<string, { readonly petId: bigint; readonly line: number }>();
  private readonly force: boolean;

  constructor(rows: readonly CatalogRow[], catalog: Known['catalog'], force: boolean) {
    this.catalog = catalog;
    this.ids = new Set(rows.map(({ petId }) => petId));
    this.replaced = new Set(rows.flatMap(({ petId, barcodes }) => (barcodes === undefined ? [] : [petId])));
    this.force = force;
  }

  /** Returns why a pet cannot have the barcode; without a reason, notes that it has. */
  add(code: string, barcode: string, petId: bigint, line: number): string | undefined {
    const row = this.added.get(barcode);
    const owner = row ?? this.stored(code);
    if (owner !== undefined && owner.petId !== petId) {
      const where = row === undefined ? '' : ` (line ${row.line})`;
      return `barcode ${labelOf(barcode)} belongs to pet ${owner.petId}${where}`;
    }
    const id = BigInt(barcode);
    if (!this.force && id !== petId && (this.ids.has(id) || this.catalog?.has(id) === true)) {
      return `barcode ${labelOf(barcode)} is also the id of pet ${id}; to have both, add --force`;
    }
    this.added.set(barcode, { petId, line });
    return undefined;
  }

  /** Returns why a pet cannot be in the catalog: a barcode of another one has the digits of its id. */
  idProblem(petId: bigint): string | undefined {
    const code = barcodeWithDigitsOf(petId);
    // Of a barcode in the rows, the row is named.
    const owner = this.force || this.added.has(code) ? undefined : this.stored(code);
    if (owner === undefined || owner.petId === petId || owner.isForced) return undefined;
    return `petId ${petId} is also a barcode of pet ${owner.petId}; to have both, add --force`;
  }

  private stored(code: string): Owner | undefined {
    const owner = this.catalog?.ownerOf(code);
    return owner === undefined || owner.isProvided || this.replaced.has(owner.petId) ? undefined : owner;
  }
}

/** Returns why a text cannot be the pet's name, if it cannot. `before`: its name on an earlier line. */
function nameProblem(name: string, petId: bigint, before: string | undefined = ''): string | undefined {
  if (name.length > MOST_CHARACTERS)
    return `name has ${name.length} characters; at most ${MOST_CHARACTERS} are allowed`;
  if (visible(name) !== name) return `name "${visible(name)}" has a character that cannot be printed`;
  if (name === '' || before === '' || before === name) return undefined;
  return `pet ${petId} has the name ${JSON.stringify(before)} on an earlier line, and ${JSON.stringify(name)} here`;
}
