/**
 * The build: src/main.ts and all it imports, npm packages included, into dist/ as ES modules that load
 * each other lazily. The published package so has no dependencies of its own and installs without a network.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadTree } from '../help/tree.ts';
import { manPage } from './man.ts';
import { build, type BuildOptions, type BuildResult, type Metafile, type Plugin } from 'esbuild';

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
 * Node's own modules are got when the module of ours that wants them runs. An import would be hoisted to the top of the
 * one file, and reads every property that they export, which loads what lies behind the lazy ones: node:http so brings
 * in all of fetch, at eight times its own cost.
 */
const BUILTIN = /^(node:.*|http|process|util)$/;

const gettingBuiltins: Plugin = {
  name: 'getting-builtins',
  setup(setup) {
    setup.onResolve({ filter: BUILTIN }, ({ path, kind }) =>
      kind === 'import-statement' ? { path: path.replace(/^(node:)?/, 'node:'), namespace: 'builtin' } : undefined,
    );
    setup.onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}');`,
    }));
  },
};

/**
 * Files of the build, by the module that each begins with. Each holds all of ours that it needs: Node takes longer to
 * load forty small files than one of half a megabyte, of which it compiles only what is called. What others may load
 * too is whole in one of them alone, so that no class is there twice.
 */
const FILES: Readonly<Record<string, string>> = {
  'src/main.ts': 'main',
  'src/help/answer.ts': 'help',
  'src/whole.ts': 'petstore',
};

/** Loads one file of the build from another. Only main does: within the rest nothing is loaded from outside. */
const betweenFiles: Plugin = {
  name: 'between-files',
  setup(setup) {
    setup.onResolve({ filter: /^\./ }, ({ path, importer, kind }) => {
      if (kind !== 'dynamic-import' || !importer.endsWith('/src/main.ts')) return undefined;
      const file = FILES[relative(ROOT, join(dirname(importer), path))];
      return file === undefined ? undefined : { path: `./${file}.js`, external: true };
    });
  },
};

/**
 * Packages, each with what is used of it, are files of their own, loaded when the module of ours that imports them
 * runs for the first time: as CommonJS, since an import would be hoisted to the top of the one file.
 */
const VENDORS: Readonly<Record<string, { readonly names: readonly string[]; readonly file: string }>> = {
  '@inquirer/confirm': { names: ['default'], file: 'inquirer' },
  '@inquirer/password': { names: ['default'], file: 'inquirer' },
  '@redis/client': { names: ['createClient'], file: 'redis' },
  chalk: { names: ['Chalk'], file: 'chalk' },
  'cli-table3': { names: ['default'], file: 'cli-table3' },
  commander: { names: ['Command', 'CommanderError', 'Option'], file: 'commander' },
  conf: { names: ['default'], file: 'conf' },
  'csv-parse/sync': { names: ['CsvError', 'parse'], file: 'csv' },
  'csv-stringify/sync': { names: ['stringify'], file: 'csv' },
  'string-width': { names: ['default'], file: 'string-width' },
  'undici/lib/api/api-connect.js': { names: ['default'], file: 'undici' },
  'undici/lib/api/api-request.js': { names: ['default'], file: 'undici' },
  'undici/lib/core/connect.js': { names: ['default'], file: 'undici' },
  'undici/lib/dispatcher/dispatcher.js': { names: ['default'], file: 'undici' },
  'undici/lib/dispatcher/env-http-proxy-agent.js': { names: ['default'], file: 'undici' },
  'undici/lib/dispatcher/pool.js': { names: ['default'], file: 'undici' },
  'zod/mini': {
    names: ['bigint', 'enum', 'extend', 'int', 'object', 'pipe', 'refine', 'string', 'transform', 'union'],
    file: 'zod',
  },
};

const toVendors: Plugin = {
  name: 'to-vendors',
  setup(setup) {
    setup.onResolve({ filter: /^[@a-z]/ }, ({ path, importer }) =>
      path.startsWith('node:') || importer.includes('/node_modules/') ? undefined : { path, namespace: 'vendor' },
    );
    setup.onLoad({ filter: /./, namespace: 'vendor' }, ({ path }) => {
      const vendor = VENDORS[path];
      if (vendor === undefined) throw new Error(`VENDORS in src/generate/build.ts does not have ${path}`);
      const names = vendor.names.map((name) => `export const ${alias(name)} = from.${name};`);
      const exported = vendor.names.map((name) => `${alias(name)} as ${name}`).join(', ');
      return {
        contents: [
          `const from = vendor('./vendor-${vendor.file}.cjs')[${JSON.stringify(path)}];`,
          ...names.map((line) => line.replace('export ', '')),
          `export { ${exported} };`,
        ].join('\n'),
      };
    });
  },
};

