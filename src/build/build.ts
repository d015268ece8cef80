/**
 * The build: bundles src/main.ts and everything it imports, including npm packages, into dist/ as CommonJS modules that
 * load each other lazily. Node starts them without its ES module loader, and the published package has no dependencies,
 * so that it installs without a network.
 */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { buildTree } from '../commands/command-tree.ts';
import { betweenFiles, entries, FILES, gettingBuiltins, madeByBuild, replace, toVendors, VENDORS } from './bundling.ts';
import { licences } from './licences.ts';
import { manPage } from './man.ts';
import { readPackage, ROOT } from './package.ts';
import { buildPage } from './page.ts';

const DIST = join(ROOT, 'dist');
const { version } = readPackage(ROOT);
const tree = await buildTree();

const { metafile, outputFiles, warnings } = await build({
  absWorkingDir: ROOT,
  entryPoints: Object.keys({ ...FILES, ...VENDORS }).map((file) => ({ in: `file:${file}`, out: file })),
  outdir: DIST,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  // The scripts in completions/, one of which has no extension.
  loader: { '.bash': 'text', '.fish': 'text', '.ps1': 'text', '': 'text' },
  target: 'node22.13',
  mainFields: ['module', 'main'],
  // Keeps names, which appear in the stack trace of a bug report.
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  // With esbuildDetection undici omits its second, experimental parser.
  define: { __VERSION__: JSON.stringify(version), esbuildDetection: 'true' },
  logLevel: 'warning',
  plugins: [entries, madeByBuild(tree, await buildPage()), betweenFiles, toVendors, replace, gettingBuiltins],
  metafile: true,
  write: false,
});
if (warnings.length > 0) throw new Error('esbuild has warned');

rmSync(DIST, { recursive: true, force: true });
mkdirSync(DIST);
for (const { path, text } of outputFiles) {
  // bin/start.js reads the file as Latin-1, and recognises its cached code by the hash.
  if (/[^\0-\x7f]/.test(text)) throw new Error('the build is not ASCII alone');
  writeFileSync(path, `/*${hash('sha256', text).slice(0, 16)}*/${text}`);
}
writeFileSync(join(DIST, 'THIRD-PARTY-LICENSES.txt'), licences(metafile));
writeFileSync(join(DIST, 'petstore.1'), manPage(tree, version));

const kilobytes = Math.round(outputFiles.reduce((sum, { contents }) => sum + contents.length, 0) / 1000);
console.log(`${relative(ROOT, DIST)}: ${outputFiles.length} modules, ${kilobytes} kB`);

// Packages made from the build: --standalone, --deb or --artifacts, each a file here.
const [kind, ...args] = process.argv.slice(2);
if (kind !== undefined) {
  const file = join(import.meta.dirname, `${kind.replace(/^--/, '')}.ts`);
  execFileSync(process.execPath, [file, ...args], { stdio: 'inherit' });
}
