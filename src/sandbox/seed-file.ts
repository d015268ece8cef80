/** Pets from a file: a JSON array as `inventory list --json` prints it, or one object a line. */
import type { InventoryItem } from '../api/item.ts';
import { JsonError, type JsonValue, parseJson } from '../api/json.ts';
import { InventoryItemSchema } from '../api/schemas.ts';

/** What is wrong with the file, and where. */
export class SeedError extends Error {}

/** Largest integer that the store's column holds. */
const MOST = 2n ** 63n - 1n;

/** @throws {SeedError} */
export function parsePets(text: string): InventoryItem[] {
  const rows = text.trimStart().startsWith('[') ? arrayOf(text) : linesOf(text);
  const seen = new Map<bigint, string>();
  return rows.map(({ where, value }) => {
    const item = toItem(value, where);
    const before = seen.get(item.petId);
    if (before !== undefined) throw new SeedError(`has pet ${item.petId} twice: ${before} and ${where}`);
    seen.set(item.petId, where);
    return item;
  });
}

interface Row {
  readonly where: string;
  readonly value: JsonValue;
}

function arrayOf(text: string): Row[] {
  const value = parse(text, 'as a whole');
  if (!Array.isArray(value)) throw new SeedError('is no array of pets');
  return value.map((each, i) => ({ where: `entry ${i + 1}`, value: each }));
}

function linesOf(text: string): Row[] {
  return text.split(/\r?\n/).flatMap((line, i) => {
    const where = `line ${i + 1}`;
    return line.trim() === '' ? [] : [{ where, value: parse(line, where) }];
  });
}

function parse(text: string, where: string): JsonValue {
  try {
    return parseJson(text);
  } catch (problem) {
    if (problem instanceof JsonError) throw new SeedError(`is not JSON ${where}: ${problem.message}`);
    throw problem;
  }
}

function toItem(value: JsonValue, where: string): InventoryItem {
  const fields = value instanceof Map ? Object.fromEntries(value) : {};
  const result = InventoryItemSchema.safeParse(fields);
  if (!result.success) {
    const field = String(result.error.issues[0]?.path[0] ?? 'petId');
    throw new SeedError(`has no pet in ${where}: ${field} is missing or wrong`);
  }
  const { quantity } = result.data;
  if (quantity > MOST || quantity < -MOST) throw new SeedError(`has a quantity in ${where} that no store holds`);
  return result.data;
}