/** `default` and `enum` are no names. */
const alias = (name: string): string => `the_${name}`;

type Bundle = BuildResult<{ metafile: true; write: false }>;

function options(version: string, plugins: readonly Plugin[]) {
  return {
    absWorkingDir: ROOT,
    outdir: DIST,
    bundle: true,
    platform: 'node',
    target: 'node22.13',
    mainFields: ['module', 'main'],
    // Names stay: they are what a bug report's stack shows.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    // esbuildDetection is how undici leaves out its second, experimental parser.
    define: { __VERSION__: JSON.stringify(version), esbuildDetection: 'true' },
    logLevel: 'warning',
    plugins: [...plugins, leaveOut, gettingBuiltins],
    metafile: true,
    write: false,
  } as const satisfies BuildOptions;
}

function bundleOurs(version: string): Promise<Bundle> {
  return build({
    ...options(version, [betweenFiles, toVendors]),
    format: 'esm',
    entryPoints: Object.fromEntries(Object.entries(FILES).map(([path, name]) => [name, path])),
    banner: {
      js: "import{createRequire}from'node:module';const vendor=createRequire(import.meta.url),require=process.getBuiltinModule;",
    },
  });
}

/** A file for each group of packages. */
async function bundleVendors(version: string): Promise<Bundle> {
  const folder = join(ROOT, 'node_modules', VENDOR_FOLDER);
  mkdirSync(folder, { recursive: true });
  try {
    const files = Object.entries(Object.groupBy(Object.entries(VENDORS), ([, { file }]) => file));
    const entries = files.map(([file, vendors = []]) => {
      const path = join(folder, `vendor-${file}.${file === 'undici' ? 'cjs' : 'mjs'}`);
      const parts = vendors.map(([specifier, { names }]) =>
        specifier.startsWith('undici/') ? lazily(specifier) : reexport(specifier, names),
      );
      writeFileSync(path, parts.join('\n'));
      return [`vendor-${file}`, path] as const;
    });
    return await build({
      ...options(version, []),
      format: 'cjs',
      entryPoints: Object.fromEntries(entries),
      outExtension: { '.js': '.cjs' },
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** By its own specifier; imported, not required, so that only what is named is kept. */
function reexport(specifier: string, names: readonly string[]): string {
  const own = specifier.replace(/[^a-z0-9]/gi, '_');
  const imported = names.map((name) => `${name} as ${own}_${name}`).join(', ');
  const members = names.map((name) => `${name}: ${own}_${name}`).join(', ');
  return `import { ${imported} } from '${specifier}';\nconst ${own} = { ${members} };\nexport { ${own} as '${specifier}' };\n`;
}

/** CommonJS with one export: of undici, what proxies need runs where there is one. */
function lazily(specifier: string): string {
  return `Object.defineProperty(module.exports, '${specifier}', { get: () => ({ default: require('${specifier}') }) });\n`;
}

const VENDOR_FOLDER = '.petstore-vendors';

/** The folders of the packages that the bundle holds code of. */
function packageFolders(metafiles: readonly Metafile[]): readonly string[] {
  const used = metafiles.flatMap(({ outputs }) => Object.values(outputs)).flatMap(({ inputs }) => Object.keys(inputs));
  const folders: readonly (string | undefined)[] = used.map(
    (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0],
  );
  return [...new Set(folders)]
    .filter((folder): folder is string => folder !== undefined && !folder.endsWith(VENDOR_FOLDER))
    .sort();
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
function licences(metafiles: readonly Metafile[]): string {
  const notices = packageFolders(metafiles).map((folder) => {
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
const bundles = await Promise.all([bundleOurs(version), bundleVendors(version)]);
if (bundles.some(({ warnings }) => warnings.length > 0)) process.exit(1);
const outputFiles = bundles.flatMap((bundle) => bundle.outputFiles);

rmSync(DIST, { recursive: true, force: true });
for (const { path, contents } of outputFiles) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, contents);
}
writeFileSync(join(DIST, 'THIRD-PARTY-LICENSES.txt'), licences(bundles.map(({ metafile }) => metafile)));
writeFileSync(join(DIST, 'petstore.1'), manPage(await loadTree(), version));

const kilobytes = Math.round(outputFiles.reduce((sum, { contents }) => sum + contents.length, 0) / 1000);
console.log(`${relative(ROOT, DIST)}: ${outputFiles.length} modules, ${kilobytes} kB`);
