/**
 * Makes the files of a release, except the executables: the npm package, the Debian package, the bill of materials, and
 * NOTES.md, the notes of this version. Needs the build and dpkg-deb.
 *
 *   npm run build -- --artifacts FOLDER
 */
import { execSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packagesIn } from './licences.ts';
import { readPackage, ROOT, run, sectionOf } from './package.ts';
import * as z from 'zod/mini';

/** The part of CycloneDX 1.5 that is used here. */
const Bom = z.looseObject({
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string(), name: z.string() }) }),
  components: z.array(z.looseObject({ 'bom-ref': z.string() })),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

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

// Without scripts: the build already exists.
run('npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder);
run(process.execPath, join(import.meta.dirname, 'deb.ts'), folder);
console.log(folder);

/**
 * Reduces the output of `npm sbom`, which covers the whole checkout, to what is published. For npm all packages are
 * development dependencies, because the build bundles their code into dist/.
 *
 * @param bundled `name@version` of each package in the build
 * @throws if one of them is not in the document
 */
function publishedBom(document: unknown, name: string, bundled: readonly string[]): z.infer<typeof Bom> {
  const { metadata, components, dependencies, ...rest } = z.parse(Bom, document);
  const root = metadata.component['bom-ref'];
  const kept = components.filter((component) => bundled.includes(component['bom-ref']));
  const missing = bundled.filter((ref) => !kept.some((component) => component['bom-ref'] === ref));
  if (missing.length > 0) throw new Error(`The bill of materials lacks ${missing.join(', ')}.`);
  return {
    ...rest,
    // npm uses the folder's name.
    metadata: { ...metadata, component: { ...metadata.component, name } },
    components: kept.map((component) => ({ ...component, scope: 'required', properties: [] })),
    dependencies: [
      { ref: root, dependsOn: [...bundled] },
      ...dependencies
        .filter(({ ref }) => bundled.includes(ref))
        .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => bundled.includes(each)) })),
    ],
  };
}
