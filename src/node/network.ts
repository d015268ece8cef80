/** The Network port over node:dns, node:net, node:tls and node:https. */
import { lookup, Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import {
  type Certificate,
  connect as connectTls,
  type ConnectionOptions,
  type DetailedPeerCertificate,
  type TLSSocket,
} from 'node:tls';
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
  systemHost,
} from '../ports.ts';

/** There is no such record, or no such name. For SOA, c-ares reports an alias in its place as a bad response. */
const NO_DATA: readonly string[] = ['ENODATA', 'ENOTFOUND', 'EBADRESP'];
/** Times that c-ares asks each server, with twice the timeout the second time. */
const DNS_TRIES = 2;

export function openNetwork(env: Context['env'], limits: TimeLimit): Network {
  return {
    proxyFor: (url) => routeTo(url, env),
    lookup: async (host) => {
      const found = await answered(limits, () => lookup(systemHost(host), { all: true }));
      return found.map(({ address }) => address);
    },
    resolver: (server) => resolver(limits, server),
    connect: async (peer) => {
      await opened(limits, connectTcp({ host: peer.address, port: peer.port }), 'connect', () => undefined);
    },
    async handshake(peer) {
      // The caller wants to know whether the certificate can be trusted, so accept any here.
      const socket = connectTls({ ...tlsTo(peer), rejectUnauthorized: false });
      return opened(limits, socket, 'secureConnect', () => describe(socket));
    },
    async ask(peer) {
      const headers = { Host: peer.name, Connection: 'close' };
      const sent = request({ ...tlsTo(peer), rejectUnauthorized: true, path: '/', headers, agent: false }).end();
      return opened(limits, sent, 'response', ([answer]) => {
        const { statusCode: status = 0, headers } = answer as IncomingMessage;
        return { status, location: headers.location };
      });
    },
  };
}

function resolver(limits: TimeLimit, server: string | undefined): DnsResolver {
  const dns = new Resolver({ timeout: Math.min(limits.timeoutMs, 5_000), tries: DNS_TRIES });
  if (server !== undefined) dns.setServers([server]);
  const resolve = async (type: DnsType, name: string): Promise<string[]> => {
    if (type === 'SOA') return [(await dns.resolveSoa(name)).nsname];
    if (type !== 'CAA') return dns.resolve(name, type);
    const found = await dns.resolveCaa(name);
    return found.flatMap((record) => Object.entries(record).map(([tag, value]) => `${tag} ${value}`));
  };
  return async (type, name) => {
    try {
      return await answered(limits, () => resolve(type, name));
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

/** Waits for the event of a socket or request, looks at what came with it, and always closes the connection. */
async function opened<T>(
  limits: TimeLimit,
  socket: Socket | ClientRequest,
  event: string,
  look: (found: readonly unknown[]) => T,
): Promise<T> {
  const ready = (): Promise<unknown[]> => {
    const closed = once(socket, 'close').then(() => {
      throw new NetworkFailure('ECONNRESET');
    });
    return Promise.race([once(socket, event), closed]);
  };
  try {
    return look(await answered(limits, ready));
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

/**
 * Returns the names up to a root, which is its own issuer. Of a chain that ends earlier, the last is the issuer whose
 * certificate is missing. Any part may be missing.
 */
function chainOf(certificate: DetailedPeerCertificate): string[] {
  const names: string[] = [];
  const seen = new Set<unknown>();
  let next: Partial<DetailedPeerCertificate> | undefined = certificate;
  let issuer: Partial<Certificate> | undefined;
  while (next?.fingerprint256 !== undefined && !seen.has(next.fingerprint256)) {
    seen.add(next.fingerprint256);
    names.push(nameOf(next.subject));
    issuer = next.issuer;
    next = next.issuerCertificate;
  }
  if (next === undefined) names.push(nameOf(issuer));
  return names;
}

function nameOf({ CN, O }: Partial<Certificate> = {}): string {
  return [CN ?? O ?? 'unnamed'].flat().join(', ');
}
