import type { CommandSpec } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { Failure } from '../errors.ts';
import type { RowsView } from '../view/view.ts';

/** `petstore help COMMAND` is answered where the commands are known (cli.ts); here are the topics. */
export const help: CommandSpec<{ readonly topic: readonly string[] }> = {
  path: 'help',
  summary: 'Show help on a command, or on a topic: exit-codes',
  examples: [
    { says: 'What each exit code means', command: 'petstore help exit-codes' },
    { says: 'The options of a command', command: 'petstore help inventory set' },
  ],
  arguments: [{ name: 'topic', description: 'exit-codes, or a command', optional: true, variadic: true }],
  run({ topic }) {
    if (topic.join(' ') === 'exit-codes') return Promise.resolve(exitCodes());
    throw new Failure('usage', {
      problem: `There is no command or topic ${JSON.stringify(topic.join(' '))}.`,
      hint: 'Topics: exit-codes. Commands: petstore --help',
    });
  },
};

function exitCodes(): RowsView<(typeof EXIT_CODES)[number]> {
  return {
    view: 'rows',
    columns: [
      { name: 'code', cell: ({ code }) => code },
      { name: 'meaning', cell: ({ meaning }) => meaning },
      { name: 'what a script does', cell: ({ then }) => then },
    ],
    // eslint-disable-next-line @typescript-eslint/require-await -- a short list is a stream like any other
    rows: (async function* () {
      yield EXIT_CODES;
    })(),
    json: ({ code, meaning, then }) =>
      new Map([
        ['code', code],
        ['meaning', meaning],
        ['then', then],
      ]),
    header: true,
    empty: '',
  };
}
