/** Makes dist/THIRD-PARTY-LICENSES.txt: the licence of each package with code in the build. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { readPackage, ROOT } from './package.ts';

/** Copyright lines, from their repositories, of packages under the MIT licence that come without its text. */
const COPYRIGHT: Readonly<Record<string, string>> = {
  '@redis/client': 'Copyright (c) 2022-2025, Redis, inc.',
};

/** Returns the licences of the packages in the bundle, which must accompany their code. */
export function licences({ outputs }: Metafile): string {
  const used = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  const folders = used.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  // This project's own, with another copyright.
  const [title, , ...terms] = readFileSync(join(ROOT, 'LICENSE'), 'utf8').split(/\n\n/);
  const notices = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license = 'unknown' } = readPackage(join(ROOT, folder));
    const file = readdirSync(join(ROOT, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const copyright = license === 'MIT' ? COPYRIGHT[name] : undefined;
    if (file === undefined && copyright === undefined) {
      throw new Error(`${folder} has no licence file, and dist/ would hold its code.`);
    }
    const mit = [title, copyright, ...terms].join('\n\n');
    const text = file === undefined ? mit : readFileSync(join(ROOT, folder, file), 'utf8');
    return `${name} ${version} (${license})\n\n${text.trim()}\n`;
  });
  return notices.join(LINE);
}

const LINE = `\n${'-'.repeat(80)}\n\n`;

/** Returns the packages in such a text, as `name@version`. */
export function packagesIn(text: string): string[] {
  return text.split(LINE).map((notice) => notice.slice(0, notice.indexOf(' (')).replace(' ', '@'));
}
