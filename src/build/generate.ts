/** Writes every generated file; with --check, fails where one is not what it would write. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { openapiDocument } from '../api/openapi.ts';
import { SHIMS } from '../cli/completion/shims.ts';
import { ROOT } from './package.ts';
import { generateCommands, generateExitCodes } from './docs.ts';

/** Path below the root -> its text. */
const FILES: Readonly<Record<string, (path: string) => string | Promise<string>>> = {
  'src/api/openapi.json': () => `${JSON.stringify(openapiDocument(), null, 2)}\n`,
  ...Object.fromEntries(Object.values(SHIMS).map(({ file, script }) => [`completions/${file}`, () => script])),
  'docs/commands.md': async (path) => formatted(path, await generateCommands(path)),
  'docs/exit-codes.md': (path) => formatted(path, generateExitCodes(path)),
};

const check = process.argv.includes('--check');
const stale: string[] = [];
for (const [name, generate] of Object.entries(FILES)) {
  const path = join(ROOT, name);
  const text = await generate(path);
  if (existsSync(path) && text === readFileSync(path, 'utf8')) continue;
  if (check) stale.push(name);
  else {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
if (stale.length > 0) {
  console.error(`Stale: ${stale.join(', ')}. Run: npm run generate`);
  process.exitCode = 1;
}

async function formatted(path: string, text: string): Promise<string> {
  return format(text, { ...(await resolveConfig(path)), filepath: path });
}
