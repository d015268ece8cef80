import type { Diagnosis } from '../doctor/diagnosis.ts';
import type { DomainOptions, Redirect } from '../doctor/domain.ts';
import { type CommandSpec, repeated } from '../cli/command.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure } from '../errors.ts';

interface DoctorInput {
  readonly offline?: boolean;
  readonly domain?: string;
  readonly target?: string;
  readonly ca?: string;
  readonly dnsServer?: string;
  readonly connect?: { readonly address: string; readonly port: number };
  readonly redirect?: readonly Redirect[];
}

export const doctor: CommandSpec<DoctorInput> = {
  path: 'doctor',
  summary: 'Look for what is wrong with this machine, the way to the service, or a custom domain',
  description:
    'Config, variables, state, DNS, connection, certificate, proxy, clock and key; one request is sent, and said ' +
    'first. With --domain it walks the steps of a custom domain instead, and sends nothing to the service. ' +
    'Each finding says what mends it; something that failed exits 13.',
  examples: [
    { says: 'Everything', command: 'petstore doctor' },
    { says: 'This machine alone', command: 'petstore doctor --offline' },
    {
      says: 'A custom domain',
      command: 'petstore doctor --domain shop.example.com --target stores.platform.example --ca letsencrypt.org',
    },
  ],
  options: [
    { flags: '--offline', description: 'look at this machine alone', conflicts: ['domain'] },
    {
      purpose: 'A custom domain',
      flags: '--domain <host>',
      description: 'look at this custom domain',
      parse: hostValue('--domain'),
    },
    {
      purpose: 'A custom domain',
      flags: '--target <host>',
      description: 'what the platform says the domain must point to',
      parse: hostValue('--target'),
    },
    {
      purpose: 'A custom domain',
      flags: '--ca <name>',
      description: "the platform's authority, as CAA records name it: letsencrypt.org",
      parse: hostValue('--ca'),
    },
    {
      purpose: 'A custom domain',
      flags: '--redirect <entry>',
      description: 'an entry to check as well: from=HOST,to=HOST,status=301; may be repeated',
      parse: repeated(redirectValue),
    },
    {
      purpose: 'A custom domain',
      flags: '--dns-server <address>',
      description: "the server to ask, ADDRESS[:PORT]; the zone's own knows of a change first",
      parse: dnsServerValue,
    },
    {
      purpose: 'A custom domain',
      flags: '--connect <host:port>',
      description: "where to look at the certificate, in place of the domain's own address",
      parse: connectValue,
    },
  ],
  more: ['scripting', 'rate-limits', 'exit-codes'],
  async run(input, context) {
    const { diagnosisView } = await import('../doctor/diagnosis.ts');
    const found: Diagnosis[] = [];
    try {
      for await (const each of await steps(input, context)) {
        found.push(each);
        context.notices.progress(`Looked at ${each.id} …`);
      }
    } finally {
      context.notices.progress(undefined);
    }
    return diagnosisView(found, context.globals.output);
  },
};

async function steps(input: DoctorInput, context: CommandContext): Promise<AsyncIterable<Diagnosis>> {
  const options = domainOptions(input);
  if (options !== undefined) {
    const { walkDomain } = await import('../doctor/domain.ts');
    return walkDomain(context, options);
  }
  const { examine } = await import('../doctor/doctor.ts');
  return examine(context, input.offline === true);
}

/** @throws {Failure} `usage` */
function domainOptions(input: DoctorInput): DomainOptions | undefined {
  const { domain, target, ca, dnsServer, connect, redirect } = input;
  if (domain === undefined) {
    const stray = Object.entries({ target, ca, 'dns-server': dnsServer, connect, redirect }).find(
      ([, value]) => value !== undefined,
    );
    if (stray === undefined) return undefined;
    throw new Failure('usage', { problem: `--${stray[0]} goes with --domain: say which domain it is about.` });
  }
  if (target === undefined) {
    throw new Failure('usage', {
      problem: '--domain needs --target: what the platform says the domain must point to.',
      hint: 'It is shown under Domains in the settings of the project.',
    });
  }
  return {
    domain,
    target,
    redirects: redirect ?? [],
    ...(ca !== undefined && { ca }),
    ...(dnsServer !== undefined && { dnsServer }),
    ...(connect !== undefined && { connect }),
  };
}

const HOST = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;

/** A domain name of two labels or more, in the form that DNS has (international ones as Punycode), without a final dot. */
function hostValue(name: string): (text: string) => string {
  return (text) => {
    const url = `http://${text}`;
    const host = /^[^/\\?#@:\s]+$/.test(text) && URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : '';
    if (HOST.test(host)) return host;
    throw new Failure('invalid-value', { name, value: text, expected: 'a domain name such as shop.example.com' });
  };
}

function redirectValue(text: string): Redirect {
  const fields = text.split(',').map((field): [string, string] => {
    const [name = '', ...value] = field.split('=');
    return [name, value.join('=')];
  });
  const { from, to, status, ...others }: Partial<Record<string, string>> = Object.fromEntries(fields);
  const isStatus = /^30[1278]$/.test(status ?? '');
  if (from === undefined || to === undefined || !isStatus || Object.keys(others).length > 0) {
    throw new Failure('invalid-value', {
      name: '--redirect',
      value: text,
      expected: 'from=HOST,to=HOST,status=301 (or 302, 307, 308)',
    });
  }
  return { from: hostValue('--redirect from')(from), to: hostValue('--redirect to')(to), status: Number(status) };
}

/** c-ares takes addresses alone: a name would have to be resolved first. */
function dnsServerValue(text: string): string {
  const isAddress = /^(\d{1,3}(\.\d{1,3}){3}(:\d{1,5})?|\[[0-9a-f:]+\](:\d{1,5})?|[0-9a-f:]*:[0-9a-f:]*)$/i.test(text);
  if (isAddress && URL.canParse(`http://${/^[^[]*:.*:/.test(text) ? `[${text}]` : text}`)) return text;
  throw new Failure('invalid-value', {
    name: '--dns-server',
    value: text,
    expected: 'an address, with or without a port',
  });
}

function connectValue(text: string): { address: string; port: number } {
  const [, address, port] = /^(?:\[(?=.*\]))?([^\s/\]]+?)\]?:(\d{1,5})$/.exec(text) ?? [];
  if (address !== undefined && Number(port) > 0 && Number(port) < 65_536) return { address, port: Number(port) };
  throw new Failure('invalid-value', { name: '--connect', value: text, expected: 'HOST:PORT' });
}
