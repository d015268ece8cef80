/** Checks the layout in src/README.md: which folders may import which, and which names they may use. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

interface Module {
  /** Below src/. */
  readonly path: string;
  /** Specifiers, of `import()` too. */
  readonly imports: readonly string[];
  /** Those of them that are gone when the types are. */
  readonly typeImports: readonly string[];
  /** What the code names as a value: `process`, `Date.now`, `new Date()`. Comments, strings and properties do not count. */
  readonly names: readonly string[];
}

function toModule(path: string, text: string): Module {
  const imports = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const typeImports = source.statements
    .filter(ts.isImportDeclaration)
    .filter(({ importClause }) => importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
    .map(({ moduleSpecifier }) => (ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : ''));
  return { path, imports, typeImports, names: namesIn(source) };
}

function namesIn(node: ts.Node): string[] {
  const inside: string[] = [];
  ts.forEachChild(node, (child) => void inside.push(...namesIn(child)));
  if (ts.isPropertyAccessExpression(node)) return [...inside, node.getText()];
  if (ts.isNewExpression(node) && !node.arguments?.length) return [...inside, `new ${node.expression.getText()}()`];
  return ts.isIdentifier(node) && !isLabel(node) ? [node.text] : inside;
}

/** The name of a property, not of a value. */
function isLabel(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) || ts.isPropertyAssignment(parent)) return parent.name === node;
  return ts.isPropertySignature(parent) || ts.isMethodSignature(parent) || ts.isPropertyDeclaration(parent);
}

const MODULES: readonly Module[] = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
  .map((path) => toModule(path, readFileSync(join(ROOT, 'src', path), 'utf8')));

/** Layers, from top to bottom. Modules of one entry may not import one another, unless it is a single folder. */
const FLOORS: readonly (readonly string[])[] = [
  ['build/lower.ts', 'build/build.ts', 'build/deb.ts', 'build/generate.ts'],
  ['build'],
  ['main.ts', 'sandbox/page'],
  ['commands/command-tree.ts'],
  ['commands/index.ts'],
  ['commands'],
  ['cli/run.ts'],
  ['cli/parse.ts', 'cli/reporter.ts'],
  ['cli/usage-errors.ts'],
  ['cli'],
  ['watch', 'proxy', 'browse', 'smoke'],
  ['stock', 'doctor', 'serve'],
  ['report'],
  ['session'],
  ['catalog'],
  ['view'],
  ['client', 'sandbox'],
  ['rate-limit'],
  ['state'],
  ['node', 'http'],
  ['value-parsers.ts'],
  ['api'],
  ['redact.ts', 'version.ts', 'duration.ts', 'stop.ts', 'redis-address.ts'],
  // Beside src/: texts that the build takes in.
  ['completions', 'schemas.json'],
];
/** Types and facts: anybody's. */
const GROUND: readonly string[] = ['ports.ts', 'terminal.ts', 'errors.ts'];
/** The one type that the ground takes from above: the details of each failure are written once, in the table. */
const TABLE = { of: 'errors.ts', import: './report/failures.ts' };

function roomOf(path: string): { room: string; floor: number } | undefined {
  const rooms = FLOORS.flatMap((floor, i) => floor.map((room) => ({ room, floor: i })));
  return rooms.find(({ room }) => room === path) ?? rooms.find(({ room }) => path.startsWith(`${room}/`));
}

function targetsOf(module: Module): string[] {
  return module.imports
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => relative('/', join('/', dirname(module.path), specifier)));
}

function directionProblems(modules: readonly Module[]): string[] {
  return modules.flatMap((module) => {
    if (GROUND.includes(module.path)) return groundProblems(module);
    const from = roomOf(module.path);
    if (from === undefined) return [`${module.path} has no place in the house`];
    return targetsOf(module).flatMap((target) => {
      const to = roomOf(target);
      if (GROUND.includes(target)) return [];
      if (to === undefined) return [`${module.path} imports ${target}, which has no place in the house`];
      const sameFolder = from.room === to.room && from.room !== 'commands';
      return sameFolder || to.floor > from.floor ? [] : [`${module.path} imports ${target}, which is not below it`];
    });
  });
}

function groundProblems(module: Module): string[] {
  const takesTable = module.path === TABLE.of && module.typeImports.includes(TABLE.import);
  const imports = module.imports.filter((specifier) => !takesTable || specifier !== TABLE.import);
  const packages = imports.filter((specifier) => !specifier.startsWith('.'));
  const others = targetsOf({ ...module, imports }).filter((target) => !GROUND.includes(target));
  return [...packages, ...others].map((each) => `${module.path} imports ${each}, and everybody imports ${module.path}`);
}

/** Rooms that must not know each other, whatever their floors. */
const STRANGERS: readonly (readonly [string, string])[] = [
  ['view', 'client'],
  ['view', 'sandbox'],
  ['view', 'rate-limit'],
  ['sandbox', 'rate-limit'],
  ['client', 'state'],
];

function strangerProblems(modules: readonly Module[]): string[] {
  return modules.flatMap((module) =>
    targetsOf(module)
      .filter((target) =>
        STRANGERS.some(([from, to]) => module.path.startsWith(`${from}/`) && target.startsWith(`${to}/`)),
      )
      .map((target) => `${module.path} must not know ${target}`),
  );
}

