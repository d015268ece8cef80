/** esbuild plugins: which output files exist and which parts of packages are replaced or dropped. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Plugin } from 'esbuild';
import { ERROR, TYPE } from 'undici/lib/llhttp/constants.js';
import type { Tree } from '../cli/help/tree.ts';
import { ROOT } from './package.ts';

const REFUSE = "throw new Error('left out of the build');";
const REFUSE_WHEN_CALLED = `const leftOut = () => { ${REFUSE} }; export { leftOut as Ajv2020, leftOut as default };`;

/**
 * Stubs for modules that the libraries load, most of which are slow to start.
 *
 * Never used here: conf's schema validator (we pass no schema) and usual folders (they need a home), undici's form
 * bodies (ours are text), commander's commands that are separate programs, HTTP/2 (allowH2 is off), and of
 * @redis/client its clients for Cluster and Sentinel and its 400 commands except AUTH: ours are sent as text, and each
 * client creates a method for every command.
 * Loaded by undici as a whole but hardly used: node:http, for the maximum size of headers (16 KiB,
 * nodejs.org/api/http.html#httpmaxheadersize) and a class; node:assert, for its simplest call; a tree of common header
 * names, which only saves lower-casing them; tables of llhttp, computed at each load, of which it reads two.
 */
const REPLACED: readonly (readonly [library: string, module: RegExp, contents: string])[] = [
  ['conf', /^(ajv(-formats$|\/)|env-paths$)/, REFUSE_WHEN_CALLED],
  ['commander', /^node:child_process$/, REFUSE_WHEN_CALLED],
  ['undici', /\/web\/(fetch|webidl)\b/, REFUSE],
  ['undici', /\/client-h2\.js$/, `module.exports = () => { ${REFUSE} };`],
  ['undici', /^node:http$/, 'exports.maxHeaderSize = 16_384; exports.IncomingMessage = class {};'],
  [
    'undici',
    /^node:assert$/,
    "module.exports = (value, message) => value || process.getBuiltinModule('node:assert')(value, message);",
  ],
  ['undici', /^\.\/tree$/, 'exports.tree = { lookup: () => undefined };'],
  ['undici', /llhttp\/constants\.js$/, `module.exports = ${JSON.stringify({ ERROR, TYPE })};`],
  ['@redis/client', /^\.\/lib\/(cluster|sentinel)$|\/command-metadata$/, 'exports.default = {};'],
  [
    '@redis/client',
    /\/commands$/,
    "const AUTH = { parseCommand: (to, { username, password }) => to.push('AUTH', ...[username ?? []].flat(), password) };" +
      'module.exports = { __esModule: true, default: { AUTH } };',
  ],
];

/** Returns a path with slashes, also on Windows. */
function slashed(path: string): string {
  return path.replaceAll('\\', '/');
}

export const replace: Plugin = {
  name: 'replace',
  setup(setup) {
    setup.onResolve({ filter: /./ }, ({ path, importer }) => {
      const [, , pluginData] =
        REPLACED.find(
          ([library, module]) => slashed(importer).includes(`/node_modules/${library}/`) && module.test(path),
        ) ?? [];
      return pluginData === undefined ? undefined : { path, namespace: 'replaced', pluginData };
    });
    setup.onLoad({ filter: /./, namespace: 'replaced' }, ({ pluginData }: { pluginData?: string }) => ({
      contents: pluginData ?? '',
    }));
    // undici drops the connection at a 100 Continue that it has not asked for, and with it a 429 that follows. A client
    // must be able to skip it (RFC 9110, 15.2).
    setup.onLoad({ filter: /undici[/\\]lib[/\\]dispatcher[/\\]client-h1\.js$/ }, ({ path }) => {
      const [before, after, ...more] = readFileSync(path, 'utf8').split('if (statusCode === 100) {');
      if (after === undefined || more.length > 0) throw new Error(`${path} has changed`);
      return { contents: `${before}if (false) {${after}` };
    });
  },
};

/**
 * Loads Node's own modules when a module of ours that uses them runs, and reads only the names in use. esbuild would
 * copy every property, which for node:process alone takes as long as all of commander.
 */
const BUILTIN = /^(node:.*|http|process|util)$/;

export const gettingBuiltins: Plugin = {
  name: 'getting-builtins',
  setup(setup) {
    setup.onResolve({ filter: BUILTIN }, ({ path, kind, namespace }) => {
      const name = path.replace(/^(node:)?/, 'node:');
      if (namespace.startsWith('builtin')) return { path: name, external: true };
      if (kind === 'import-statement') return { path: name, namespace: 'builtin', sideEffects: false };
      return kind === 'dynamic-import' ? { path: name, namespace: 'builtin-whole' } : undefined;
    });
    setup.onLoad({ filter: /./, namespace: 'builtin-whole' }, ({ path }) => ({
      contents: `module.exports = require('${path}');`,
    }));
    setup.onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => {
      const builtin = process.getBuiltinModule(path) ?? {};
      const names = Object.keys(builtin).filter((name) => /^[a-z_]\w*$/i.test(name) && name !== 'default');
      return {
        contents: `${named(`require('${path}')`, names)}\nexport { from as default };`,
      };
    });
  },
};

/**
 * Files of the build, each with the modules that are loaded from it. Each contains all the modules of ours that it
 * needs: Node loads one file of half a megabyte, of which it compiles only what is called, faster than forty small
 * ones. A module that other files may load is in one of them only, so that no class exists twice.
 */
