/** Finds the project's root, and reads package.json files and CHANGELOG.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

type Package = Readonly<Record<'name' | 'version', string> & Partial<Record<'description' | 'license', string>>>;

export function readPackage(folder: string): Package {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Package;
}

/** Returns the text below the heading `## Unreleased` or `## 1.2.3 - 2026-11-22` of the changelog. */
export function sectionOf(changelog: string, name: string): string | undefined {
  const parts = changelog.split(/^(?=## )/m);
  const part = parts.find((each) => each.startsWith(`## ${name}\n`) || each.startsWith(`## ${name} - `));
  return part?.slice(part.indexOf('\n')).trim();
}
