/** The program accepts every command line that it prints as advice. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { type Commands, readRequest, resolveRequest } from '../../src/cli/parse.ts';
import { childrenOf, commandsOf, grammarOf } from '../../src/cli/help/tree.ts';
import { Line } from '../../src/cli/scan.ts';
import { LOADERS } from '../../src/commands/index.ts';
import { buildTree } from '../../src/commands/command-tree.ts';
import { describeFailure } from '../../src/report/failures.ts';
import { isFailure } from '../../src/errors.ts';
import { runIn } from '../support/in-process.ts';
import { createTestContext } from '../support/test-context.ts';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));
const COMMANDS: Commands = { loaders: LOADERS, tree: buildTree };
const TREE = await buildTree();
const NAMES = new Set(childrenOf(TREE, '').map(({ name }) => name));

/** Returns a value to put in place of `${…}` in a text. */
function filler(expression: string): string {
  if (/environment|^name$/.test(expression)) return 'staging';
  if (/command/.test(expression)) return 'inventory runs resume';
  if (/path/i.test(expression)) return 'inventory list';
  if (/^found$/.test(expression)) return 'environments';
  if (/^where$/.test(expression)) return '';
  return /^key$/.test(expression) ? 'environment' : '7';
}

function textsIn(node: ts.Node): string[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node)) {
    const parts = node.templateSpans.map(({ expression, literal }) => filler(expression.getText()) + literal.text);
    return [node.head.text + parts.join(''), ...node.templateSpans.flatMap(({ expression }) => textsIn(expression))];
  }
  const inside: string[] = [];
  ts.forEachChild(node, (child) => void inside.push(...textsIn(child)));
  return inside;
}

interface Advice {
  readonly text: string;
  readonly argv: readonly string[];
  /** The command is the whole rest of the clause, as after a colon; in a sentence, other words may follow it. */
  readonly isWhole: boolean;
}

/** Returns each `petstore …` of a text up to the end of its clause, where a command or an option comes first. */
function adviceIn(text: string): Advice[] {
  return [...text.matchAll(/(: |\b)petstore ((?:(?!: petstore )[^`<>|&)(])*)/g)].flatMap(([, before, rest = '']) => {
    const words = rest.split(/[.,;](?: |$)|\?$/)[0]!.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
    const argv = words.map((word) => word.replace(/^(["'])(.*)\1$/, '$2'));
    const isAdvice = argv[0]?.startsWith('-') === true || NAMES.has(argv[0] ?? '');
    return isAdvice ? [{ text, argv, isWhole: before === ': ' }] : [];
  });
}

/** Returns why the program does not take the line; undefined where it does. */
async function refusalOf(argv: readonly string[]): Promise<string | undefined> {
  try {
    await resolveRequest(await readRequest(COMMANDS, argv), COMMANDS, 80);
    return undefined;
  } catch (error) {
    if (!isFailure(error)) throw error;
    return describeFailure(error, 0).message;
  }
}

async function problemsOf(all: readonly Advice[]): Promise<string[]> {
  const problems = await Promise.all(
    all.map(async ({ text, argv, isWhole }) => {
      const { path, unknown } = new Line(grammarOf(TREE), argv);
      const isCut = path !== '' && unknown?.kind === 'command' ? 'it names no command' : undefined;
      const refusal = isWhole ? await refusalOf(argv) : isCut;
      return refusal === undefined ? [] : [`${text}: petstore ${argv.join(' ')}: ${refusal}`];
    }),
  );
  return problems.flat();
}

it('in the examples of the help', async () => {
  const lines = [TREE, ...commandsOf(TREE)].flatMap(({ examples }) => Object.values(examples));
  expect(await problemsOf(lines.flatMap((line) => adviceIn(`Example: ${line}`)))).toEqual([]);
});

it('in the texts of the program', async () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^(?!build|sandbox.page).*\.ts$/.test(path),
  );
  const advice = files.flatMap((path) => {
    const file = ts.createSourceFile(path, readFileSync(`${SRC}${path}`, 'utf8'), ts.ScriptTarget.Latest, true);
    return textsIn(file).flatMap(adviceIn);
  });
  expect(advice.filter(({ isWhole }) => isWhole).length).toBeGreaterThan(25);
  expect(await problemsOf(advice)).toEqual([]);
});

describe('after a call that is refused', () => {
  it.each([
    'set 7 12',
    'list',
    'get 7',
    'inventory get 7',
    'inventory sett 7 12',
    'inventory help set',
    'sandbox list',
    'sandbox set 7 12',
    'config show',
    'limits nope',
    'inventory nope',
    '--env',
    'inventory set 7',
    'inventory set 7 -3',
    'inventory list --sort quantity --quantity 5',
    'inventory undo',
    'inventory count',
    'inventory import',
    'inventory edit',
    'inventory adjust 7 +3',
    'inventory import nope.csv --yes',
    'api PATCH /inventory/7 -f quantity=3',
    'smoke --write --pet 7',
    'api get /x --jq .',
    'config get staging.api-key',
    'config set staging.api-key 7',
    'config get environment',
    'login',
    'login key',
    'help exit-code',
    'help nonsense',
  ])('petstore %s', async (line) => {
    const { code, stderr } = await runIn(createTestContext({ stdin: { text: '' } }), ...line.split(' '));
    expect(code).toBeGreaterThan(1);
    const hint = /^hint: (.*)$/m.exec(stderr)?.[1] ?? '';
    expect(await problemsOf(adviceIn(hint))).toEqual([]);
  });
});
