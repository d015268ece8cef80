/** Doctor's checks of a custom domain (service spec, part 1): from the DNS record to the certificate. */
import type { CommandContext } from '../session/globals.ts';
import { type DnsResolver, type Network, NetworkFailure, type Peer } from '../ports.ts';
import { bad, certificate, type Diagnosis, note, ok, skipped, type Steps, warn } from './diagnosis.ts';
import { networkOf, orNetworkFailure } from './connectivity.ts';

export interface Redirect {
  readonly from: string;
  readonly to: string;
  readonly status: number;
}

export interface DomainOptions {
  readonly domain: string;
  /** Name of the platform that the CNAME must point to. */
  readonly target: string;
  /** The platform's certificate authority, as CAA records name it. */
  readonly ca?: string;
  /** DNS server to use instead of the system's. */
  readonly dnsServer?: string;
  /** Where to check the certificate, instead of the domain's own address and port 443. */
  readonly connect?: Pick<Peer, 'address' | 'port'>;
  readonly redirect?: readonly Redirect[];
}

interface Walk extends DomainOptions {
  readonly network: Network;
  readonly dns: DnsResolver;
  readonly now: number;
}

const PROPAGATION = 'A change in DNS can take up to 48 hours to be seen everywhere.';
const ISSUE =
  'After Verify a certificate usually appears within 2 minutes. If it is missing after 30 minutes, check that the ' +
  'domain still verifies and that no CAA record blocks the authority, then click Re-verify.';

const REMOVAL =
  'Removing the domain from the project stops its traffic at once. Before that, add the domain that replaces it, ' +
  'check it with petstore doctor --domain, and change every link and base URL that uses the old one.';

export async function* walkDomain(context: CommandContext, options: DomainOptions): Steps {
  const network = await networkOf(context);
  const walk: Walk = { ...options, network, dns: network.resolver(options.dnsServer), now: context.clock.now() };
  yield note('before', 'Needed: a plan of Pro or above, access to the DNS settings, and a successful deploy.');
  try {
    const zone = await findZone(walk.dns, options.domain);
    if (zone === undefined) {
      const fix = 'Check the spelling, and that the domain is registered.';
      yield bad('zone', `DNS has no zone for ${options.domain}.`, fix);
      return;
    }
    yield ok('zone', `Its zone is ${zone.name}.`);
    yield note('plan', `The record to create in ${zone.name}: ${recordWords(zone, options.target)}.`);
    const record = await lookAtRecord(walk, zone);
    yield record;
    const caa = await lookAtAuthorities(walk);
    yield caa;
    yield record.health === 'ok'
      ? await lookAtCertificate(walk, caa.health === 'fail')
      : skipped('certificate', 'Checked once the record is right.');
    for (const redirect of options.redirect ?? []) yield await lookAtRedirect(walk, redirect);
    yield note('removal', REMOVAL);
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    const { code } = error;
    const server = options.dnsServer === undefined ? 'DNS' : `The DNS server ${options.dnsServer}`;
    const check = code === 'ESERVFAIL' ? "the zone's name servers and its DNSSEC" : 'the network';
    const fix = `Check ${check}, or ask another server with --dns-server.`;
    yield bad('dns', `${server} does not answer for ${options.domain} (${code}).`, fix);
  }
}

function recordWords({ label }: Zone, target: string): string {
  if (label === '@') return `ALIAS or ANAME, name @, value ${target}, TTL 3600 (an apex cannot have a CNAME)`;
  return `CNAME, name ${label}, value ${target}, TTL 3600`;
}

async function lookAtRecord(walk: Walk, zone: Zone): Promise<Diagnosis> {
  const { dns, domain, target } = walk;
  const create = `Create it: ${recordWords(zone, target)}. Then click Verify. ${PROPAGATION}`;
  const [alias] = await dns('CNAME', domain);
  const wanted = await orNetworkFailure(addressesOf(dns, target));
  const isKnown = !(wanted instanceof NetworkFailure);
  if (isKnown && wanted.length === 0) {
    const fix = 'Copy it again from Domains in the settings of the project.';
    return bad('record', `The target ${target} has no address.`, fix);
  }
  const isApex = zone.label === '@';
  if (alias !== undefined) {
    if (isApex) return bad('record', `${domain} is an apex and has a CNAME.`, `Delete it. ${create}`);
    if (alias.toLowerCase().replace(/\.$/, '') === target) return ok('record', `${domain} is an alias of ${target}.`);
    const change = `Change its value to ${target}, then click Verify. ${PROPAGATION}`;
    return bad('record', `${domain} is an alias of ${alias}, not of ${target}.`, change);
  }
  const own = await addressesOf(dns, domain);
  if (own.length === 0) return bad('record', `${domain} has no record.`, create);
  if (!isApex) return bad('record', `${conflict(domain, own)} blocks the CNAME.`, `Delete it. ${create}`);
  // With an ALIAS or ANAME, the domain has the target's own addresses.
  if (!isKnown) {
    return skipped('record', `The addresses of ${target} are unknown; ask another server with --dns-server.`);
  }
  const others = own.filter((address) => !wanted.includes(address));
  if (others.length === 0) return ok('record', `${domain} has the addresses of ${target}.`);
  return bad('record', `${conflict(domain, others)} does not belong to ${target}.`, `Delete it. ${create}`);
}

