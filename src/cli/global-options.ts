/** The options that every command takes, by what they are for. */
import { countValue, durationValue, type OptionSpec, sizeValue, waitValue, wordValue } from './command.ts';
import { ENVIRONMENTS } from '../session/environments.ts';
import { FORMATS } from '../view/view.ts';

export const GLOBAL_OPTIONS: readonly OptionSpec[] = [
  {
    purpose: 'Where',
    flags: '-e, --env <name>',
    description: `environment: ${ENVIRONMENTS.join(', ')}`,
    parse: wordValue('--env', ENVIRONMENTS),
  },
  { purpose: 'Where', flags: '--base-url <url>', description: 'address of the service, ending in /v1' },
  {
    purpose: 'Where',
    flags: '--insecure-http',
    description: 'allow http beyond this machine; the key is readable on the way',
  },
  {
    purpose: 'Output',
    flags: '-o, --output <format>',
    description: FORMATS.join(', '),
    default: 'table',
    parse: wordValue('--output', FORMATS),
  },
  { purpose: 'Output', flags: '--json', description: 'short for --output json', conflicts: ['output'] },
  {
    purpose: 'Output',
    flags: '--color <when>',
    description: 'auto, always, never',
    default: 'auto',
    parse: wordValue('--color', ['auto', 'always', 'never']),
  },
  { purpose: 'Questions', flags: '--no-input', description: 'never ask; fail instead' },
  { purpose: 'Questions', flags: '-y, --yes', description: 'say yes to every question' },
  { purpose: 'Output', flags: '-q, --quiet', description: 'no notes, no rate limits: data, warnings and errors only' },
  { purpose: 'Output', flags: '-v, --verbose', description: 'one line on stderr for each request' },
  { purpose: 'Output', flags: '--debug', description: 'as --verbose, and what went wrong inside' },
  { purpose: 'Output', flags: '--show-limits', description: 'print the rate limit also where stderr is no terminal' },
  {
    purpose: 'Limits and time',
    flags: '--timeout <duration>',
    description: 'longest time one attempt waits for the service',
    default: 60_000,
    shownDefault: '60s',
    parse: durationValue('--timeout', 1),
  },
  {
    purpose: 'Limits and time',
    flags: '--max-wait <duration>',
    description: 'longest wait for a rate limit or a retry, or "forever"; beyond it, exit 6',
    default: 75_000,
    shownDefault: '75s',
    parse: waitValue('--max-wait'),
  },
  { purpose: 'Limits and time', flags: '--wait', description: 'short for --max-wait forever', conflicts: ['maxWait'] },
  { purpose: 'Limits and time', flags: '--no-wait', description: 'short for --max-wait 0', conflicts: ['maxWait'] },
  {
    purpose: 'Limits and time',
    flags: '--reserve <requests>',
    description: "requests of the key's allowance to leave for others",
    parse: countValue('--reserve'),
  },
  {
    purpose: 'Limits and time',
    flags: '--deadline <duration>',
    description: 'longest time for the whole command (default: none)',
    parse: durationValue('--deadline', 1),
  },
  {
    purpose: 'Limits and time',
    flags: '--max-body <size>',
    description: 'largest response accepted, decoded',
    default: 256 * 2 ** 20,
    shownDefault: '256MiB',
    parse: sizeValue('--max-body'),
  },
];

/** Answered before a command runs. */
export const HELP_OPTIONS: readonly OptionSpec[] = [
  { purpose: 'Help', flags: '-h, --help', description: 'show help' },
  { purpose: 'Help', flags: '-V, --version', description: 'print the version' },
];
