import { readFileSync } from 'node:fs';
import { EXIT_CODES } from '../report/exit-codes.ts';
import { commonText, ownText, summaryOf } from '../cli/help/render.ts';
import type { Tree } from '../cli/help/tree.ts';
import { buildTree } from '../commands/tree.ts';

/** README.md with its generated parts made anew, between `<!-- name: begin -->` and `<!-- name: end -->`. */
export async function generateReadme(path: string): Promise<string> {
  const parts: Readonly<Record<string, string>> = { 'exit-codes': exitCodes(), commands: commands(await buildTree()) };
  let text = readFileSync(path, 'utf8');
  for (const [name, content] of Object.entries(parts)) {
    const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
    const from = text.indexOf(begin);
    const to = text.indexOf(end);
    if (from < 0 || to < from) throw new Error(`${path} lacks the markers ${begin} and ${end}`);
    text = `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(to)}`;
  }
  return text;
}

function exitCodes(): string {
  const rows = EXIT_CODES.map(({ code, meaning, then }) => `| ${code} | ${meaning} | ${then} |`);
  return ['| code | meaning | what a script does |', '| --- | --- | --- |', ...rows].join('\n');
}

/** Everything that each command's help has, folded; what every command takes, once. */
function commands(tree: Tree): string {
  const folded = (summary: string, text: string): string =>
    `<details>\n<summary>${summary}</summary>\n\n\`\`\`text\n${text}\n\`\`\`\n\n</details>`;
  const all = tree.sections.map(({ title, commands: below }) =>
    [
      `**${title}**`,
      ...below.map((command) =>
        folded(`<code>petstore ${command.path}</code>: ${summaryOf(command)}`, ownText(tree, command, 100)),
      ),
    ].join('\n\n'),
  );
  return [...all, folded('Options of every command', commonText(tree, 100))].join('\n\n');
}
