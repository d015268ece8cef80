/** Pets from a file: a JSON array as `inventory list --json` prints it, or one object a line. */
import type { InventoryItem } from '../api/item.ts';
import type { JsonValue } from '../api/json.ts';
import { parseJsonRows } from '../api/json-rows.ts';
import { InventoryItemSchema } from '../api/schemas.ts';

/** What is wrong with the file, and where. */
export class SeedError extends Error {}

/** Largest integer that the store's column holds. */
const MOST = 2n ** 63n - 1n;

/** @throws {SeedError} */
export function parsePets(text: string): InventoryItem[] {
  const { isArray, rows } = parseJsonRows(text);
  const seen = new Map<bigint, string>();
  return rows.map((row) => {
    const where = `${isArray ? 'entry' : 'line'} ${row.at}`;
    if ('error' in row) throw new SeedError(`is not JSON ${isArray ? 'as a whole' : where}: ${row.error.message}`);
    const item = toItem(row.value, where);
    const before = seen.get(item.petId);
    if (before !== undefined) throw new SeedError(`has pet ${item.petId} twice: ${before} and ${where}`);
    seen.set(item.petId, where);
    return item;
  });
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
