/** Checks changes of a catalog: all of them are made, or none. */
import { visible } from '../view/sanitise.ts';
import { barcodeProblem, barcodeWithDigitsOf, labelOf, parseBarcode } from './barcode.ts';
import type { Catalog, EntryChange, Owner } from './local-catalog.ts';

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

/** Turns rows into changes of the catalog, and finds what is wrong with each bad row. */
export function checkRows(
  rows: readonly CatalogRow[],
  catalog: Catalog | undefined,
  { force = false }: CheckOptions = {},
): Changes {
  const pets = new Map<bigint, { name: string | undefined; barcodes: Set<string> | undefined }>();
  const problems: Problem[] = [];
  const known = new Known(rows, catalog, force);
  for (const { line, petId, name, barcodes } of rows) {
    const pet = pets.get(petId) ?? { name: undefined, barcodes: undefined };
    pets.set(petId, pet);
    const reasons = [known.idProblem(petId)];
    if (name !== undefined) {
      reasons.push(nameProblem(name, petId, pet.name));
      pet.name = name === '' ? (pet.name ?? '') : name;
    }
    if (barcodes !== undefined) pet.barcodes ??= new Set();
    for (const text of barcodes ?? []) {
      const barcode = parseBarcode(text);
      reasons.push(barcode === undefined ? barcodeProblem(text) : known.add(barcode, petId, line));
      if (barcode !== undefined) pet.barcodes?.add(barcode);
    }
    const found = new Set(reasons.filter((reason) => reason !== undefined));
    if (found.size > 0) problems.push({ line, reason: [...found].join('; ') });
  }
  return { pets, problems };
}

/** The ids and barcodes that the catalog will have: those of the rows, and those that they do not replace. */
class Known {
  private readonly ids: ReadonlySet<bigint>;
  private readonly owners: Map<string, Partial<Owner> & { readonly petId: bigint; readonly line?: number }>;
  private readonly force: boolean;

  constructor(rows: readonly CatalogRow[], catalog: Catalog | undefined, force: boolean) {
    const replaced = new Set(rows.flatMap(({ petId, barcodes }) => (barcodes === undefined ? [] : [petId])));
    this.ids = new Set([...(catalog?.entries.keys() ?? []), ...rows.map(({ petId }) => petId)]);
    this.owners = new Map([...(catalog?.owners ?? [])].filter(([, { petId }]) => !replaced.has(petId)));
    this.force = force;
  }

  /** Returns why a pet cannot have the barcode; without a reason, notes that it has. */
  add(barcode: string, petId: bigint, line: number): string | undefined {
    const owner = this.owners.get(barcode);
    if (owner !== undefined && owner.petId !== petId) {
      const where = owner.line === undefined ? '' : ` (line ${owner.line})`;
      return `barcode ${labelOf(barcode)} belongs to pet ${owner.petId}${where}`;
    }
    const id = BigInt(barcode);
    if (!this.force && id !== petId && this.ids.has(id)) {
      return `barcode ${labelOf(barcode)} is also the id of pet ${id}; to have both, add --force`;
    }
    this.owners.set(barcode, { petId, line });
    return undefined;
  }

  /** Returns why a pet cannot be in the catalog: a barcode of another one has the digits of its id. */
  idProblem(petId: bigint): string | undefined {
    const owner = this.owners.get(barcodeWithDigitsOf(petId));
    // Of a barcode in the rows, the row is named.
    if (this.force || owner === undefined || owner.petId === petId || owner.line !== undefined) return undefined;
    if (owner.isForced === true) return undefined;
    return `petId ${petId} is also a barcode of pet ${owner.petId}; to have both, add --force`;
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
