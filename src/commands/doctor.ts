import { lookAtService } from '../doctor/connectivity.ts';
import { type Diagnosis, diagnosisView, skipped, type Steps } from '../doctor/diagnosis.ts';
import { type Redirect, walkDomain } from '../doctor/domain.ts';
import { lookAtMachine } from '../doctor/local.ts';
import { defineCommand, flag, type InputOf, option, under } from '../cli/command.ts';
import { parserOf, repeated } from '../value-parsers.ts';
import type { CommandContext } from '../session/globals.ts';
import { hintedPlace, withEnvironment } from '../session/run-commands.ts';

const HOST = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;

/** Parses a domain name of two or more labels into the form DNS uses: Punycode, without a final dot. */
const hostValue = parserOf('a domain name such as shop.example.com', (text) => {
  const url = `http://${text}`;
  const host = /^[^/\\?#@:\s]+$/.test(text) && URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : '';
  return HOST.test(host) ? host : undefined;
});

const redirectValue = parserOf(
  'from=HOST,to=HOST,status=301 (or 302, 307, 308)',
  (text, option): Redirect | undefined => {
    const fields = text.split(',').map((field): [string, string] => {
      const [name = '', ...value] = field.split('=');
      return [name, value.join('=')];
    });
    const { from, to, status, ...others }: Partial<Record<string, string>> = Object.fromEntries(fields);
    const isStatus = /^30[1278]$/.test(status ?? '');
    if (from === undefined || to === undefined || !isStatus || Object.keys(others).length > 0) return undefined;
    return {
      from: hostValue.parse(from, `${option} from`),
      to: hostValue.parse(to, `${option} to`),
      status: Number(status),
    };
  },
);

/** Accepts addresses only: c-ares cannot resolve the name of a DNS server, and reads no octal number. */
const dnsServerValue = parserOf('an address, with or without a port', (text) => {
  const isAddress = /^(?!0\d+\.|.*\.0\d)(((\d+\.){3}\d+|\[[\da-f:]+\])(:\d+)?|([\da-f]*:){2}[\da-f:]*)$/i.test(text);
  return isAddress && URL.canParse(`http://${/^[^[]*:.*:/.test(text) ? `[${text}]` : text}`) ? text : undefined;
});

const connectValue = parserOf('HOST:PORT', (text) => {
  const [, address, port] = /^(?:\[(?=.*\]))?([^\s/\]]+?)\]?:(\d{1,5})$/.exec(text) ?? [];
  const isPort = Number(port) > 0 && Number(port) < 65_536;
  return address !== undefined && isPort ? { address, port: Number(port) } : undefined;
});

const NEEDS_DOMAIN = { needs: 'domain' };

const OPTIONS = {
  offline: flag('--offline', 'check this machine only', { conflicts: ['domain'] }),
  ...under('A custom domain', {
    domain: option('--domain <host>', hostValue, 'check this custom domain', { needs: 'target' }),
    target: option('--target <host>', hostValue, "the platform's name that the domain must point to", NEEDS_DOMAIN),
    ca: option('--ca <name>', hostValue, "the platform's authority, as in CAA records: letsencrypt.org", NEEDS_DOMAIN),
    redirect: option(
      '--redirect <entry>',
      repeated(redirectValue),
      'also check this redirect: from=HOST,to=HOST,status=301; repeatable',
      NEEDS_DOMAIN,
    ),
    dnsServer: option(
      '--dns-server <address>',
      dnsServerValue,
      "the DNS server to ask, ADDRESS[:PORT]; the zone's own sees changes first",
      NEEDS_DOMAIN,
    ),
    connect: option(
      '--connect <host:port>',
      connectValue,
      "check the certificate at this address instead of the domain's own",
      NEEDS_DOMAIN,
    ),
  }),
};

type DoctorInput = InputOf<typeof OPTIONS>;

export const doctor = defineCommand({
  path: 'doctor',
  common: 'requests',
  summary: 'Check this machine, the connection, or a custom domain',
  description:
    'Checks config, variables, state, DNS, connection, certificate, proxy, clock and key, with one request to the ' +
    'service. With --domain, it instead checks the steps of a custom domain, and sends the service nothing. ' +
    'Removing a domain from its project stops its traffic at once, so first add and check its replacement. Each ' +
    'problem comes with a fix; a failed check exits 13, a ban 12.',
  examples: {
    Everything: 'petstore doctor',
    'This machine only': 'petstore doctor --offline',
    'A custom domain':
      'petstore doctor --domain shop.example.com --target stores.platform.example --ca letsencrypt.org',
  },
  options: OPTIONS,
  more: ['scripting', 'rate-limits', 'exit-codes'],
  async run(input, context) {
    const found: Diagnosis[] = [];
    const place = await hintedPlace(context);
    try {
      for await (const each of steps(input, context)) {
        found.push({ ...each, ...(each.fix !== undefined && { fix: withEnvironment(each.fix, place) }) });
        context.notices.progress(`Checked ${each.id} …`);
      }
    } finally {
      context.notices.progress(undefined);
    }
    return diagnosisView(found, context.globals.output);
  },
});

/** Checks a domain; without one, this machine, then the connection to the service. */
async function* steps(input: DoctorInput, context: CommandContext): Steps {
  const { domain, target } = input;
  if (domain !== undefined && target !== undefined) {
    yield* walkDomain(context, { ...input, domain, target });
    return;
  }
  const isOffline = input.offline === true;
  const url = yield* lookAtMachine(context, isOffline);
  if (isOffline) yield skipped('service', 'Skipped because of --offline.');
  else if (url === undefined) yield skipped('service', 'No base URL is known.');
  else yield* lookAtService(context, url);
}
