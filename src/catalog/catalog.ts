/** The catalog of an address: names and barcodes of its pets, which the service does not have. */
import { parseBarcode } from './barcode.ts';

export interface Entry {
  readonly petId: bigint;
  /** Empty for a pet with barcodes only. */
  readonly name: string;
  /** With 14 digits each, in ascending order. */
  readonly barcodes: readonly string[];
}

export interface Owner {
  readonly petId: bigint;
  /** Stored with --force: in a stocktake the barcode comes before a pet's id with the same digits. */
  readonly isForced: boolean;
}

export class Catalog {
  /** By id, in ascending order. */
  readonly entries: ReadonlyMap<bigint, Entry>;
  /** By barcode. */
  readonly owners: ReadonlyMap<string, Owner>;

  constructor(names: Iterable<readonly [petId: bigint, name: string]>, owners: ReadonlyMap<string, Owner>) {
    const barcodes = Map.groupBy(owners, ([, { petId }]) => petId);
    this.entries = new Map(
      [...names].map(([petId, name]) => {
        const own = (barcodes.get(petId) ?? []).map(([barcode]) => barcode);
        return [petId, { petId, name, barcodes: own.toSorted() }];
      }),
    );
    this.owners = owners;
  }

  /** Returns the pet's name; empty without one. */
  nameOf(petId: bigint): string {
    return this.entries.get(petId)?.name ?? '';
  }

  /** Returns the pet with this barcode, in any spelling. */
  ownerOf(text: string): Owner | undefined {
    const barcode = parseBarcode(text);
    return barcode === undefined ? undefined : this.owners.get(barcode);
  }

  /** Returns the pets with exactly this name; without one, those whose name contains the text in any case. */
  named(text: string): readonly Entry[] {
    const wanted = folded(text);
    const all = [...this.entries.values()];
    const tests: readonly ((name: string) => boolean)[] = [(name) => name === text, (name) => folded(name) === wanted];
    for (const test of tests) {
      const found = all.filter(({ name }) => test(name));
      if (found.length > 0) return found;
    }
    return this.containing(text);
  }

  /** Returns the pets whose name contains the text in any case. */
  containing(text: string): readonly Entry[] {
    const wanted = folded(text);
    return [...this.entries.values()].filter(({ name }) => folded(name).includes(wanted));
  }
}

/** Returns `pet 7`, or `pet 7 (Goldfish)`. */
export function petLabel(petId: bigint, catalog: Pick<Catalog, 'nameOf'> | undefined): string {
  const name = catalog?.nameOf(petId) ?? '';
  return name === '' ? `pet ${petId}` : `pet ${petId} (${name})`;
}

function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
