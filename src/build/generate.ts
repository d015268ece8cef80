/** Writes every generated file; with --check, fails where one is not what it would write. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { generateOpenapi } from './openapi.ts';
import { ROOT } from './package.ts';
import { generateCommands, generateExitCodes } from './docs.ts';

/** Path below the root -> its text. */
const FILES: Readonly<Record<string, (path: string) => Promise<string>>> = {
  'src/api/openapi.json': generateOpenapi,
  'docs/commands.md': async (path) => formatted(path, await generateCommands(path)),
  'docs/exit-codes.md': async (path) => formatted(path, await generateExitCodes(path)),
};

const check = process.argv.includes('--check');
const stale: string[] = [];
for (const [name, generate] of Object.entries(FILES)) {
  const path = join(ROOT, name);
  const text = await generate(path);
  if (text === read(path)) continue;
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

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
