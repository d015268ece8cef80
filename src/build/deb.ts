/**
 * Makes a Debian package of the build: the program, its man page, its completions and its documents. Needs dpkg-deb.
 *
 *   npm run build -- --deb [FOLDER]
 */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readPackage, ROOT, run } from './package.ts';

const { version, description = '' } = readPackage(ROOT);

/** Paths in the checkout and in the package. */
const COPIES: readonly (readonly [from: string, to: string])[] = [
  ['package.json', 'usr/lib/petstore/package.json'],
  ['bin', 'usr/lib/petstore/bin'],
  ['dist', 'usr/lib/petstore/dist'],
  ['completions/petstore.bash', 'usr/share/bash-completion/completions/petstore'],
  ['completions/_petstore', 'usr/share/zsh/vendor-completions/_petstore'],
  ['completions/petstore.fish', 'usr/share/fish/vendor_completions.d/petstore.fish'],
  ['docs', 'usr/share/doc/petstore/docs'],
  ['LICENSE', 'usr/share/doc/petstore/copyright'],
];

const CONTROL = `Package: petstore
Version: ${version}
Architecture: all
Section: utils
Priority: optional
Depends: nodejs (>= 22.13)
Maintainer: The petstore authors <petstore@localhost>
Description: inventory of a pet store from the command line
 ${description}
`;

const folder = mkdtempSync(join(tmpdir(), 'petstore-deb-'));
try {
  for (const [from, to] of COPIES) {
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    cpSync(join(ROOT, from), join(folder, to), { recursive: true });
  }
  rmSync(join(folder, 'usr/lib/petstore/dist/petstore.1'));
  compressed('dist/petstore.1', 'usr/share/man/man1/petstore.1.gz');
  compressed('CHANGELOG.md', 'usr/share/doc/petstore/changelog.gz');
  mkdirSync(join(folder, 'usr/bin'));
  symlinkSync('../lib/petstore/bin/petstore.js', join(folder, 'usr/bin/petstore'));
  chmodSync(join(folder, 'usr/lib/petstore/bin/petstore.js'), 0o755);
  mkdirSync(join(folder, 'DEBIAN'));
  writeFileSync(join(folder, 'DEBIAN/control'), CONTROL);
  chmodSync(folder, 0o755);
  const file = resolve(process.argv[2] ?? '.', `petstore_${version}_all.deb`);
  run('dpkg-deb', '--root-owner-group', '-Zxz', '--build', folder, file);
  console.log(file);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Compresses without a time stamp, so that the same sources make the same package. */
function compressed(from: string, to: string): void {
  mkdirSync(dirname(join(folder, to)), { recursive: true });
  writeFileSync(join(folder, to), gzipSync(readFileSync(join(ROOT, from)), { level: 9 }));
}