export const FILES: Readonly<Record<string, readonly string[]>> = {
  main: ['src/main.ts'],
  help: ['src/cli/help/render.ts', 'src/cli/completion/complete.ts', 'src/commands/command-tree.ts'],
  petstore: ['src/cli/run.ts', 'src/commands/index.ts', 'src/commands/completion.ts', 'src/node/context.ts'],
};

export const entries: Plugin = {
  name: 'entries',
  setup(setup) {
    setup.onResolve({ filter: /^file:/ }, ({ path }) => ({ path: path.slice('file:'.length), namespace: 'entry' }));
    setup.onLoad({ filter: /./, namespace: 'entry' }, ({ path }) => ({
      contents: [
        ...(FILES[path] ?? []).map((module) => `export * from './${module}';`),
        ...Object.keys(VENDORS[path] ?? {}).map(vendor),
      ].join('\n'),
      resolveDir: ROOT,
    }));
  },
};

/** Adds what only the build makes: the sandbox's page, and the commands as data in place of command-tree.ts. */
export function madeByBuild(tree: Tree, page: object): Plugin {
  return {
    name: 'made-by-build',
    setup(setup) {
      setup.onLoad({ filter: /[\\/]src[\\/]commands[\\/]command-tree\.ts$/ }, () => ({
        contents: `export const buildTree = () => Promise.resolve(${JSON.stringify(tree)});`,
      }));
      setup.onResolve({ filter: /\/page\.json$/ }, ({ path }) => ({ path, namespace: 'page' }));
      setup.onLoad({ filter: /./, namespace: 'page' }, () => ({ contents: JSON.stringify(page), loader: 'json' }));
    },
  };
}

/** Lets one file of the build load another. Only main does so; the others load nothing from outside. */
export const betweenFiles: Plugin = {
  name: 'between-files',
  setup(setup) {
    setup.onResolve({ filter: /^\./ }, ({ path, importer, kind }) => {
      if (kind !== 'dynamic-import' || !slashed(importer).endsWith('/src/main.ts')) return undefined;
      const module = slashed(relative(ROOT, join(dirname(importer), path)));
      const [file] = Object.entries(FILES).find(([, modules]) => modules.includes(module)) ?? [];
      return file === undefined ? undefined : { path: `./${file}.cjs`, namespace: 'between' };
    });
    setup.onLoad({ filter: /./, namespace: 'between' }, ({ path }) => ({
      contents: `module.exports = require('${path}');`,
    }));
    setup.onResolve({ filter: /./, namespace: 'between' }, ({ path }) => ({ path, external: true }));
  },
};

/** Returns a module that exports these names of an expression's value; esbuild itself would copy all of them. */
function named(expression: string, names: readonly string[]): string {
  // `default` and `enum` are not valid names. Reads each on use, since some of Node's are slow to load.
  const each = names.map((name) => `const the_${name} = /* @__PURE__ */ (() => from.${name})();`);
  const exported = names.map((name) => `the_${name} as ${name}`).join(', ');
  return [`const from = ${expression};`, ...each, `export { ${exported} };`].join('\n');
}

/**
 * Packages in files of their own, with the names that we use. A file is loaded when a module of ours that imports the
 * package first runs.
 */
export const VENDORS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'vendor-redis': { '@redis/client': ['createClient'] },
  'vendor-chalk': { chalk: ['Chalk'] },
  'vendor-cli-table3': { 'cli-table3': ['default'] },
  'vendor-conf': { conf: ['default'] },
  'vendor-csv-parse': { 'csv-parse/sync': ['CsvError', 'parse'] },
  'vendor-csv': { 'csv-stringify/sync': ['stringify'] },
  'vendor-string-width': { 'string-width': ['default'] },
  'vendor-undici': {
    'undici/lib/api/api-connect.js': ['default'],
    'undici/lib/core/connect.js': ['default'],
    'undici/lib/dispatcher/client.js': ['default'],
  },
};

/** Packages bundled with our own code: every command needs them, so a separate file would be slower. */
const INLINED = /^(@noble\/hashes|commander|structured-headers|zod)\b/;

export const toVendors: Plugin = {
  name: 'to-vendors',
  setup(setup) {
    setup.onResolve({ filter: /^[@a-z]/ }, ({ path, importer, namespace }) =>
      namespace === 'entry' ||
      path.startsWith('node:') ||
      INLINED.test(path) ||
      slashed(importer).includes('/node_modules/')
        ? undefined
        : { path, namespace: 'vendor' },
    );
    setup.onResolve({ filter: /./, namespace: 'vendor' }, ({ path }) => ({ path, external: true }));
    setup.onLoad({ filter: /./, namespace: 'vendor' }, ({ path }) => {
      const [file, packages] = Object.entries(VENDORS).find(([, each]) => path in each) ?? [];
      if (packages === undefined) throw new Error(`VENDORS does not have ${path}`);
      return { contents: named(`require('./${file}.cjs')['${path}']`, packages[path]!) };
    });
  },
};

/** Returns the code that exports a package under its name. The package runs when it is first used. */
function vendor(name: string): string {
  const imported = `((from) => (from.__esModule ? from : { ...from, default: from }))(require('${name}'))`;
  return `Object.defineProperty(exports, '${name}', { get: () => ${imported} });`;
}
