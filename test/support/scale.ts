/**
 * Scales the long tests by PETSTORE_TEST_SCALE, 1 (all of it) by default. CI runs all of it once, and a part on each
 * further Node.
 */
export function scaled(count: number): number {
  const share = Number(process.env.PETSTORE_TEST_SCALE ?? '1');
  return Math.max(1, Math.ceil(count * share));
}
