/** dist/THIRD-PARTY-LICENSES.txt: the licence of each package whose code is in the build. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { readPackage, ROOT } from './package.ts';

/** Where the build writes what it bundles of packages; not a package itself. */
export const VENDOR_FOLDER = '.petstore-vendors';

/** The folders of the packages that the bundle holds code of. */
function packageFolders(metafiles: readonly Metafile[]): readonly string[] {
  const used = metafiles.flatMap(({ outputs }) => Object.values(outputs)).flatMap(({ inputs }) => Object.keys(inputs));
  const folders = used.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].filter((folder) => !folder.endsWith(VENDOR_FOLDER)).sort();
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
export function licences(metafiles: readonly Metafile[]): string {
  const notices = packageFolders(metafiles).map((folder) => {
    const { name, version, license = 'unknown' } = readPackage(join(ROOT, folder));
    const file = readdirSync(join(ROOT, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const copyright = license === 'MIT' ? COPYRIGHT[name] : undefined;
    if (file === undefined && copyright === undefined) {
      throw new Error(`${folder} has no licence file, and dist/ would hold its code.`);
    }
    const text = file === undefined ? mitLicence(copyright ?? '') : readFileSync(join(ROOT, folder, file), 'utf8');
    return `${name} ${version} (${license})\n\n${text.trim()}\n`;
  });
  return notices.join(LINE);
}

const LINE = `\n${'-'.repeat(80)}\n\n`;

/** Returns the packages that such a text names, as `name@version`. */
export function packagesIn(text: string): string[] {
  return text.split(LINE).map((notice) => notice.slice(0, notice.indexOf(' (')).replace(' ', '@'));
}
