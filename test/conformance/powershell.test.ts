/** Parses the PowerShell script with tree-sitter-powershell, because not every machine has PowerShell. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const GRAMMAR = here('./node_modules/tree-sitter-powershell/tree-sitter-powershell.wasm');
const installed = existsSync(GRAMMAR);
if (!installed)
  process.stderr.write(
    'Skipped: the syntax of PowerShell; npm ci --prefix test/conformance --ignore-scripts brings it.\n',
  );

interface Node {
  readonly hasError: boolean;
  readonly isError: boolean;
  readonly isMissing: boolean;
  readonly startPosition: { readonly row: number };
  readonly children: readonly Node[];
}
interface TreeSitter {
  Parser: (new () => { setLanguage(language: unknown): void; parse(text: string): { rootNode: Node } }) & {
    init(): Promise<void>;
  };
  Language: { load(path: string): Promise<unknown> };
}

/** Lines with a mistake. */
async function mistakes(text: string): Promise<number[]> {
  const name = 'web-tree-sitter';
  const { Parser, Language } = (await import(name)) as TreeSitter;
  await Parser.init();
  const parser = new Parser();
  parser.setLanguage(await Language.load(GRAMMAR));
  const found: number[] = [];
  const visit = (node: Node): void => {
    if (node.isError || node.isMissing) found.push(node.startPosition.row + 1);
    else if (node.hasError) node.children.forEach(visit);
  };
  visit(parser.parse(text).rootNode);
  return found;
}

it.skipIf(!installed)('the completion for PowerShell is PowerShell', async () => {
  expect(await mistakes(readFileSync(here('../../completions/petstore.ps1'), 'utf8'))).toEqual([]);
});
