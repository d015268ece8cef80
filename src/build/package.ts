/** Finds the project's root, runs programs there, and reads package.json files and CHANGELOG.md. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a program in the project's root; of what it prints, only its errors are shown. */
export function run(program: string, ...args: readonly string[]): void {
  execFileSync(program, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
}

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
