/**
 * Makes the standalone executable, dist/ and Bun in one file, for people without Node. standalone/README.md explains
 * why Bun, and how to make one for another system on Linux. Needs the build; installs Bun in standalone/node_modules.
 *
 *   npm run build -- --standalone [OUTPUT [BUN-OF-THE-OTHER-SYSTEM]]
 */
import { statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { ROOT, run } from './package.ts';

const PROCESSORS: Readonly<Record<string, string>> = { x64: 'x64', arm64: 'aarch64' };

const [output = 'standalone/petstore', foreign] = process.argv.slice(2);
const processor = PROCESSORS[process.arch];
if (process.platform !== 'linux' || processor === undefined) {
  throw new Error(
    `The standalone executable is made on Linux on x64 and arm64, not on ${process.platform} on ${process.arch}.`,
  );
}

run('npm', 'ci', '--prefix', 'standalone', '--ignore-scripts', '--no-audit', '--no-fund');
const file = resolve(ROOT, output);
run(
  join(ROOT, `standalone/node_modules/@oven/bun-linux-${processor}/bin/bun`),
  'build',
  join(ROOT, 'dist/main.cjs'),
  '--compile',
  // Compiles in advance, like the code cache of bin/start.js for Node.
  '--bytecode',
  '--format=cjs',
  // Bun rejects a Windows executable for its own system; Linux executables it distinguishes by itself.
  `--target=${foreign?.endsWith('.exe') === true ? 'bun-windows-x64' : 'bun'}`,
  // Otherwise Bun would read .env and bunfig.toml in the working folder.
  '--no-compile-autoload-dotenv',
  '--no-compile-autoload-bunfig',
  `--outfile=${file}`,
  ...(foreign === undefined ? [] : [`--compile-executable-path=${resolve(foreign)}`]),
);
console.log(`${relative(ROOT, file)}: ${Math.round(statSync(file).size / 1e6)} MB`);
