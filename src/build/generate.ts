/** Writes every generated file; with --check, fails if one is out of date. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { buildTree } from '../commands/command-tree.ts';
import { commands, exitCodes, replacePart } from './docs.ts';
import { ROOT } from './package.ts';
import { schemas } from './output-schemas.ts';

/** Maps paths below the root to functions from the old text to the new one. */
const FILES: Readonly<Record<string, (text: string, path: string) => string | Promise<string>>> = {
  'schemas.json': schemas,
  'docs/commands.md': async (text, path) => formatted(path, replacePart(text, 'commands', commands(await buildTree()))),
  'docs/exit-codes.md': (text, path) => formatted(path, replacePart(text, 'exit-codes', exitCodes())),
};

const stale: string[] = [];
for (const [name, generate] of Object.entries(FILES)) {
  const path = join(ROOT, name);
  const before = readFileSync(path, 'utf8');
  const text = await generate(before, path);
  if (text === before) continue;
  if (process.argv.includes('--check')) stale.push(name);
  else writeFileSync(path, text);
}
if (stale.length > 0) {
  console.error(`Stale: ${stale.join(', ')}. Run: npm run generate`);
  process.exitCode = 1;
}

async function formatted(path: string, text: string): Promise<string> {
  return format(text, { ...(await resolveConfig(path)), filepath: path });
}
