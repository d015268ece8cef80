/** Generates parts of the documents in docs/, between `<!-- name: begin -->` and `<!-- name: end -->`. */
import { EXIT_CODES } from '../report/exit-codes.ts';
import { commonText, ownText, summaryOf } from '../cli/help/render.ts';
import type { Tree } from '../cli/help/tree.ts';

/** Returns the table of docs/exit-codes.md. */
export function exitCodes(): string {
  const rows = EXIT_CODES.map(([code, meaning, then]) => `| ${code} | ${meaning} | ${then} |`);
  return ['| code | meaning | what a script does |', '| --- | --- | --- |', ...rows].join('\n');
}

/** Replaces the text between the markers of a part. Throws if the markers are missing. */
export function replacePart(text: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the text lacks the markers ${begin} and ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(to)}`;
}

/** Returns the help of each command, folded, and the common options once. */
export function commands(tree: Tree): string {
  const folded = (summary: string, text: string): string =>
    `<details>\n<summary>${summary}</summary>\n\n\`\`\`text\n${text}\n\`\`\`\n\n</details>`;
  const all = tree.sections.map(({ title, commands: below }) =>
    [
      `## ${title}`,
      ...below.map((command) =>
        folded(`<code>petstore ${command.path}</code>: ${summaryOf(command)}`, ownText(command, 100)),
      ),
    ].join('\n\n'),
  );
  return [...all, folded('Options of every command', commonText(tree, 100))].join('\n\n');
}
