import { readFileSync } from 'node:fs';
import { EXIT_CODES } from '../exit-codes.ts';

/** README.md with its generated parts made anew, between `<!-- name: begin -->` and `<!-- name: end -->`. */
export function generateReadme(path: string): Promise<string> {
  const parts: Readonly<Record<string, string>> = { 'exit-codes': exitCodes() };
  let text = readFileSync(path, 'utf8');
  for (const [name, content] of Object.entries(parts)) {
    const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
    const from = text.indexOf(begin);
    const to = text.indexOf(end);
    if (from < 0 || to < from) throw new Error(`${path} lacks the markers ${begin} and ${end}`);
    text = `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(to)}`;
  }
  return Promise.resolve(text);
}

function exitCodes(): string {
  const rows = EXIT_CODES.map(({ code, meaning, then }) => `| ${code} | ${meaning} | ${then} |`);
  return ['| code | meaning | what a script does |', '| --- | --- | --- |', ...rows].join('\n');
}
