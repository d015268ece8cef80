/** Limits what those without a token, and each client with a name, can take of the proxy. */
import type { Socket } from 'node:net';
import type { Refusal } from '../http/server.ts';

/** Connections that have shown no token. */
const MOST_STRANGERS = 500;
/** Connections of one client with a name. */
const MOST_OF_ONE = 100;
export const TOO_MANY_CONNECTIONS: Refusal = [
  429,
  'too_many_connections',
  `A token has at most ${MOST_OF_ONE} connections.`,
];

const SHORTEST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 10_000;
const FORGOTTEN_MS = 60_000;
const MOST_ADDRESSES = 1_000;

export class Visitors {
  /** The oldest first. */
  private readonly strangers = new Map<string, Socket>();
  private readonly byName = new Map<string, Set<Socket>>();
  /** Wrong tokens: how many, and when the last one came. */
  private readonly wrong = new Map<string, { readonly count: number; readonly at: number }>();

  /** Disconnects the oldest of the connections that have shown no token, so that they never take all places. */
  arrived(socket: Socket): void {
    const { strangers } = this;
    const peer = peerOf(socket);
    strangers.set(peer, socket);
    socket.once('close', () => strangers.delete(peer));
    const [oldest] = strangers;
    if (oldest === undefined || strangers.size <= MOST_STRANGERS) return;
    strangers.delete(oldest[0]);
    oldest[1].destroy();
  }

  /** Notes that a connection has shown a token. Returns false where its client has too many of them. */
  recognize(socket: Socket, name: string | undefined): boolean {
    this.strangers.delete(peerOf(socket));
    if (name === undefined) return true;
    const own = this.byName.get(name) ?? new Set();
    this.byName.set(name, own);
    if (own.has(socket)) return true;
    for (const each of own) if (each.destroyed) own.delete(each);
    if (own.size === MOST_OF_ONE) return false;
    own.add(socket);
    return true;
  }

  /** Counts a wrong token, and returns how long its refusal has to wait, ms. Right ones never wait, wherever they are from. */
  delayOf(address: string, now: number): number {
    const { wrong } = this;
    const { count, at } = wrong.get(address) ?? { count: 0, at: now };
    const before = now - at > FORGOTTEN_MS ? 0 : count;
    wrong.delete(address);
    wrong.set(address, { count: before + 1, at: now });
    const [oldest = ''] = wrong.keys();
    if (wrong.size > MOST_ADDRESSES) wrong.delete(oldest);
    return Math.min(LONGEST_DELAY_MS, SHORTEST_DELAY_MS * 2 ** before);
  }
}

/** Names a connection: TLS has another socket for it than TCP. */
function peerOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
