/** The Network port over node:dns, node:net, node:tls and node:https. */
import { lookup, Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { inTime } from '../stop.ts';
import { nodeClock } from './clock.ts';
import { routeTo } from './proxies.ts';
import {
  type Context,
  type DnsResolver,
  type DnsType,
  type Encrypted,
  errorCode,
  type Network,
  NetworkFailure,
  type Peer,
  type TimeLimit,
} from '../ports.ts';

/** There is no such record, or no such name. For SOA, c-ares reports an alias in its place as a bad response. */
const NO_DATA: readonly string[] = ['ENODATA', 'ENOTFOUND', 'EBADRESP'];
/** Times that c-ares asks each server, with twice the timeout the second time. */
const DNS_TRIES = 2;

export function openNetwork(env: Context['env'], limits: TimeLimit): Network {
  return {
    proxyFor: (url) => routeTo(url, env),
    lookup: async (host) => {
      const found = await answered(limits, () => lookup(host, { all: true }));
      return found.map(({ address }) => address);
    },
    resolver: (server) => resolver(limits, server),
    connect: async (peer) => {
      await opened(limits, connectTcp({ host: peer.address, port: peer.port }), 'connect', () => undefined);
    },
    handshake: (peer) =>
      // The caller wants to know whether the certificate can be trusted, so accept any here.
      opened(limits, connectTls({ ...tlsTo(peer), rejectUnauthorized: false }), 'secureConnect', describe),
    ask: (peer) => ask(limits, peer),
  };
}

function resolver(limits: TimeLimit, server: string | undefined): DnsResolver {
  const dns = new Resolver({ timeout: Math.min(limits.timeoutMs, 5_000), tries: DNS_TRIES });
  if (server !== undefined) dns.setServers([server]);
  const questions: Readonly<Record<DnsType, (name: string) => Promise<string[]>>> = {
    A: (name) => dns.resolve4(name),
    AAAA: (name) => dns.resolve6(name),
    CAA: async (name) => {
      const found = await dns.resolveCaa(name);
      return found.flatMap((record) => Object.entries(record).map(([tag, value]) => `${tag} ${value}`));
    },
    CNAME: (name) => dns.resolveCname(name),
    SOA: async (name) => [(await dns.resolveSoa(name)).nsname],
  };
  return async (type, name) => {
    try {
      return await answered(limits, () => questions[type](name));
    } catch (error) {
      if (limits.signal?.aborted === true) dns.cancel();
      if (error instanceof NetworkFailure && NO_DATA.includes(error.code)) return [];
      throw error;
    }
  };
}

async function answered<T>(limit: TimeLimit, work: () => Promise<T>): Promise<T> {
  try {
    return await inTime({ clock: nodeClock, ...limit }, () => new NetworkFailure('ETIMEDOUT'), work());
  } catch (error) {
    throw limit.signal?.aborted === true ? limit.signal.reason : toFailure(error);
  }
}

function toFailure(error: unknown): NetworkFailure {
  if (error instanceof NetworkFailure) return error;
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return new NetworkFailure(errorCode(error) ?? errorCode(first) ?? 'UNKNOWN', error);
}

/** Waits for the socket's event, inspects the socket, and always closes it. */
async function opened<S extends Socket, T>(
  limits: TimeLimit,
  socket: S,
  event: string,
  look: (socket: S) => T,
): Promise<T> {
  const ready = (): Promise<unknown> => {
    const closed = once(socket, 'close').then(() => {
      throw new NetworkFailure('ECONNRESET');
    });
    return Promise.race([once(socket, event), closed]);
  };
  try {
    await answered(limits, ready);
    return look(socket);
  } finally {
    // Later errors do not matter, but one without a listener would end the program.
    socket.on('error', () => undefined).destroy();
  }
}

function tlsTo({ address, port, name }: Peer): ConnectionOptions {
  // An address cannot be a server name (RFC 6066, 3); Node then compares the certificate with `host`.
  return isIP(name) === 0 ? { host: address, port, servername: name } : { host: name, port };
}

function describe(socket: TLSSocket): Encrypted {
  const certificate = socket.getPeerCertificate(true);
  // The types declare an Error here, but it is the code.
  return {
    protocol: socket.getProtocol() ?? 'unknown',
    ...(!socket.authorized && { problem: String(socket.authorizationError) }),
    chain: chainOf(certificate),
    names: certificate.subjectaltname ?? '',
    validFrom: Date.parse(certificate.valid_from),
    validTo: Date.parse(certificate.valid_to),
  };
}

/** Returns the names up to a root, which is its own issuer; some chains end earlier. Any part may be missing. */
function chainOf(certificate: DetailedPeerCertificate): string[] {
  const names: string[] = [];
  const seen = new Set<unknown>();
  let next: Partial<DetailedPeerCertificate> | undefined = certificate;
  while (next?.fingerprint256 !== undefined && !seen.has(next.fingerprint256)) {
    seen.add(next.fingerprint256);
    const { CN, O }: { readonly CN?: string | string[]; readonly O?: string | string[] } = next.subject ?? {};
    names.push([CN ?? O ?? 'unnamed'].flat().join(', '));
    next = next.issuerCertificate;
  }
  return names;
}

async function ask(limits: TimeLimit, peer: Peer): Promise<{ status: number; location?: string }> {
  const headers = { Host: peer.name, Connection: 'close' };
  const sent = request({ ...tlsTo(peer), rejectUnauthorized: true, path: '/', headers, agent: false });
  try {
    const [{ statusCode = 0, headers: received }] = await answered(
      limits,
      () => once(sent.end(), 'response') as Promise<[IncomingMessage]>,
    );
    return { status: statusCode, ...(received.location !== undefined && { location: received.location }) };
  } finally {
    sent.on('error', () => undefined).destroy();
  }
}
