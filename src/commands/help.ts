import { defineCommand } from '../cli/command.ts';
import { repeated, textValue } from '../value-parsers.ts';
import { EXIT_CODES } from '../report/exit-codes.ts';
import { usageFailure } from '../errors.ts';
import { TOPICS } from '../cli/help/topics.ts';
import { VERSION } from '../version.ts';
import { list, record, type View } from '../view/view.ts';

const NAMES = Object.keys(TOPICS);

/** Shows the topics that are lists of data. cli/help/ answers the others, and `petstore help COMMAND`. */
export const help = defineCommand({
  path: 'help',
  common: 'output',
  summary: 'Show help on a command or a topic',
  examples: {
    'What each exit code means': 'petstore help exit-codes',
    'The options of a command': 'petstore help inventory set',
    'The JSON Schema of the error object': 'petstore help schemas error',
  },
  arguments: {
    topic: {
      parser: repeated({ ...textValue, words: NAMES }),
      description: `a command, or one of ${NAMES.join(', ')}; after schemas, the name of one`,
      optional: true,
      variadic: true,
    },
  },
  // cli/parse.ts has refused anything else.
  run: ({ topic: [topic, ...names] }) => (topic === 'schemas' ? schemas(names.join(' ')) : EXIT_CODES_VIEW),
});

export const version = defineCommand({
  path: 'version',
  common: 'output',
  summary: 'Print the version',
  examples: { 'The same as petstore --version': 'petstore version' },
  run: () => record(VERSION, { version: VERSION }),
});

const EXIT_CODES_VIEW = list(
  EXIT_CODES,
  { code: ([code]) => `${code}`, meaning: ([, meaning]) => meaning, then: ([, , then]) => then },
  { looks: { then: { heading: 'What a script does' } } },
);

/** Lists the JSON Schemas, or prints one. @throws {Failure} `usage` */
async function schemas(name: string): Promise<View> {
  const { default: all } = await import('../../schemas.json', { with: { type: 'json' } });
  const rows = Object.values<{ readonly title: string; readonly description: string }>(all);
  if (name === '') return list(rows, { schema: ({ title }) => title, of: ({ description }) => description });
  const found = rows.find(({ title }) => title === name);
  if (found !== undefined) return { view: 'raw', body: Buffer.from(`${JSON.stringify(found, null, 2)}\n`) };
  throw usageFailure(`Unknown schema ${JSON.stringify(name)}.`, 'See: petstore help schemas');
}
