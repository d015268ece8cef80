/** The service of a simulation: it counts, applies what it allows, and keeps the log that the promises are held against. */
import { stringify } from '../support/replies.ts';
import { START } from '../support/virtual-clock.ts';
import { LIMIT, type Quota, WINDOW_MS } from './quota.ts';

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
  /** When a client that lived to act on it had the answer in hand. */
  knownAt?: number;
}

export interface Arrival {
  readonly at: number;
  readonly sentAt: number;
  readonly status: number;
  /**
   * `strike`: it came within a block, and was sent when that was known. `unknowing`: within a block, but it had been
   * sent before the 429 was there, or whoever got the 429 died with it.
   */
  readonly inBlock?: 'strike' | 'unknowing';
}

export class SimulatedService {
  readonly log: Arrival[] = [];
  /** Requests of the others that the service allowed, by time. */
  readonly foreign: number[] = [];
  readonly stock = new Map<string, number>();
  /** Every `pet=quantity` that was ever applied. */
  readonly applied = new Set<string>();
  readonly #quota: Quota;
  #blocks: Block[] = [];

  constructor(quota: Quota, pets: number) {
    this.#quota = quota;
    for (let pet = 0; pet < pets; pet++) this.stock.set(`${pet}`, 0);
  }

  /** Somebody else's request with the same key. */
  takeForeign(now: number): void {
    if (this.#quota.count(now).allowed) this.foreign.push(now);
  }

  answer(request: { method: string; path: string; body?: string; sentAt: number }, now: number): Answer {
    const { allowed, remaining, resetAt } = this.#quota.count(now);
    const inBlock = this.#inBlock(request.sentAt, now);
    const result = allowed ? this.#operate(request) : { status: 429, body: '{}' };
    this.log.push({ at: now, sentAt: request.sentAt, status: result.status, ...(inBlock && { inBlock }) });
    const waitS = Math.max(1, Math.ceil((resetAt - now) / 1_000));
    const block = { from: now, until: now + waitS * 1_000 };
    if (!allowed) this.#blocks.push(block);
    const headers = {
      date: new Date(START + now).toUTCString(),
      'content-type': 'application/json',
      'x-ratelimit-limit': `${LIMIT}`,
      'x-ratelimit-remaining': `${remaining}`,
      'x-ratelimit-reset': `${Math.ceil((START + resetAt) / 1_000)}`,
      ...(!allowed && { 'retry-after': `${waitS}` }),
    };
    return {
      ...result,
      headers: new Map(Object.entries(headers).map(([name, value]) => [name, [value]])),
      ...(!allowed && { block }),
    };
  }

  #inBlock(sentAt: number, now: number): Arrival['inBlock'] {
    this.#blocks = this.#blocks.filter(({ until }) => until > now);
    if (this.#blocks.length === 0) return undefined;
    return this.#blocks.some(({ knownAt }) => knownAt !== undefined && knownAt < sentAt) ? 'strike' : 'unknowing';
  }

  #operate({ method, path, body }: { method: string; path: string; body?: string }): { status: number; body: string } {
    const entry = (pet: string) => ({ petId: Number(pet), quantity: this.stock.get(pet), status: 'available' });
    if (method === 'GET') return { status: 200, body: stringify([...this.stock.keys()].map(entry)) };
    const pet = path.split('/').at(-1) ?? '';
    const { quantity } = JSON.parse(body ?? '') as { quantity: number };
    this.stock.set(pet, quantity);
    this.applied.add(`${pet}=${quantity}`);
    return { status: 200, body: stringify(entry(pet)) };
  }

  /**
   * The share of the limit that was used, least and mean, of the windows during all of which there was work:
   * from the first arrival on, up to `workUntil`. Windows begin as the fixed one's do: with a request, unless aligned.
   */
  shares(workUntil: number, offset: number | undefined): number[] {
    const times = [...this.log.filter(({ status }) => status !== 429).map(({ at }) => at), ...this.foreign];
    times.sort((a, b) => a - b);
    const shares: number[] = [];
    let start = offset === undefined ? times[0] : times[0]! - ((times[0]! + offset) % WINDOW_MS);
    // An aligned window that had begun before anybody came was not all there to be used.
    if (start !== undefined && start < times[0]!) start += WINDOW_MS;
    while (start !== undefined && start + WINDOW_MS <= workUntil) {
      const end: number = start + WINDOW_MS;
      const from = start;
      shares.push(times.filter((at) => at >= from && at < end).length / LIMIT);
      start = offset === undefined ? times.find((at) => at >= end) : end;
    }
    return shares;
  }
}
