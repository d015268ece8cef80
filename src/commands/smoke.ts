import { defineCommand, flag, option, under } from '../cli/command.ts';
import { withWhy } from '../cli/shared-options.ts';
import { durationValue, listOf, parserOf, petIdValue, repeated, wordValue } from '../value-parsers.ts';
import { isProduction } from '../session/environments.ts';
import { assertWriteAllowed } from '../session/resolve.ts';
import { usageFailure } from '../errors.ts';
import { type ReportFormat, REPORTERS } from '../smoke/reporters.ts';
import { smoke as runSmoke } from '../smoke/smoke-run.ts';
import { ALL } from '../smoke/suite.ts';
import { FORMAT_FACTS, list } from '../view/view.ts';

const FORMATS = Object.keys(REPORTERS) as ReportFormat[];

const BY_ENDING: Readonly<Record<string, ReportFormat>> = {
  xml: 'junit',
  tap: 'tap',
  json: 'json',
  md: 'markdown',
  txt: 'text',
  log: 'text',
};

const outValue = parserOf(
  'a file that ends in .xml, .tap, .json, .md or .txt; or junit=FILE, tap=FILE and so on',
  (text): { format: ReportFormat; path: string } | undefined => {
    const [name = '', ...rest] = text.split('=');
    const named = FORMATS.find((format) => format === name);
    if (named !== undefined && rest.join('=') !== '') return { format: named, path: rest.join('=') };
    const format = BY_ENDING[/\.([a-z]+)$/i.exec(text)?.[1]?.toLowerCase() ?? ''];
    return format && { format, path: text };
  },
);

const IDS = ALL.map(({ id }) => id);
const checkName = parserOf('a check that petstore smoke --list shows', (text) => IDS.find((id) => id === text), {
  words: IDS,
});

const OPTIONS = {
  ...under('Reports', {
    format: option('--format <format>', wordValue(FORMATS), `${FORMATS.join(', ')} (default: text; json with --json)`),
    out: option(
      '--out <file>',
      repeated(outValue),
      'also write a report: .xml is JUnit, .tap TAP, .json JSON, .md Markdown; or format=file; repeatable',
    ),
  }),
  ...under('Which checks', {
    only: option('--only <ids>', listOf(checkName), 'only these checks'),
    skip: option('--skip <ids>', listOf(checkName), 'all but these checks'),
    write: flag('--write', 'check the update too, with --pet', { needs: 'pet' }),
    pet: option('--pet <id>', petIdValue, 'the pet to set and then restore', { needs: 'write' }),
    provoke429: flag('--provoke-429', 'finally, exceed the rate limit on purpose; staging and sandbox only'),
    list: flag('--list', 'list the checks without running them', {
      conflicts: ['format', 'out', 'only', 'skip', 'write', 'provoke429', 'maxLatency', 'waitReady'],
    }),
  }),
  ...under('Bounds', {
    maxLatency: option('--max-latency <duration>', durationValue(1), 'longest time for the list'),
    waitReady: option('--wait-ready <duration>', durationValue(1), 'wait until the service answers without a 5xx'),
  }),
};

export const smoke = defineCommand({
  path: 'smoke',
  summary: 'Check that the service answers and keeps its contract',
  description:
    'Requests the list with the key, without a key and with an invalid key, and a path that does not exist. With ' +
    '--write, it also sets one pet, sends invalid updates, and restores the pet (even after Ctrl-C). First prints ' +
    'how many requests this needs; if fewer are left, waits up to --max-wait, or sends none. Exits 13 if the ' +
    'service answers but breaks its contract (docs/service.md). A refused key (4), the rate limit (6), the network ' +
    '(7), a service that is down (8) and a ban (12) exit as in every command. Reports are written unless the command ' +
    'could not start (no key, invalid settings) or a signal ended it. If GITHUB_STEP_SUMMARY is set, a table is added ' +
    'to that file.',
  examples: {
    'Staging, in CI': 'petstore --env staging smoke --wait-ready 60s --out report.xml',
    'Including updates': 'petstore --env staging smoke --write --pet 7',
    'List the checks': 'petstore smoke --list',
    'As GitHub annotations': 'petstore --env staging smoke --format github',
  },
  // Enough for a write in flight and one more that restores the pet.
  graceMs: 8_000,
  options: OPTIONS,
  more: ['scripting', 'rate-limits', 'exit-codes'],
  async run(input, context) {
    if (input.list === true) return list(ALL, { id: ({ id }) => id, title: ({ title }) => title });
    if (input.pet !== undefined) await assertWriteAllowed(context);
    if (input.provoke429 === true && isProduction((await context.settings()).environment.value)) {
      throw usageFailure(
        '--provoke-429 is not for production: the key would be blocked for all its users.',
        'Use --env staging or --env sandbox.',
      );
    }
    const { output } = context.globals;
    if (output === 'csv' && input.format === undefined) {
      throw usageFailure('A smoke test has no csv.', `Its reports: --format ${FORMATS.join(', ')}`);
    }
    const { isJson } = FORMAT_FACTS[output];
    return runSmoke(withWhy(context, {}), { ...input, format: input.format ?? (isJson ? 'json' : 'text') });
  },
});
