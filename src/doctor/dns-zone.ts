/** Looks up a custom domain in DNS: its zone, its target, and which authorities may issue for it. */
import { type CaaProperty, type DnsResolver, NetworkFailure } from '../ports.ts';

export interface Zone {
  /** The nearest name above, or the domain itself, that has an SOA record. */
  readonly name: string;
  readonly isApex: boolean;
  /** The domain's name within it; `@` for the apex. */
  readonly label: string;
}

/** @throws {NetworkFailure} DNS does not answer */
export async function findZone(dns: DnsResolver, domain: string): Promise<Zone | undefined> {
  for (let name = domain; name.includes('.'); name = parentOf(name)) {
    if ((await recordsOf(dns, 'SOA', name)).length === 0) continue;
    const isApex = name === domain;
    return { name, isApex, label: isApex ? '@' : domain.slice(0, -name.length - 1) };
  }
  return undefined;
}

/** Empty where the name does not exist. @throws {NetworkFailure} DNS does not answer */
export async function recordsOf(
  dns: DnsResolver,
  type: Parameters<DnsResolver['records']>[0],
  name: string,
): Promise<readonly string[]> {
  return noneIfMissing(dns.records(type, name));
}

/** IPv4 first. @throws {NetworkFailure} DNS does not answer */
export async function addressesOf(dns: DnsResolver, name: string): Promise<readonly string[]> {
  return [...(await recordsOf(dns, 'A', name)), ...(await recordsOf(dns, 'AAAA', name))];
}

export interface Authorities {
  /** Where the records are: the domain itself or a name above it (RFC 8659, 3). */
  readonly name: string;
  /** Authorities that may issue for a host; undefined: any; empty: none. */
  readonly mayIssue: readonly string[] | undefined;
}

/** Undefined: nothing is restricted. @throws {NetworkFailure} DNS does not answer */
export async function authoritiesOf(dns: DnsResolver, domain: string): Promise<Authorities | undefined> {
  for (let name = domain; name !== ''; name = parentOf(name)) {
    const found = await noneIfMissing(dns.authorities(name));
    if (found.length > 0) return { name, mayIssue: mayIssue(found) };
  }
  return undefined;
}

/** `issue` alone counts for a host; its parameters come after a semicolon, and an empty name forbids all. */
function mayIssue(properties: readonly CaaProperty[]): readonly string[] | undefined {
  const issue = properties.filter(({ tag }) => tag.toLowerCase() === 'issue');
  if (issue.length === 0) return undefined;
  return issue.map(({ value }) => (value.split(';')[0] ?? '').trim().toLowerCase()).filter((name) => name !== '');
}

async function noneIfMissing<T>(question: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await question;
  } catch (error) {
    if (error instanceof NetworkFailure && error.code === 'ENOTFOUND') return [];
    throw error;
  }
}

function parentOf(name: string): string {
  return name.split('.').slice(1).join('.');
}
