/**
 * The service's resources as zod schemas (service spec, part 2): the one source for the client's checks and the OpenAPI
 * document. Loads zod: the list reader takes well-formed rows without it.
 * They check values read by json.ts, where an integer is a number or, beyond 15 digits, a bigint.
 */
import * as z from 'zod/mini';
import { Failure } from '../errors.ts';
import type { InventoryItem } from './item.ts';
import { type JsonObject, type JsonValue, stringifyJson } from './json.ts';
import { INT64_MAX, INT64_MIN, isOneOf, ITEM_FIELDS, PET_STATUSES, shortened } from './values.ts';

const exactInteger = z.pipe(
  z.union([z.int(), z.bigint()]),
  z.transform((value: number | bigint) => BigInt(value)),
);

/** int64, as a bigint. */
export const Int64 = exactInteger.check(z.refine((value) => value >= INT64_MIN && value <= INT64_MAX));

/** An integer whose range the spec does not give, as a bigint. */
export const Integer = exactInteger.check(z.refine(() => true));

export const PetStatusSchema = z.enum(PET_STATUSES);

export const InventoryItemSchema = z.object({
  petId: Int64,
  quantity: Integer,
  status: PetStatusSchema,
});

/** What the client accepts: it shows a status that the contract does not list. */
const ReceivedItemSchema = z.extend(InventoryItemSchema, { status: z.string() });

export const InventoryUpdateSchema = z.object({ quantity: Integer });

export const ErrorSchema = z.object({
  code: z.string(),
  message: z.string(),
  status: z.int(),
});

/** A gateway's 412 contains the pet's quantity too. */
const ReceivedErrorSchema = z.extend(ErrorSchema, { quantity: z.catch(z.optional(Integer), undefined) });

/** Returns the first field that breaks a schema; undefined if none does. Other values than objects lack every field. */
export function brokenField(schema: z.ZodMiniObject, value: JsonValue): string | undefined {
  const { error } = schema.safeParse(membersOf(value));
  return error && String(error.issues[0]?.path[0]);
}

/** @param what the value's name in a sentence @throws {Failure} `contract`: which field breaks it, and how */
export function readItem(value: JsonValue, what: string): InventoryItem {
  const broken = (problem: string): Failure => new Failure('contract', { what, problem });
  if (!(value instanceof Map)) throw broken(`is ${shownJson(value)}, not an object`);
  const { data } = ReceivedItemSchema.safeParse(membersOf(value));
  if (data === undefined) throw broken(explain(value));
  const extra = new Map([...value].filter(([key]) => !isOneOf(ITEM_FIELDS, key)));
  return extra.size === 0 ? data : { ...data, extra };
}

/** Returns the Error body (part 2); undefined for any other value. */
export function readErrorBody(value: JsonValue): z.output<typeof ReceivedErrorSchema> | undefined {
  return ReceivedErrorSchema.safeParse(membersOf(value)).data;
}

/** Returns the members of an object; none of any other value. */
export function membersOf(value: JsonValue): Record<string, JsonValue> {
  return value instanceof Map ? Object.fromEntries(value) : {};
}

function explain(members: JsonObject): string {
  const field = brokenField(ReceivedItemSchema, members) ?? '';
  const value = members.get(field);
  if (value === undefined) return `lacks the field ${field}`;
  const wanted = field === 'status' ? 'a string' : field === 'petId' ? 'an int64' : 'an integer';
  return `has ${shownJson(value)} as its ${field}, which is not ${wanted}`;
}

/** Returns the value as JSON, shortened. */
export function shownJson(value: JsonValue, most = 40): string {
  return shortened(stringifyJson(value), most);
}
