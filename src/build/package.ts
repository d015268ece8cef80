/** Finds the project's root, and reads package.json files. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod/mini';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const Package = z.object({
  name: z.string(),
  version: z.string(),
  description: z.optional(z.string()),
  license: z.optional(z.string()),
});

export function readPackage(folder: string): z.infer<typeof Package> {
  return z.parse(Package, JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
}
