/** Where the project is, and what its package.json and those of its packages say. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

export function readPackage(folder: string): Package {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Package;
}
