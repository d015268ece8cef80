/** The rules that every write keeps, whatever command makes it. */
import { Failure } from '../errors.ts';
import { isProduction } from './environments.ts';
import type { CommandContext } from './globals.ts';

/**
 * Without a terminal, production must be named by flag or variable, or confirmed by --yes: a default is not enough.
 * @throws {Failure} `production-not-confirmed`
 */
export async function assertWriteAllowed(context: CommandContext, command: string): Promise<void> {
  const { value, source } = (await context.settings()).environment;
  const saidNow = source.from === 'flag' || source.from === 'variable';
  if (!isProduction(value) || saidNow || context.globals.yes) return;
  if (context.stdin.isTTY && context.globals.input) return;
  throw new Failure('production-not-confirmed', { environment: value, command });
}

/** True when a prompt can be answered: questions go to stderr, answers come from stdin. */
export function canAsk({ globals, stdin, stderr }: Pick<CommandContext, 'globals' | 'stdin' | 'stderr'>): boolean {
  return globals.input && stdin.isTTY && stderr.isTTY;
}

/** @throws {Failure} `invalid-value`: `adjust` is what most people mean by a negative quantity */
export function allowQuantity(quantity: bigint, options: { petId: bigint; allowNegative: boolean }): void {
  if (quantity >= 0n || options.allowNegative) return;
  throw new Failure('invalid-value', {
    name: 'quantity',
    value: quantity.toString(),
    expected: 'zero or more',
    hint:
      `set stores the count itself; to take away from it: petstore inventory adjust ${options.petId} ${quantity}. ` +
      'If a count below zero is really meant, add --allow-negative.',
  });
}
