/** Shared by the sandbox commands: finds the sandbox's file, and reads pets from a file. */
import type { InventoryItem } from '../api/item.ts';
import { parseJsonRows } from '../api/json-rows.ts';
import { INT64_MAX, INT64_MIN } from '../api/values.ts';
import { Failure, usageFailure } from '../errors.ts';
import type { SandboxFile } from '../sandbox/sandbox-store.ts';
import { sandboxFile } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import { readText } from '../session/read-text.ts';

/** Returns the given file, or that of `--env sandbox`, which may be put aside. @throws {Failure} `usage`, `no-home` */
export function dataFile(context: CommandContext, data: string | undefined): SandboxFile {
  const { env } = context.globals;
  if (env !== undefined && env !== 'sandbox') {
    throw usageFailure(`The sandbox is an environment of its own; --env ${env} cannot be used with it.`);
  }
  return data === undefined ? { file: sandboxFile(context), notices: context.notices } : { file: data };
}

/**
 * Reads pets from a JSON array as `inventory list --json` prints it, or one object a line.
 * @throws {Failure} `file`, `invalid-value`
 */
export async function readPets(context: CommandContext, path: string): Promise<InventoryItem[]> {
  const { InventoryItemSchema, membersOf } = await import('../api/schemas.ts');
  const rows = parseJsonRows(await readText(context, path));
  const refused = (problem: string): Failure => {
    const expected = 'a file of pets: a JSON array, or one object a line, each with petId, quantity and status';
    return new Failure('invalid-value', { name: 'the file', value: path, expected, hint: `It ${problem}.` });
  };
  const seen = new Map<bigint, string>();
  return rows.map((row) => {
    const where = `line ${row.line}`;
    if ('error' in row) throw refused(`is not JSON in ${where}: ${row.error.message}`);
    const { error, data } = InventoryItemSchema.safeParse(membersOf(row.value));
    if (error !== undefined) {
      throw refused(`has no pet in ${where}: ${String(error.issues[0]?.path[0] ?? 'petId')} is missing or wrong`);
    }
    const { petId, quantity } = data;
    // The store's column holds no more.
    if (quantity > INT64_MAX || quantity < INT64_MIN) throw refused(`has a quantity in ${where} that is too large`);
    const before = seen.get(petId);
    if (before !== undefined) throw refused(`has pet ${petId} twice: ${before} and ${where}`);
    seen.set(petId, where);
    return data;
  });
}
