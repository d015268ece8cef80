/** Checks JSON that petstore prints in a test against the package's schemas. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import SCHEMAS from '../../schemas.json' with { type: 'json' };

const all = Object.values<{ readonly title: string; readonly description: string }>(SCHEMAS);
const compiled = new Map<string, ValidateFunction>();

/** Forbids unknown members: schemas allow them for later versions, but today's output has none. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const each = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  return 'properties' in each && each.type === 'object' ? { additionalProperties: false, ...each } : each;
}

function validatorOf(title: string): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': /^\d{4}-\d\d-\d\dT[\d:.]+Z$/, int64: true } });
  const found = compiled.get(title) ?? ajv.compile(closed(SCHEMAS[title as keyof typeof SCHEMAS]) as object);
  compiled.set(title, found);
  return found;
}

/** @throws {Error} the document does not match its schema */
export function assertSchema(title: string, document: unknown): void {
  const validate = validatorOf(title);
  if (validate(document)) return;
  const shown = `${JSON.stringify(document).slice(0, 500)}\n${JSON.stringify(validate.errors?.slice(0, 5), null, 1)}`;
  throw new Error(`This is a contract: it is not what petstore help schemas ${title} says: ${shown}`);
}

/** Returns the schema for a command line: the one that matches most of its words and options. */
function schemaFor(args: readonly string[]): string | undefined {
  const words = args.join(' ').replace('inventory ls', 'inventory list').replaceAll('=', ' ');
  const line = ` ${words.replace(/--env \S+ ?/, '')} `;
  const score = (call: string): number => {
    const [path = '', ...options] = call.split(/ (?=--)/);
    const isCalled = line.includes(` ${path} `) && options.every((each) => line.includes(` ${each} `));
    return isCalled ? path.length + 1_000 * options.length : 0;
  };
  const scored = all.map(({ title, description }) => ({
    title,
    score: Math.max(...description.split(', ').map(score)),
  }));
  const [best] = scored.toSorted((a, b) => b.score - a.score);
  return best !== undefined && best.score > 0 ? best.title : undefined;
}

/** Returns the JSON documents in a text: the whole text, or each line that is one. */
function documentsIn(text: string): unknown[] {
  if (!/^[{[]/.test(text)) return [];
  const parsed = (one: string): unknown[] => {
    try {
      return [JSON.parse(one)];
    } catch {
      return [];
    }
  };
  const whole = parsed(text);
  if (whole.length > 0) return whole;
  // The first lines are enough, even of a million.
  return text.split('\n', 2_000).flatMap((line) => (/^[{[]/.test(line) ? parsed(line) : []));
}

/** Checks all JSON that a command has printed, and its --log, against the schemas. @throws {Error} */
export function holdToSchemas(
  args: readonly string[],
  { stdout, stderr }: { readonly stdout: string; readonly stderr: string },
  cwd = '.',
): void {
  for (const line of stderr.split('\n')) {
    if (!/^\{"(error|warning|info|debug|rateLimit)":/.test(line)) continue;
    for (const each of documentsIn(line)) assertSchema(line.startsWith('{"error"') ? 'error' : 'notice', each);
  }
  const [command, topic] = args;
  const isRaw = (args.includes('api') && !args.includes('--dry-run')) || (command === 'help' && topic === 'schemas');
  const documents = isRaw ? [] : documentsIn(stdout);
  const title = schemaFor(args);
  if (documents.length > 0 && title === undefined) throw new Error(`No schema is known for ${args.join(' ')}`);
  for (const each of documents) assertSchema(title ?? '', each);

  const log = args[args.indexOf('--log') + 1];
  const path = args.includes('--log') && log !== undefined ? resolve(cwd, log) : '';
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return;
  const kind = args.includes('proxy') ? 'proxy-log' : args.includes('serve') ? 'sandbox-log' : 'log';
  for (const line of readFileSync(path, 'utf8').split('\n'))
    for (const each of documentsIn(line)) assertSchema(kind, each);
}
