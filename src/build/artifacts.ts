/**
 * What a release consists of, beside the executables: the npm package, the Debian package, the bill of materials, and
 * NOTES.md, the notes of this version. Needs the build, and dpkg-deb.
 *
 *   npm run build -- --artifacts FOLDER
 */
import { execFileSync, execSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sectionOf } from './changelog.ts';
import { packagesIn } from './licences.ts';
import { readPackage, ROOT } from './package.ts';
import { publishedBom } from './sbom.ts';

const { name, version } = readPackage(ROOT);
const [given] = process.argv.slice(2);
if (given === undefined) throw new Error('Name the folder: npm run build -- --artifacts FOLDER');
const folder = resolve(given);
mkdirSync(folder, { recursive: true });

const notes = sectionOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version);
if (notes === undefined) throw new Error(`CHANGELOG.md has no ${version}: npm run release makes it.`);
writeFileSync(join(folder, 'NOTES.md'), `${notes}\n`);

const bundled = packagesIn(readFileSync(join(ROOT, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8'));
const bom = execSync('npm sbom --sbom-format cyclonedx --sbom-type application --package-lock-only', {
  cwd: ROOT,
  encoding: 'utf8',
  maxBuffer: Infinity,
});
const published = publishedBom(JSON.parse(bom), name, bundled);
writeFileSync(join(folder, `petstore-${version}.cdx.json`), `${JSON.stringify(published, null, 2)}\n`);

// Scripts stay off: the build is there already.
execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
  cwd: ROOT,
  stdio: ['ignore', 'ignore', 'inherit'],
});
execFileSync(process.execPath, [join(import.meta.dirname, 'deb.ts'), folder], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
console.log(folder);
