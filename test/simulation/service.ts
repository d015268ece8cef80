/** The service of a simulation: counts requests, applies allowed ones, and logs them to check the promises. */
import type { Random } from '../../src/ports.ts';
import { stringify } from '../support/replies.ts';
import { createQuota, limitHeaders, type Quota, type Rate, RATES, type ServerName, usedShares } from './quota.ts';

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: string;
  /** Where it is a 429: what has to be waited out. */
  readonly block?: Block;
}

/** What one 429 asked for. Times in ms of the simulation. */
export interface Block {
  readonly from: number;
  readonly until: number;
  /**
   * Machine -> when it came to know: a process that lived to act on it had the answer, or had read of the
   * block in the shared ledger.
   */
  readonly knownTo: Map<number, number>;
}

export interface Arrival {
  readonly at: number;
  readonly sentAt: number;
  readonly machine: number;
  readonly isRead: boolean;
  readonly status: number;
  /**
   * `strike`: it came within a block, and was sent when that was known to its machine. `unknowing`: within a block, but
   * it had been sent before the 429 was there, the process that got the 429 died with it, or only another machine knew.
   */
  readonly inBlock?: 'strike' | 'unknowing';
}

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  /** When its bytes left the machine. */
  readonly sentAt: number;
  readonly machine: number;
}

export class SimulatedService {
  readonly log: Arrival[] = [];
  /** Requests of the others that the service allowed, by time. */
  readonly foreign: number[] = [];
  readonly stock = new Map<string, number>();
  /** Every `pet=quantity` that was ever applied. */
  readonly applied = new Set<string>();
  readonly #offset: number | undefined;
  readonly #writes: Quota;
  readonly #reads: Quota;
  #blocks: Block[] = [];

  /** @param name or the rate of a window that begins with its first request */
  constructor(name: ServerName | Rate, pets: number, random: Random) {
    const { writes, reads } = typeof name === 'string' ? RATES[name] : { writes: name };
    // Half of the services begin a window with its first request, the others by the clock.
    this.#offset =
      (name === 'fixed' || name === 'short') && random() < 0.5 ? Math.floor(random() * writes.windowMs) : undefined;
    const model = name === 'sliding' || name === 'bucket' ? name : 'fixed';
    this.#writes = createQuota(model, writes, this.#offset);
    this.#reads = reads === undefined ? this.#writes : createQuota('fixed', reads, undefined);
    for (let pet = 0; pet < pets; pet++) this.stock.set(`${pet}`, 0);
  }

  /** Counts another client's request with the same key. */
  takeForeign(now: number): void {
    if (this.#writes.count(now).allowed) this.foreign.push(now);
  }

  hasRoomForReads(now: number): boolean {
    return this.#reads.hasRoom(now);
  }

  /** Whether it is refusing requests at the moment. */
  isRefusing(now: number): boolean {
    return this.#blocks.some(({ until }) => until > now);
  }

  answer(request: Sent, now: number): Answer {
    const isRead = request.method === 'GET';
    const quota = isRead ? this.#reads : this.#writes;
    const verdict = quota.count(now);
    const { allowed, resetAt } = verdict;
    const inBlock = this.#inBlock(request, now);
    const result = allowed ? this.#operate(request) : { status: 429, body: '{}' };
    const { sentAt, machine } = request;
    this.log.push({ at: now, sentAt, machine, isRead, status: result.status, ...(inBlock && { inBlock }) });
    const waitS = Math.max(1, Math.ceil((resetAt - now) / 1_000));
    const block = { from: now, until: now + waitS * 1_000, knownTo: new Map<number, number>() };
    if (!allowed) this.#blocks.push(block);
    const headers = { 'content-type': 'application/json', ...limitHeaders(now, quota.rate, verdict) };
    return {
      ...result,
      headers: new Map(Object.entries(headers).map(([name, value]) => [name, [value]])),
      ...(!allowed && { block }),
    };
  }

  #inBlock({ sentAt, machine }: Sent, now: number): Arrival['inBlock'] {
    this.#blocks = this.#blocks.filter(({ until }) => until > now);
    if (this.#blocks.length === 0) return undefined;
    const wasKnown = this.#blocks.some(({ knownTo }) => (knownTo.get(machine) ?? Infinity) < sentAt);
    return wasKnown ? 'strike' : 'unknowing';
  }

  #operate({ method, path, body }: Sent): { status: number; body: string } {
    const entry = (pet: string) => ({ petId: Number(pet), quantity: this.stock.get(pet), status: 'available' });
    if (method === 'GET') return { status: 200, body: stringify([...this.stock.keys()].map(entry)) };
    const pet = path.split('/').at(-1) ?? '';
    const { quantity } = JSON.parse(body ?? '') as { quantity: number };
    this.stock.set(pet, quantity);
    this.applied.add(`${pet}=${quantity}`);
    return { status: 200, body: stringify(entry(pet)) };
  }

  /** The used share of the limit of writes, of each whole window up to `workUntil`. */
  shares(workUntil: number): number[] {
    const counts = ({ status, isRead }: Arrival): boolean =>
      status !== 429 && (!isRead || this.#reads === this.#writes);
    const times = [...this.log.filter(counts).map(({ at }) => at), ...this.foreign];
    times.sort((a, b) => a - b);
    return usedShares(times, this.#writes.rate, workUntil, this.#offset);
  }
}
