/** Builds the sandbox's page as one document from src/sandbox/page, with a policy that allows only its own code. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const FOLDER = fileURLToPath(new URL('../sandbox/page/', import.meta.url));

/** Returns the page with its Content-Security-Policy. */
export async function buildPage(): Promise<{ readonly policy: string; readonly html: string }> {
  const [style, script] = await Promise.all([bundle('style.css'), bundle('sandbox-page.ts')]);
  const html = readFileSync(`${FOLDER}index.html`, 'utf8')
    .replace(/^\s+/gm, '')
    .replace('<style></style>', () => `<style>${style}</style>`)
    .replace('<script></script>', () => `<script>${script}</script>`);
  const policy = [
    "default-src 'none'",
    // Hash sources (Content Security Policy 3, 2.3.1).
    `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
    `script-src 'sha256-${hash('sha256', script, 'base64')}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { policy, html };
}

async function bundle(file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [`${FOLDER}${file}`],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    legalComments: 'none',
  });
  return outputFiles[0]?.text.trim() ?? '';
}
