/**
 * Values from the service -> checked resources. A contract violation names the field and what was found.
 * Loads zod: the list reader takes well-formed rows without it (read-list.ts).
 */
import { type JsonObject, type JsonValue, MOST_DIGITS, RawNumber, stringifyJson } from './json.ts';
import type { InventoryItem } from './item.ts';
import { ErrorSchema, ReceivedItemSchema } from './schemas.ts';
import { isOneOf, ITEM_FIELDS } from './values.ts';

/** The value breaks the contract; `problem` says which field and how. */
export class ContractViolation extends Error {
  override name = 'ContractViolation';
}

/** @throws {ContractViolation} */
export function readItem(value: JsonValue): InventoryItem {
  if (!(value instanceof Map)) throw new ContractViolation(`is ${describe(value)}, not an object`);
  const result = ReceivedItemSchema.safeParse(pick(value, ITEM_FIELDS));
  if (!result.success) throw new ContractViolation(explain(value, result.error.issues));
  const extra = new Map([...value].filter(([key]) => !isOneOf(ITEM_FIELDS, key)));
  return extra.size === 0 ? result.data : { ...result.data, extra };
}

/** The Error body (part 2), or undefined for any other value. */
export function readErrorBody(value: JsonValue): { code: string; message: string; status: number } | undefined {
  if (!(value instanceof Map)) return undefined;
  const result = ErrorSchema.safeParse(pick(value, ['code', 'message', 'status']));
  return result.success ? result.data : undefined;
}

function pick(members: JsonObject, fields: readonly string[]): Record<string, JsonValue | undefined> {
  return Object.fromEntries(fields.map((field) => [field, members.get(field)]));
}

function explain(members: JsonObject, issues: readonly { path: PropertyKey[]; message: string }[]): string {
  const issue = issues[0];
  const field = String(issue?.path[0] ?? 'the item');
  const value = members.get(field);
  if (value === undefined) return `lacks the field ${field}`;
  if (value instanceof RawNumber && value.source.length > MOST_DIGITS) {
    return `has a number of ${value.source.length} characters as its ${field}`;
  }
  const wanted = field === 'status' ? 'a string' : field === 'petId' ? 'an int64' : 'an integer';
  return `has ${describe(value)} as its ${field}, which is not ${wanted}`;
}

/** A value in words, short enough for a message. */
function describe(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Map) return 'an object';
  const text = stringifyJson(value);
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  if (typeof value === 'string') return `the string ${shown}`;
  return typeof value === 'boolean'
    ? shown
    : `the number ${value instanceof RawNumber ? value.source.slice(0, 40) : shown}`;
}
