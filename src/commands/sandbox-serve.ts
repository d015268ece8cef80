import type { JsonValue } from '../api/json.ts';
import { type CommandSpec, countValue, durationValue, type OptionSpec, repeated, wordValue } from '../cli/command.ts';
import { dataFile, ownFile } from '../serve/data-file.ts';
import { keyValue, PLAN_NAMES, rangeValue, type RuleInput, skewValue } from '../serve/values.ts';
import { DEFAULT_RULES } from '../sandbox/plans.ts';
import type { Sandbox } from '../sandbox/server.ts';
import type { RecordView } from '../view/view.ts';

interface ServeInput extends RuleInput {
  readonly port: number;
  readonly host: string;
  readonly allowHost?: readonly string[];
  readonly data?: string;
  readonly seed?: string;
  readonly key?: readonly string[];
  readonly clockSkew: number;
  readonly fault?: readonly string[];
  readonly faultSeed: number;
  readonly log?: string;
}

/** How long requests in flight may take once the server is to end, in ms. */
const GRACE_MS = 2_000;

const OPTIONS: readonly OptionSpec[] = [
  {
    purpose: 'Where',
    flags: '--port <port>',
    description: '0 takes a free one',
    default: 4010,
    parse: countValue('--port', 0, 65_535),
  },
  {
    purpose: 'Where',
    flags: '--host <address>',
    description: 'address to listen on; beyond this machine only with --key',
    default: '127.0.0.1',
  },
  {
    purpose: 'Where',
    flags: '--allow-host <name...>',
    description: 'further names that clients use for it',
    parse: repeated(String),
  },
  {
    purpose: 'Keys and limits',
    flags: '--plan <plan>',
    description: `limits: ${PLAN_NAMES.join(', ')}`,
    default: 'free',
    parse: wordValue('--plan', PLAN_NAMES),
  },
  {
    purpose: 'Keys and limits',
    flags: '--per-minute <requests>',
    description: 'limit of a minute, for any plan',
    parse: countValue('--per-minute'),
  },
  {
    purpose: 'Keys and limits',
    flags: '--per-day <requests>',
    description: 'limit of a day, for any plan',
    parse: countValue('--per-day'),
  },
  {
    purpose: 'Keys and limits',
    flags: '--minute <duration>',
    description: 'a shorter minute, for those who cannot wait (default: 60s)',
    parse: durationValue('--minute', 1),
  },
  { purpose: 'Stock', flags: '--data <file>', description: 'where the stock is kept (default: that of --env sandbox)' },
  {
    purpose: 'Stock',
    flags: '--seed <file|pets>',
    description: 'begin with the pets of a file, or with so many made-up ones',
  },
  {
    purpose: 'Keys and limits',
    flags: '--key <key...>',
    description: 'valid keys in place of the usual one; made up, never a real one',
    parse: repeated(keyValue),
  },
  {
    purpose: 'Keys and limits',
    flags: '--ban-after <requests>',
    description: 'early requests after a 429 that get a key banned; 0: never',
    default: DEFAULT_RULES.banAfter,
    parse: countValue('--ban-after'),
  },
  {
    purpose: 'Keys and limits',
    flags: '--ban-for <duration>',
    description: 'how long a ban lasts',
    default: DEFAULT_RULES.banForMs,
    shownDefault: '15m',
    parse: durationValue('--ban-for', 1),
  },
  {
    purpose: 'Keys and limits',
    flags: '--ban-status <status>',
    description: 'what a banned key is answered',
    default: DEFAULT_RULES.banStatus,
    parse: countValue('--ban-status', 400, 499),
  },
  {
    purpose: 'Stock',
    flags: '--quantity <least..most>',
    description: 'quantities that are accepted',
    default: DEFAULT_RULES.quantity,
    shownDefault: `${DEFAULT_RULES.quantity.least}..${DEFAULT_RULES.quantity.most}`,
    parse: rangeValue,
  },
  {
    purpose: 'What goes wrong',
    flags: '--clock-skew <duration>',
    description: "how far the sandbox's clock is off, for instance -1h",
    default: 0,
    shownDefault: '0s',
    parse: skewValue,
  },
  {
    purpose: 'What goes wrong',
    flags: '--retry-after-format <form>',
    description: 'seconds, date',
    default: 'seconds',
    parse: wordValue('--retry-after-format', ['seconds', 'date']),
  },
  {
    purpose: 'What goes wrong',
    flags: '--with-undocumented',
    description: '501 for what the specification only names: /pets/{petId}, /store/orders',
  },
  {
    purpose: 'What goes wrong',
    flags: '--fault <rule>',
    description: 'something that goes wrong, as below; may be repeated',
    parse: repeated(String),
  },
  {
    purpose: 'What goes wrong',
    flags: '--fault-seed <number>',
    description: 'the same seed, the same faults',
    default: 1,
    parse: countValue('--fault-seed'),
  },
  {
    purpose: 'Where',
    flags: '--log <file>',
    description: 'add one JSON object for each request to a file, in place of lines on stderr',
  },
];

