/** esbuild plugins: which output files exist and which parts of packages are replaced or dropped. */
import { dirname, join, relative } from 'node:path';
import type { Plugin } from 'esbuild';
import { ERROR, TYPE } from 'undici/lib/llhttp/constants.js';
import type { Tree } from '../cli/help/tree.ts';
import { ROOT } from './package.ts';

const REFUSE = "throw new Error('left out of the build');";
const REFUSE_WHEN_CALLED = `const leftOut = () => { ${REFUSE} }; export { leftOut as Ajv2020, leftOut as default };`;

/**
 * What the build has in place of modules that the libraries load, most of them dear to start.
 *
 * Never reached: conf's schema validator (no schema is given), undici's bodies that are forms (ours are text),
 * commander's commands that are programs of their own, HTTP/2 (allowH2 is off).
 * Loaded whole by undici and used little: node:http, for the size of headers (16 KiB,
 * nodejs.org/api/http.html#httpmaxheadersize) and a class; node:assert, for its plainest call; a tree of the usual
 * headers' names, which only saves lower-casing them; tables of llhttp, computed whenever they are loaded, of which it
 * reads two.
 */
const REPLACED: readonly (readonly [library: string, module: RegExp, contents: string])[] = [
  ['conf', /^ajv(-formats$|\/)/, REFUSE_WHEN_CALLED],
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
];

/** Returns a path as it is written here, also on Windows. */
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
  },
};

/**
 * Node's own modules are got when the module of ours that wants them runs, and only the names that it uses are read:
 * esbuild's way copies every property, which for node:process alone takes as long as all of commander.
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
 * Files of the build, each with the modules that are loaded from it. Each holds all of ours that it needs: Node takes
 * longer to load forty small files than one of half a megabyte, of which it compiles only what is called. What others
 * may load too is whole in one of them alone, so that no class is there twice.
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
      contents: (FILES[path] ?? []).map((module) => `export * from './${module}';`).join('\n'),
      resolveDir: ROOT,
    }));
  },
};

/** What the build alone makes: the commands as data, in place of the module that makes them of all specs; the page. */
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

/** Loads one file of the build from another. Only main does: within the rest nothing is loaded from outside. */
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

/** A module with these names of what the expression gives; esbuild's own way would go over all of them. */
function named(expression: string, names: readonly string[]): string {
  // `default` and `enum` are not valid names. Each is read on use, since some of Node's are slow to load.
  const each = names.map((name) => `const the_${name} = /* @__PURE__ */ (() => from.${name})();`);
  const exported = names.map((name) => `the_${name} as ${name}`).join(', ');
  return [`const from = ${expression};`, ...each, `export { ${exported} };`].join('\n');
}

/**
 * Packages, each with what is used of it, are files of their own, loaded when the module of ours that imports them
 * runs for the first time.
 */
export const VENDORS: Readonly<Record<string, { readonly names: readonly string[]; readonly file: string }>> = {
  '@inquirer/confirm': { names: ['default'], file: 'inquirer' },
  '@inquirer/input': { names: ['default'], file: 'inquirer' },
  '@inquirer/password': { names: ['default'], file: 'inquirer' },
  '@redis/client': { names: ['createClient'], file: 'redis' },
  chalk: { names: ['Chalk'], file: 'chalk' },
  'cli-table3': { names: ['default'], file: 'cli-table3' },
  conf: { names: ['default'], file: 'conf' },
  'csv-parse/sync': { names: ['CsvError', 'parse'], file: 'csv-parse' },
  'csv-stringify/sync': { names: ['stringify'], file: 'csv' },
  'string-width': { names: ['default'], file: 'string-width' },
  'undici/lib/api/api-connect.js': { names: ['default'], file: 'undici' },
  'undici/lib/core/connect.js': { names: ['default'], file: 'undici' },
  'undici/lib/dispatcher/client.js': { names: ['default'], file: 'undici' },
};

/** Packages among our own code: every command needs them, so that a file would cost more. */
const INLINED = /^(@noble\/hashes|commander|structured-headers|zod)\b/;

export const toVendors: Plugin = {
  name: 'to-vendors',
  setup(setup) {
    setup.onResolve({ filter: /^[@a-z]/ }, ({ path, importer }) =>
      path.startsWith('node:') || INLINED.test(path) || slashed(importer).includes('/node_modules/')
        ? undefined
        : { path, namespace: 'vendor' },
    );
    setup.onResolve({ filter: /./, namespace: 'vendor' }, ({ path }) => ({ path, external: true }));
    setup.onLoad({ filter: /./, namespace: 'vendor' }, ({ path }) => {
      const vendor = VENDORS[path];
      if (vendor === undefined) throw new Error(`VENDORS does not have ${path}`);
      return { contents: named(`require('./vendor-${vendor.file}.cjs')[${JSON.stringify(path)}]`, vendor.names) };
    });
  },
};
