import { describe, expect, it } from 'vitest';
import { packagesIn } from '../../src/build/licences.ts';
import { publishedBom } from '../../src/build/sbom.ts';

const component = (ref: string) => ({
  'bom-ref': ref,
  name: ref.replace(/@[^@]*$/, ''),
  scope: 'optional',
  properties: [{ name: 'cdx:npm:package:development', value: 'true' }],
  hashes: [{ alg: 'SHA-512', content: 'ab' }],
});

const ALL = {
  bomFormat: 'CycloneDX',
  metadata: { component: { 'bom-ref': 'petstore-cli@0.1.0', name: 'checkout', version: '0.1.0' } },
  components: [component('chalk@6.0.1'), component('@noble/hashes@2.4.0'), component('eslint@10.0.0')],
  dependencies: [
    { ref: 'petstore-cli@0.1.0', dependsOn: ['chalk@6.0.1', 'eslint@10.0.0'] },
    { ref: 'chalk@6.0.1', dependsOn: ['@noble/hashes@2.4.0', 'eslint@10.0.0'] },
    { ref: '@noble/hashes@2.4.0', dependsOn: [] },
    { ref: 'eslint@10.0.0', dependsOn: ['chalk@6.0.1'] },
  ],
};

describe('the bill of materials', () => {
  it('has what is in the build, as required, and nothing that only builds or tests', () => {
    const bom = publishedBom(ALL, 'petstore-cli', ['chalk@6.0.1', '@noble/hashes@2.4.0']);
    const required = { scope: 'required', properties: [] };
    expect(bom).toEqual({
      bomFormat: 'CycloneDX',
      metadata: { component: { 'bom-ref': 'petstore-cli@0.1.0', name: 'petstore-cli', version: '0.1.0' } },
      components: [
        { ...component('chalk@6.0.1'), ...required },
        { ...component('@noble/hashes@2.4.0'), ...required },
      ],
      dependencies: [
        { ref: 'petstore-cli@0.1.0', dependsOn: ['chalk@6.0.1', '@noble/hashes@2.4.0'] },
        { ref: 'chalk@6.0.1', dependsOn: ['@noble/hashes@2.4.0'] },
        { ref: '@noble/hashes@2.4.0', dependsOn: [] },
      ],
    });
  });

  it('is refused where it lacks a package of the build', () => {
    expect(() => publishedBom(ALL, 'petstore-cli', ['chalk@6.0.2'])).toThrow('lacks chalk@6.0.2');
  });

  it('takes the packages of the build from their licences', () => {
    const line = '-'.repeat(80);
    const text = `@noble/hashes 2.4.0 (MIT)\n\nThe MIT (X) License\n\n${line}\n\nchalk 6.0.1 (MIT)\n\n(c) 2026\n`;
    expect(packagesIn(text)).toEqual(['@noble/hashes@2.4.0', 'chalk@6.0.1']);
  });
});