export const sandboxServe: CommandSpec<ServeInput> = {
  path: 'sandbox serve',
  summary: 'Serve the sandbox over HTTP, for curl, tests and other clients',
  description:
    'Serves until Ctrl-C or SIGTERM, then answers what is in flight and ends with 0. A page for people is at /, ' +
    'controls for tests below /__sandbox, both for this machine alone.\n\n' +
    'A fault says what goes wrong: status=CODE[,retry-after=S], delay=DURATION, drip=DURATION, reset, ' +
    'truncate[=BYTES], type=CONTENT-TYPE, bad-int64, no-header=NAME|limits, date=DURATION; and with which requests: ' +
    'method=PATCH, path=/inventory/*, p=SHARE, nth=N, every=N, times=N. With after, status, reset and delay come ' +
    'when the work is done.',
  examples: [
    { says: 'On port 4010, with the limits of the Free plan', command: 'petstore sandbox serve' },
    {
      says: 'A stock of its own, a window of 5 seconds',
      command: 'petstore sandbox serve --data /tmp/shop.db --minute 5s',
    },
    {
      says: 'One update in ten is applied, its answer lost',
      command: 'petstore sandbox serve --fault reset,after,method=PATCH,p=0.1',
    },
  ],
  options: OPTIONS,
  more: ['environments', 'rate-limits'],
  async run(input, context) {
    const serving = await import('../serve/serve.ts');
    const apiKeys = serving.usableKeys(input.host, input.key);
    const rules = serving.rulesOf(input);
    const faults = (input.fault ?? []).map(serving.readFault);
    const file = dataFile(context, input.data);
    if (input.seed !== undefined) await serving.seed(context, file, input.seed);
    const log = await serving.openLog(context, input.log);
    const { startSandbox } = await import('../sandbox/server.ts');
    const sandbox = await startSandbox(context, {
      ...ownFile(context, file),
      rules,
      host: input.host,
      port: input.port,
      names: input.allowHost ?? [],
      apiKeys,
      faults,
      faultSeed: input.faultSeed,
      skewMs: input.clockSkew,
      controls: true,
      ...(log.onRequest !== undefined && { onRequest: log.onRequest }),
    });
    return {
      view: 'serving',
      record: introduce(sandbox),
      async ended() {
        await serving.stopped(context);
        await sandbox.close(GRACE_MS);
        await log.close();
      },
    };
  },
};

function introduce({ baseUrl, apiKey }: Sandbox): RecordView {
  const command = `curl -H 'Authorization: Bearer ${apiKey}' ${baseUrl}/inventory`;
  const rows: readonly (readonly [string, string])[] = [
    ['baseUrl', baseUrl],
    ['apiKey', apiKey],
    ['command', command],
    ['page', baseUrl.replace(/v1$/, '')],
  ];
  const titles = ['Base URL', 'API key', 'Try it', 'Page'];
  return {
    view: 'record',
    text: rows.map(([, value], i) => `${(titles[i] ?? '').padEnd(8)}  ${value}`).join('\n'),
    json: new Map<string, JsonValue>(rows),
    fields: rows.map(([name, value]) => ({ name, value })),
  };
}