function conflict(domain: string, addresses: readonly string[]): string {
  const type = addresses.every((address) => address.includes(':')) ? 'AAAA' : 'A';
  return `A conflicting ${type} record of ${domain} (${addresses.join(', ')})`;
}

/** Judges the CAA records of the domain, or of the nearest name above it that has some (RFC 8659, 3). */
async function lookAtAuthorities({ ca, dns, domain }: Walk): Promise<Diagnosis> {
  let name = domain;
  let properties = await dns('CAA', name);
  while (properties.length === 0 && (name = parentOf(name)) !== '') properties = await dns('CAA', name);
  if (properties.length === 0) return ok('caa', 'No CAA record: any authority may issue.');
  // Only `issue` counts for a host. Parameters follow a semicolon, and an empty name forbids all authorities.
  const issue = properties.flatMap((each) => /^issue ([^;]*)/i.exec(each)?.[1]?.trim().toLowerCase() ?? []);
  if (issue.length === 0) return ok('caa', `The CAA records of ${name} restrict no authority for ${domain}.`);
  const mayIssue = issue.filter(Boolean);
  const allowed = mayIssue.length === 0 ? 'no authority at all' : `only ${mayIssue.join(', ')}`;
  const says = `The CAA records of ${name} allow ${allowed} to issue`;
  if (ca !== undefined && mayIssue.includes(ca)) return ok('caa', `${says}, ${ca} among them.`);
  if (ca === undefined && mayIssue.length > 0) {
    return warn('caa', `${says}.`, 'Ask which authority the platform uses, and name it with --ca.');
  }
  const added = `${name}. CAA 0 issue "${ca ?? 'the authority of the platform'}"`;
  return bad('caa', `${says}${ca === undefined ? '' : `, so ${ca} may not`}.`, `Add: ${added}. Then click Re-verify.`);
}

async function lookAtCertificate(walk: Walk, isBlocked: boolean): Promise<Diagnosis> {
  const { network, domain, now } = walk;
  const fix = isBlocked ? 'No authority may issue it now: fix the CAA records first, then click Re-verify.' : ISSUE;
  const found = await orNetworkFailure(peerOf(walk, domain).then((peer) => network.handshake(peer)));
  if (found instanceof NetworkFailure) {
    return bad('certificate', `${domain} has no certificate yet: it does not answer TLS (${found.code}).`, fix);
  }
  return certificate('certificate', found, domain, now, fix);
}

/** @throws {NetworkFailure} */
async function peerOf({ network, connect }: Walk, name: string): Promise<Peer> {
  if (connect !== undefined) return { ...connect, name };
  const [address = name] = await network.lookup(name);
  return { address, port: 443, name };
}

async function lookAtRedirect(walk: Walk, { from, to, status }: Redirect): Promise<Diagnosis> {
  const entry = `from ${from} to ${to} (${status})`;
  const fix = `Set in domains.redirects of the project: from ${from}, to ${to}, status ${status}.`;
  const records = [...(await walk.dns('CNAME', from)), ...(await addressesOf(walk.dns, from))];
  if (records.length === 0) {
    const create = `Create it as for ${walk.domain}: a redirect needs a domain that works.`;
    return bad('redirect', `${from} has no record.`, create);
  }
  const answer = await orNetworkFailure(peerOf(walk, from).then((peer) => walk.network.ask(peer)));
  if (answer instanceof NetworkFailure) {
    return bad('redirect', `${from} does not answer over TLS (${answer.code}).`, ISSUE);
  }
  const location = answer.location ?? '';
  if (answer.status !== status) return bad('redirect', `${from} answers with ${answer.status}, not ${status}.`, fix);
  const host = URL.canParse(location, `https://${from}`) ? new URL(location, `https://${from}`).hostname : '';
  if (host === to) return ok('redirect', `It goes ${entry}.`);
  return bad('redirect', `${from} redirects to ${location === '' ? 'nowhere' : location}, not to ${to}.`, fix);
}

interface Zone {
  /** The domain, or the nearest name above it, that has an SOA record. */
  readonly name: string;
  /** The domain's name within it; `@` for the apex. */
  readonly label: string;
}

/** @throws {NetworkFailure} DNS does not answer */
async function findZone(dns: DnsResolver, domain: string): Promise<Zone | undefined> {
  for (let name = domain; name.includes('.'); name = parentOf(name)) {
    if ((await dns('SOA', name)).length === 0) continue;
    return { name, label: name === domain ? '@' : domain.slice(0, -name.length - 1) };
  }
  return undefined;
}

/** Returns IPv4 first. @throws {NetworkFailure} DNS does not answer */
async function addressesOf(dns: DnsResolver, name: string): Promise<readonly string[]> {
  return [...(await dns('A', name)), ...(await dns('AAAA', name))];
}

function parentOf(name: string): string {
  return name.split('.').slice(1).join('.');
}
