/** Parses one scan of a stocktake, and finds the pet that it names. */
import type { Catalog } from '../catalog/catalog.ts';
import { parseInt64, parseInteger } from '../api/values.ts';

/** What a scan may name. */
export interface Pets {
  readonly stock: { has(petId: bigint): boolean };
  /** Undefined where this machine has none for the service. */
  readonly catalog: Catalog | undefined;
}

export interface ScannedCode {
  /** Digits: an id or a barcode, perhaps padded with zeros. */
  readonly code: string;
  readonly quantity: bigint;
}

/** Parses `7`, `7 12`, `7,12` and `3x 7`; the prefix may be before the code. */
export function parseScan(text: string, prefix = ''): ScannedCode | undefined {
  const [, times, rest = ''] =
    text.startsWith(prefix) && prefix !== '' ? [] : (/^(\d+) *[x\u00d7] *(.+)$/i.exec(text) ?? []);
  const scanned = times === undefined ? text : rest;
  const words = (scanned.startsWith(prefix) ? scanned.slice(prefix.length) : scanned).trim().split(/[\s,;]+/);
  const [code = '', quantityText = times ?? '1'] = words;
  const quantity = parseInteger(quantityText);
  const isCode = /^-?\d+$/.test(code) && words.length <= (times === undefined ? 2 : 1);
  return isCode && quantity !== undefined && quantity >= 0n ? { code, quantity } : undefined;
}

/** Returns the pet with this id or barcode, or why there is none. */
export function findScanned(code: string, { stock, catalog }: Pets): bigint | string {
  const id = parseInt64(code.replace(/^0+(?=\d)/, ''));
  const owner = catalog?.ownerOf(code);
  if (owner === undefined) {
    if (id !== undefined && stock.has(id)) return id;
    return catalog === undefined ? `pet ${id ?? code} does not exist` : `no pet has the id or barcode ${code}`;
  }
  const { petId, isForced } = owner;
  if (id === undefined || id === petId || isForced || !stock.has(id)) return petId;
  return (
    `${code} is the id of pet ${id} and a barcode of pet ${petId} ` +
    `(to take it for pet ${petId}, store the barcode with catalog set --force)`
  );
}
