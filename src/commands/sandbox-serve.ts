import { defineCommand, flag, option, under } from '../cli/command.ts';
import { listenOptions } from '../cli/shared-options.ts';
import {
  countValue,
  durationValue,
  type Parser,
  parserOf,
  pathValue,
  repeated,
  sandboxKeyValue,
  wordValue,
} from '../value-parsers.ts';
import { parseInt64 } from '../api/values.ts';
import { usageFailure } from '../errors.ts';
import { isLoopback } from '../ports.ts';
import { parseFault, skewValue } from '../sandbox/faults.ts';
import { DEFAULT_RULES, type Plan, PLAN_NAMES, PLANS, SANDBOX_KEY } from '../sandbox/plans.ts';
import { startSandbox } from '../sandbox/sandbox-server.ts';
import type { LoggedRequest } from '../sandbox/serve-request.ts';
import { generatedPets } from '../sandbox/seed.ts';
import { dataFile, readPets } from '../serve/data-file.ts';
import { introduce, openLog, stopped } from '../serve/serve.ts';

/** Time after a stop signal for requests in flight to finish, in ms. */
const GRACE_MS = 2_000;

const rangeValue = parserOf('a range such as 0..1000 or -10..10', (text) => {
  const [least, most, ...rest] = text.split('..').map(parseInt64);
  const isRange = least !== undefined && most !== undefined && rest.length === 0 && least <= most;
  return isRange ? { least, most } : undefined;
});

const seedValue: Parser<number | string> = {
  parse: (text, name) => (/^[0-9]+$/.test(text) ? countValue() : pathValue).parse(text, name),
};

const { banAfter, banFor, banStatus, quantity } = DEFAULT_RULES;

const OPTIONS = {
  ...listenOptions('4010', '--key'),
  ...under('Keys and limits', {
    plan: option('--plan <plan>', wordValue(PLAN_NAMES), `limits: ${PLAN_NAMES.join(', ')}`, { default: 'free' }),
    perMinute: option('--per-minute <requests>', countValue(), 'requests per minute, for any plan'),
    perDay: option('--per-day <requests>', countValue(), 'requests per day, for any plan'),
    minute: option('--minute <duration>', durationValue(1), 'length of the rate-limit minute', { default: '60s' }),
    key: option(
      '--key <key...>',
      repeated(sandboxKeyValue),
      'valid keys instead of the usual one; never use a real key',
    ),
    banAfter: option('--ban-after <requests>', countValue(), 'ban a key after this many early requests; 0: never', {
      default: String(banAfter),
    }),
    banFor: option('--ban-for <duration>', durationValue(1), 'how long a ban lasts', {
      default: `${banFor / 60_000}m`,
    }),
    banStatus: option('--ban-status <status>', countValue(400, 499), 'status with which a banned key is answered', {
      default: String(banStatus),
    }),
  }),
  ...under('Stock', {
    data: option('--data <file>', pathValue, 'file of the stock (default: that of --env sandbox)'),
    seed: option(
      '--seed <file|pets>',
      seedValue,
      'start with the pets of a file, or with this number of generated pets',
    ),
    quantity: option('--quantity <least..most>', rangeValue, 'accepted quantities', {
      default: `${quantity.least}..${quantity.most}`,
    }),
  }),
  ...under('Faults', {
    clockSkew: option('--clock-skew <duration>', skewValue, "offset of the sandbox's clock, such as -1h", {
      default: '0s',
    }),
    retryAfterFormat: option('--retry-after-format <form>', wordValue(['seconds', 'date']), 'seconds, date', {
      default: 'seconds',
    }),
    withUndocumented: flag(
      '--with-undocumented',
      '501 for what the specification only names: /pets/{petId}, /store/orders',
    ),
    fault: option('--fault <rule>', repeated({ parse: parseFault }), 'inject a fault, as described above; repeatable'),
    faultSeed: option('--fault-seed <number>', countValue(), 'the same seed produces the same faults', {
      default: '1',
    }),
  }),
};

export const sandboxServe = defineCommand({
  path: 'sandbox serve',
  summary: 'Serve the sandbox over HTTP, for curl, tests and other clients',
  description:
    'Runs until Ctrl-C or SIGTERM, then finishes the requests in flight for at most 2s and exits 0. / has a web page, ' +
    '/__sandbox has controls for tests; only this machine can use them.\n\n' +
    'A fault is one of status=CODE[,retry-after=S], delay=DURATION, drip=DURATION, reset, ' +
    'truncate[=BYTES], type=CONTENT-TYPE, bad-int64, no-header=NAME|limits, date=DURATION, and applies to the requests selected by ' +
    'method=PATCH, path=/inventory/*, p=SHARE, nth=N, every=N, times=N. With "after", status, reset and delay happen ' +
    'after the work is done.',
  examples: {
    'On port 4010, with the limits of the Free plan': 'petstore sandbox serve',
    'As a test fixture: start it, read the JSON, use it, then kill $!':
      'petstore sandbox serve --port 0 --data fixture.db --json > server.json &',
    'Separate stock, a window of 5 seconds': 'petstore sandbox serve --data /tmp/shop.db --minute 5s',
    'One update in ten is applied, but its answer lost':
      'petstore sandbox serve --fault reset,after,method=PATCH,p=0.1',
  },
  options: OPTIONS,
  async run(input, context) {
    const { host, key: apiKeys = [SANDBOX_KEY], minute: minuteMs, seed } = input;
    if (!isLoopback(host) && apiKeys.includes(SANDBOX_KEY))
      throw usageFailure(
        `On ${host} others can reach the sandbox, and its usual key is public.`,
        'Set other keys with --key: made-up ones, never a real one.',
      );
    const known: Partial<Plan> = input.plan === 'custom' ? {} : PLANS[input.plan];
    const { perMinute = known.perMinute, perDay = known.perDay } = input;
    if (perMinute === undefined || perDay === undefined)
      throw usageFailure('The custom plan needs both its limits: --per-minute and --per-day.');
    // The other rules are options.
    const rules = { ...input, plan: { perMinute, perDay, minuteMs } };
    const file = dataFile(context, input.data);
    const pets =
      typeof seed === 'string' ? await readPets(context, seed) : seed === undefined ? seed : generatedPets(seed);
    const log = await openLog(context, input.log, logWords);
    const { onRequest } = log;
    const sandbox = await startSandbox(context, { ...input, ...file, rules, pets, apiKeys, onRequest });
    const { baseUrl } = sandbox;
    const [apiKey = SANDBOX_KEY] = apiKeys;
    return {
      ...introduce([
        ['Base URL', 'baseUrl', baseUrl],
        ['API key', 'apiKey', apiKey],
        ['Try it', 'command', `curl -H 'Authorization: Bearer ${apiKey}' ${baseUrl}/inventory`],
        ['Log in', 'login', `petstore login --env staging --base-url ${baseUrl}`],
        ['Page', 'page', baseUrl.replace(/v1$/, '')],
      ]),
      async ended() {
        await stopped(context);
        await sandbox.close(GRACE_MS);
        await log.close();
      },
    };
  },
});

function logWords({ limit, remaining, retryAfter, faults }: LoggedRequest): (string | undefined)[] {
  return [
    remaining === undefined ? undefined : `${remaining}/${limit ?? '?'} left`,
    retryAfter === undefined ? undefined : `retry after ${retryAfter} s`,
    faults && `fault: ${faults.join(', ')}`,
  ];
}
