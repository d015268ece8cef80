/**
 * The build: src/main.ts and all it imports, npm packages included, into dist/ as ES modules that load
 * each other lazily. The published package so has no dependencies of its own and installs without a network.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadTree } from '../help/tree.ts';
import { manPage } from './man.ts';
import { build, type BuildResult, type Metafile, type Plugin } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIST = join(ROOT, 'dist');

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/**
 * What the libraries load and this program never reaches, most of it dear to start:
 * conf's schema validator (no schema is given), undici's HTTP/2 (allowH2 is false; undici takes its
 * absence as a Node built without it), commander's commands that are programs of their own.
 */
const LEFT_OUT: readonly { readonly importer: RegExp; readonly module: RegExp }[] = [
  { importer: /node_modules\/conf\//, module: /^ajv(-formats$|\/)/ },
  { importer: /node_modules\/undici\//, module: /^node:http2$/ },
  { importer: /node_modules\/commander\//, module: /^node:child_process$/ },
];

const leaveOut: Plugin = {
  name: 'leave-out',
  setup(setup) {
    setup.onResolve({ filter: /./ }, ({ path, importer, kind }) => {
      const leftOut = LEFT_OUT.some((each) => each.importer.test(importer) && each.module.test(path));
      return leftOut ? { path, namespace: kind === 'require-call' ? 'left-out-required' : 'left-out' } : undefined;
    });
    setup.onLoad({ filter: /./, namespace: 'left-out' }, ({ path }) => ({
      contents: `const leftOut = () => { throw new Error('${path} is left out of the build'); };
        export { leftOut as Ajv2020, leftOut as default };`,
    }));
    setup.onLoad({ filter: /./, namespace: 'left-out-required' }, ({ path }) => ({
      contents: `throw new Error('${path} is left out of the build');`,
    }));
  },
};

/**
 * The modules of Node's that are dear to import: an ES module of them reads every property that they export, which
 * loads what lies behind the lazy ones. node:http so brings in all of fetch, at eight times its own cost.
 */
const DEAR_IMPORT = /^(node:)?(http|process|util)$/;

const gettingBuiltins: Plugin = {
  name: 'getting-builtins',
  setup(setup) {
    setup.onResolve({ filter: DEAR_IMPORT }, ({ path, kind }) =>
      kind === 'import-statement' ? { path: path.replace(/^(node:)?/, 'node:'), namespace: 'builtin' } : undefined,
    );
    setup.onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}');`,
    }));
  },
};

async function bundle(version: string): Promise<BuildResult<{ metafile: true; write: false }>> {
  return build({
    absWorkingDir: ROOT,
    entryPoints: ['src/main.ts'],
    outdir: DIST,
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.13',
    mainFields: ['module', 'main'],
    // Names stay: they are what a bug report's stack shows.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    // esbuildDetection is how undici leaves out its second, experimental parser.
    define: { __VERSION__: JSON.stringify(version), esbuildDetection: 'true' },
    // What is still required in the bundle is Node's own.
    banner: { js: 'const require=process.getBuiltinModule;' },
    plugins: [leaveOut, gettingBuiltins],
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
}

/** The folders of the packages that the bundle holds code of. */
function packageFolders(metafile: Metafile): readonly string[] {
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
  const folders = used.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  return [...new Set(folders)].filter((folder) => folder !== undefined).sort();
}

/** Packages under the MIT licence that come without its text: who holds the copyright, as their repository says. */
const COPYRIGHT: Readonly<Record<string, string>> = {
  '@redis/client': 'Copyright (c) 2022-2025, Redis, inc.',
};

/** The licence's text, which is the same as this project's but for the copyright. */
function mitLicence(copyright: string): string {
  const [title, , ...terms] = readFileSync(join(ROOT, 'LICENSE'), 'utf8').split(/\n\n/);
  return [title, copyright, ...terms].join('\n\n').trim();
}

/** The licences of the packages in the bundle, which each of them asks to keep with its code. */
function licences(metafile: Metafile): string {
  const notices = packageFolders(metafile).map((folder) => {
    const { name, version, license = 'unknown' } = readPackage(join(ROOT, folder, 'package.json'));
    const file = readdirSync(join(ROOT, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const copyright = license === 'MIT' ? COPYRIGHT[name] : undefined;
    if (file === undefined && copyright === undefined) {
      throw new Error(`${folder} has no licence file, and dist/ would hold its code.`);
    }
    const text = file === undefined ? mitLicence(copyright ?? '') : readFileSync(join(ROOT, folder, file), 'utf8');
    return `${name} ${version} (${license})\n\n${text.trim()}\n`;
  });
  return notices.join(`\n${'-'.repeat(80)}\n\n`);
}

function readPackage(path: string): Package {
  return JSON.parse(readFileSync(path, 'utf8')) as Package;
}

const { version } = readPackage(join(ROOT, 'package.json'));
const { outputFiles, metafile, warnings } = await bundle(version);
if (warnings.length > 0) process.exit(1);

rmSync(DIST, { recursive: true, force: true });
for (const { path, contents } of outputFiles) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, contents);
}
writeFileSync(join(DIST, 'THIRD-PARTY-LICENSES.txt'), licences(metafile));
writeFileSync(join(DIST, 'petstore.1'), manPage(await loadTree(), version));

const kilobytes = Math.round(outputFiles.reduce((sum, { contents }) => sum + contents.length, 0) / 1000);
console.log(`${relative(ROOT, DIST)}: ${outputFiles.length} modules, ${kilobytes} kB`);