/** Only main may bring the real ports in, but for the config writer, which no test replaces; only their folder may name what they hide. */
const OWNED: readonly {
  readonly name: string;
  readonly owners: RegExp;
  readonly value?: RegExp;
  readonly module?: RegExp;
}[] = [
  { name: 'process', value: /^(global\.)?process$/, module: /^process$/, owners: /^(node|build)\// },
  {
    name: 'clocks',
    value: /^(Date|performance)\.now$|^new Date\(\)$|^hrtime$/,
    module: /^perf_hooks$/,
    owners: /^(node|sandbox\/page)\/|^build\/release\.ts$/,
  },
  {
    name: 'timers',
    value: /^(set|clear)(Timeout|Interval|Immediate)$|^AbortSignal\.timeout$/,
    module: /^timers(\/|$)/,
    owners: /^(node|sandbox\/page)\//,
  },
  { name: 'randomness', value: /^Math\.random$|^crypto\.(randomUUID|getRandomValues)$/, owners: /^node\// },
  { name: 'files', module: /^fs(\/|$)/, owners: /^(node|build)\// },
  { name: 'undici', value: /^fetch$/, module: /^undici(\/|$)/, owners: /^(node|build|sandbox\/page)\// },
  { name: 'conf', module: /^conf$/, owners: /^node\// },
  { name: 'Redis', module: /^@redis\//, owners: /^node\// },
  { name: 'SQLite', module: /^sqlite$/, owners: /^node\// },
  { name: 'sockets', module: /^(https?|http2|net|tls|dns)(\/|$)/, owners: /^(node|sandbox|http|proxy)\// },
  {
    name: 'processes',
    module: /^(child_process|worker_threads|cluster)$/,
    owners: /^(node\/|build\/(artifacts|build|package)\.ts$)/,
  },
];

function ownerProblems(modules: readonly Module[]): string[] {
  return modules.flatMap(({ path, imports, names }) => {
    const values = names.map((name) => name.replace(/^globalThis\./, ''));
    const packages = imports.map((specifier) => specifier.replace(/^node:/, ''));
    return OWNED.filter(({ owners }) => !owners.test(path))
      .filter(
        ({ value, module }) =>
          values.some((each) => value?.test(each) === true) || packages.some((each) => module?.test(each) === true),
      )
      .map(({ name }) => `${path} names ${name}`);
  });
}

function cycles(modules: readonly Module[]): string[][] {
  const edges = new Map(modules.map((module) => [module.path, targetsOf(module)]));
  const done = new Set<string>();
  const found: string[][] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path]);
    else if (!done.has(path)) {
      // The ground imports types alone, but for itself.
      if (!GROUND.includes(path)) for (const target of edges.get(path) ?? []) visit(target, [...trail, path]);
      done.add(path);
    }
  };
  for (const path of edges.keys()) visit(path, []);
  return found;
}

describe('the sources', () => {
  it('were seen', () => {
    expect(MODULES.length).toBeGreaterThan(50);
    expect(MODULES.flatMap(targetsOf).length).toBeGreaterThan(150);
  });

  it('import downwards only', () => {
    expect(directionProblems(MODULES)).toEqual([]);
    expect(strangerProblems(MODULES)).toEqual([]);
  });

  it('have no cycles', () => {
    expect(cycles(MODULES)).toEqual([]);
  });

  it('name the machine only where its ports are', () => {
    expect(ownerProblems(MODULES)).toEqual([]);
  });

  it('send updates, and record them, in one file', () => {
    const isWriting = (name: string): boolean =>
      /(^|\.)updateInventory$|\bjournal\??\.(sent|sendOne|settle)$/.test(name);
    const writers = MODULES.filter(({ names, path }) => names.some(isWriting) && !/^(api|sandbox)\//.test(path));
    expect(writers.map(({ path }) => path).sort()).toEqual(['client/update.ts', 'stock/write-one.ts']);
  });

  it('bring the real ports in at one place', () => {
    const users = MODULES.filter((module) => !module.path.startsWith('node/'))
      .filter((module) => targetsOf(module).some((target) => target.startsWith('node/')))
      .map(({ path }) => path);
    expect(users).toEqual(['main.ts', 'session/config-file.ts']);
  });
});

it('the top of the repository holds what was agreed, and nothing else', () => {
  const agreed =
    /^(\..*|README\.md|CHANGELOG\.md|CONTRIBUTING\.md|SECURITY\.md|docs|Containerfile|LICENSE|package(-lock)?\.json|tsconfig.*\.json|[a-z.-]+\.config\.[mc]?[jt]s|knip\.json|schemas\.json|bin|src|standalone|test|completions|dist|node_modules|coverage)$/;
  // A file that someone has put into the checkout is not a part of the repository.
  const listed = ['-c', 'safe.directory=*', 'ls-files', '-z'];
  const tracked = execFileSync('git', listed, { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean);
  const top = new Set(tracked.map((path) => path.split('/')[0]!));
  expect([top.has('package.json'), [...top].filter((entry) => !agreed.test(entry))]).toEqual([true, []]);
});
