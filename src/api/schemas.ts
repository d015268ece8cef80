/**
 * The service's resources as zod schemas (service spec, part 2): the one source for the client's checks,
 * the sandbox's checks and the OpenAPI document.
 * They check values read by json.ts, where an integer is a number or, beyond 15 digits, a bigint.
 */
import * as z from 'zod/mini';
import { INT64_MAX, INT64_MIN, PET_STATUSES } from './values.ts';

const exactInteger = z.pipe(
  z.union([z.int(), z.bigint()]),
  z.transform((value: number | bigint) => BigInt(value)),
);

/** int64, as a bigint. */
export const Int64 = exactInteger.check(
  z.refine((value) => value >= INT64_MIN && value <= INT64_MAX, { error: 'is outside the range of int64' }),
);

/** An integer without a shown range, as a bigint. */
export const Integer = exactInteger.check(z.refine(() => true));

export const PetStatusSchema = z.enum(PET_STATUSES);

export const InventoryItemSchema = z.object({
  petId: Int64,
  quantity: Integer,
  status: PetStatusSchema,
});

/** What the client accepts: a status that the contract does not list is shown, not refused. */
export const ReceivedItemSchema = z.extend(InventoryItemSchema, { status: z.string() });

export const InventoryUpdateSchema = z.object({ quantity: Integer });

export const ErrorSchema = z.object({
  code: z.string(),
  message: z.string(),
  status: z.int(),
});
