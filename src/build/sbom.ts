/** The bill of materials of a release (CycloneDX): the packages whose code is in the build, with their hashes and licences. */
import * as z from 'zod/mini';

/** As much of CycloneDX 1.5 as is read here. */
const Bom = z.looseObject({
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string(), name: z.string() }) }),
  components: z.array(z.looseObject({ 'bom-ref': z.string() })),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

/**
 * Narrows what `npm sbom` says of the whole checkout to what is published. To npm all packages are for development,
 * because the build puts their code into dist/ and nothing is installed beside it.
 *
 * @param bundled `name@version` of each package in the build
 * @throws where one of them is not in the document
 */
export function publishedBom(document: unknown, name: string, bundled: readonly string[]): z.infer<typeof Bom> {
  const { metadata, components, dependencies, ...rest } = z.parse(Bom, document);
  const root = metadata.component['bom-ref'];
  const kept = components.filter((component) => bundled.includes(component['bom-ref']));
  const missing = bundled.filter((ref) => !kept.some((component) => component['bom-ref'] === ref));
  if (missing.length > 0) throw new Error(`The bill of materials lacks ${missing.join(', ')}.`);
  return {
    ...rest,
    // npm names it after the folder.
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
